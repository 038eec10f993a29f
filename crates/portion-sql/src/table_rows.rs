//! The interface between SQLite and all tables: rows of cells, read on demand.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_json::span::Span;

use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;

/// Rows that can be read in any order.
pub(crate) trait TableRows: Send + Sync {
    /// Returns the columns of each row.
    fn columns(&self) -> &[ColumnDef];

    /// Returns the number of rows.
    fn len(&self) -> usize;

    /// Creates an empty row buffer for the wanted columns.
    fn new_row(&self, wanted: ColumnSet) -> RowBuffer {
        RowBuffer { wanted_columns: wanted, ..RowBuffer::default() }
    }

    /// Locates the cells of a row. Columns that are not wanted may be skipped.
    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        row.index = at;
    }

    /// Returns a cell of the row that was read last.
    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a>;

    /// Returns a cell of the row that was read last as it is written, where texts are already something else.
    fn written_cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        self.cell(row, column)
    }

    /// Returns the text of which most texts of cells are slices.
    fn source_text(&self) -> Slice {
        Slice::new(String::new())
    }

    /// Returns the heap size in bytes of what was found of the rows.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Returns names of columns, the most informative first; others may follow.
    fn ranked_columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the number of fields beyond the column limit.
    fn unlisted_field_count(&self) -> usize {
        0
    }

    /// Returns the number of rows with more values than columns.
    fn overlong_row_count(&self) -> usize {
        0
    }

    /// Returns the number of rows that may be none of the table, and the first of them; `None` without such rows.
    fn odd_rows(&self) -> Option<(usize, String)> {
        None
    }
}

/// Rows that are kept as they were found, with a function for their cells.
pub(crate) struct FoundRows<R> {
    pub(crate) text: Slice,
    pub(crate) rows: Vec<R>,
    pub(crate) columns: Vec<ColumnDef>,
    /// Returns the cell of a row in a column. Takes the text, the row with its index, and the column.
    pub(crate) cell: for<'a> fn(&'a str, (usize, &'a R), usize) -> Cell<'a>,
}

impl<R> FoundRows<R> {
    /// Returns columns that have a value in every row.
    pub(crate) fn columns(columns: &[(&str, ValueKinds)], rows: usize) -> Vec<ColumnDef> {
        columns.iter().map(|(name, kinds)| ColumnDef::new(*name, *kinds, rows)).collect()
    }
}

impl<R: Send + Sync> TableRows for FoundRows<R> {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn source_text(&self) -> Slice {
        self.text.clone()
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(self.rows.as_slice())
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let found = self.rows.get(row.index);
        found.map_or(Cell::Null, |found| (self.cell)(&self.text, (row.index, found), column))
    }
}

/// The cells of a row, as far as they were located.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    /// Index of the row.
    pub(crate) index: usize,
    /// Spans of the values, by tree node or cell index.
    pub(crate) spans: Vec<Span>,
    /// Decoded text that is not a slice of the source.
    pub(crate) owned_text: Vec<u8>,
    /// Columns that are wanted.
    pub(crate) wanted_columns: ColumnSet,
    /// Tree nodes that are wanted for those columns, and their number.
    pub(crate) wanted_nodes: Vec<bool>,
    pub(crate) wanted_node_count: usize,
}

/// A set of columns as SQLite passes it: one bit each, the last one for all from the 64th.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnSet(pub(crate) u64);

impl Default for ColumnSet {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl ColumnSet {
    /// Returns the set of one column.
    pub(crate) fn of(column: usize) -> Self {
        Self(1 << column.min(63))
    }

    /// Returns the set with another column.
    pub(crate) fn with(self, column: usize) -> Self {
        Self(self.0 | Self::of(column).0)
    }

    pub(crate) fn contains(self, column: usize) -> bool {
        self.0 >> column.min(63) & 1 == 1
    }
}

/// Source of the rows of a table. Opened on first use.
pub(crate) trait RowSource: Send + Sync {
    /// Prepares the rows; `None` if the deadline was reached.
    fn open(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>>;
}

/// Rows that are read for a hint.
pub(crate) const HINT_ROWS: usize = 5_000;

/// Returns true if the query must stop; checks the deadline every 256 steps.
pub(crate) fn should_stop_at(step: usize, deadline: &QueryDeadline) -> bool {
    step.is_multiple_of(256) && deadline.is_over()
}
