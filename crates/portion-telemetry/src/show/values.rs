//! What is written down as JSON, before it is text: for whoever puts it into an answer of its own.

use serde_json::Value;

use super::{columns, format};
use crate::experiment::Comparison;
use crate::read::{Record, Traffic};

/// Records, an object each.
pub fn requests(records: &[Record]) -> Value {
    format::values(records, columns::REQUESTS)
}

/// Figures of endpoints, an object each.
pub fn endpoints(endpoints: &[Traffic]) -> Value {
    format::values(endpoints, columns::ENDPOINTS)
}

/// Comparisons of arms, an object each measure.
pub fn comparisons(comparisons: &[Comparison]) -> Value {
    let rows: Vec<_> = comparisons.iter().flat_map(columns::Compared::rows).collect();
    format::values(&rows, columns::COMPARISONS)
}
