//! Query results as JSON values, for use in other JSON documents.

use serde_json::Value;

use super::{columns, format};
use crate::experiment::Comparison;
use crate::read::{Record, Traffic};
use crate::what_if::Forecast;

/// Returns records, one object each.
pub fn requests(records: &[Record]) -> Value {
    format::values(records, columns::REQUESTS)
}

/// Returns endpoint statistics, one object each.
pub fn endpoints(endpoints: &[Traffic]) -> Value {
    format::values(endpoints, columns::ENDPOINTS)
}

/// Returns comparisons of arms, one object per measure.
pub fn comparisons(comparisons: &[Comparison]) -> Value {
    let rows: Vec<_> = comparisons.iter().flat_map(columns::ComparisonRow::rows).collect();
    format::values(&rows, columns::COMPARISONS)
}

/// Returns forecasts under other limits, one object per endpoint.
pub fn forecasts(forecasts: &[Forecast]) -> Value {
    format::values(forecasts, columns::FORECASTS)
}
