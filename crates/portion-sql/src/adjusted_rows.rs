//! Rows of a table with other columns or cells than the source has.

use std::sync::Arc;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::missing::MissingValues;
use crate::table_rows::{ColumnSet, RowBuffer, TableRows};

/// Rows with columns of their own, or without the codes of missing values.
pub(crate) struct AdjustedRows {
    rows: Arc<dyn TableRows>,
    columns: Vec<ColumnDef>,
    /// Values that are shown as NULL.
    missing: Option<Arc<MissingValues>>,
}

impl AdjustedRows {
    /// Shows the codes of missing values as NULL.
    pub(crate) fn without_codes(
        rows: Arc<dyn TableRows>,
        missing: &Arc<MissingValues>,
    ) -> Arc<dyn TableRows> {
        if missing.has_no_codes() {
            return rows;
        }
        let columns = rows.columns().to_vec();
        Arc::new(Self { rows, columns, missing: Some(Arc::clone(missing)) })
    }

    /// Replaces the definitions of the columns.
    pub(crate) fn with_columns(rows: Arc<dyn TableRows>, columns: Vec<ColumnDef>) -> Arc<dyn TableRows> {
        Arc::new(Self { rows, columns, missing: None })
    }
}

impl TableRows for AdjustedRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
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
        let is_missing = self.missing.as_ref().is_some_and(|missing| missing.is_missing(&cell));
        if is_missing { Cell::Null } else { cell }
    }

    fn ranked_columns(&self) -> Vec<String> {
        self.rows.ranked_columns()
    }

    fn unlisted_field_count(&self) -> usize {
        self.rows.unlisted_field_count()
    }
}
