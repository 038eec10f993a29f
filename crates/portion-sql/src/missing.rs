//! Shows numbers that stand for missing values as NULL, so that sums, averages and counts leave them out.
//!
//! The column `item` has them as they are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use portion_core::missing_codes::MissingCodes;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::table_rows::{ColumnSet, RowBuffer, TableRows};

/// Codes of missing values, and whether a query has met one.
#[derive(Debug, Default)]
pub(crate) struct MissingValues {
    codes: MissingCodes,
    was_met: AtomicBool,
}

/// Rows whose codes of missing values are NULL.
struct RowsWithoutCodes {
    rows: Arc<dyn TableRows>,
    missing: Arc<MissingValues>,
}

impl MissingValues {
    pub(crate) fn new(codes: &MissingCodes) -> Self {
        Self { codes: codes.clone(), was_met: AtomicBool::new(false) }
    }

    /// Returns rows in which the codes are NULL.
    pub(crate) fn hide(self: &Arc<Self>, rows: Arc<dyn TableRows>) -> Arc<dyn TableRows> {
        if self.codes.is_empty() {
            return rows;
        }
        Arc::new(RowsWithoutCodes { rows, missing: Arc::clone(self) })
    }

    /// Describes the codes if a query has met one.
    pub(crate) fn describe_met(&self) -> Option<String> {
        self.was_met.load(Ordering::Relaxed).then(|| self.codes.to_string())
    }

    fn is_missing(&self, cell: &Cell<'_>) -> bool {
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

impl TableRows for RowsWithoutCodes {
    fn columns(&self) -> &[ColumnDef] {
        self.rows.columns()
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn new_row(&self, wanted: ColumnSet) -> RowBuffer {
        self.rows.new_row(wanted)
    }

    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        self.rows.read_row(at, row);
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let cell = self.rows.cell(row, column);
        if self.missing.is_missing(&cell) { Cell::Null } else { cell }
    }

    fn ranked_columns(&self) -> Vec<String> {
        self.rows.ranked_columns()
    }

    fn unlisted_field_count(&self) -> usize {
        self.rows.unlisted_field_count()
    }
}
