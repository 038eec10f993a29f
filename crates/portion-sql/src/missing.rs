//! Shows numbers that stand for missing values as NULL, so that sums, averages and counts leave them out.
//!
//! The column `item` has them as they are.

use std::sync::atomic::{AtomicBool, Ordering};

use portion_core::missing_codes::MissingCodes;

use crate::cell::Cell;

/// Codes of missing values, and whether a query has met one.
#[derive(Debug, Default)]
pub(crate) struct MissingValues {
    codes: MissingCodes,
    was_met: AtomicBool,
}

impl MissingValues {
    pub(crate) fn new(codes: &MissingCodes) -> Self {
        Self { codes: codes.clone(), was_met: AtomicBool::new(false) }
    }

    /// Returns true if no number stands for a missing value.
    pub(crate) fn has_no_codes(&self) -> bool {
        self.codes.is_empty()
    }

    /// Describes the codes if a query has met one.
    pub(crate) fn describe_met(&self) -> Option<String> {
        self.was_met.load(Ordering::Relaxed).then(|| self.codes.to_string())
    }

    pub(crate) fn is_missing(&self, cell: &Cell<'_>) -> bool {
        let number = match cell {
            Cell::Integer(number) => *number,
            Cell::Real(number) if number.fract() == 0.0 => *number as i64,
            _ => return false,
        };
        let is_missing = self.codes.position(number).is_some();
        if is_missing {
            self.was_met.store(true, Ordering::Relaxed);
        }
        is_missing
    }
}
