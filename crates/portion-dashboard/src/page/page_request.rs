//! The input of a page.

use std::time::SystemTime;

use portion_telemetry::read::Reader;

use crate::query::Query;
use crate::selection::Selection;

/// A page request: everything that a page needs.
pub(super) struct PageRequest<'a> {
    pub reader: Reader,
    pub selection: Selection,
    pub query: &'a Query,
    /// Price of a million input tokens, in US dollars.
    pub token_price: Option<f64>,
    pub lost: Option<u64>,
    pub now: SystemTime,
}
