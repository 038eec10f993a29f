//! The interface between SQLite and all tables: rows of cells, read on demand.

use portion_core::snapshot::Slice;
use portion_json::span::Span;

use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;

/// Rows that can be read in any order.
pub(crate) trait TableRows: Send + Sync {
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
}

/// A table whose rows were found, and what is known of them.
pub(crate) struct FoundTable {
    pub(crate) columns: Vec<ColumnDef>,
    pub(crate) rows: Box<dyn TableRows>,
    pub(crate) row_count: usize,
    /// Text of which most texts of cells are slices.
    pub(crate) text: Slice,
    /// Heap size in bytes of what was found of the rows.
    pub(crate) heap_bytes: usize,
    /// Names of columns, the most informative first; others may follow.
    pub(crate) ranked_columns: Vec<String>,
    /// Number of fields beyond the column limit.
    pub(crate) unlisted_field_count: usize,
    /// Number of rows with more values than columns.
    pub(crate) overlong_row_count: usize,
    /// Number of rows that may be none of the table, and the first of them.
    pub(crate) odd_rows: Option<(usize, String)>,
}

impl FoundTable {
    pub(crate) fn new(
        text: &Slice,
        columns: Vec<ColumnDef>,
        row_count: usize,
        rows: impl TableRows + 'static,
    ) -> Self {
        Self {
            columns,
            rows: Box::new(rows),
            row_count,
            text: text.clone(),
            heap_bytes: 0,
            ranked_columns: Vec::new(),
            unlisted_field_count: 0,
            overlong_row_count: 0,
            odd_rows: None,
        }
    }

    /// Creates a table of rows that are kept as they were found. `cell` returns a cell of a row: it takes the text, the row
    /// with its index, and the column.
    pub(crate) fn of_rows<R: Send + Sync + 'static>(
        text: &Slice,
        columns: Vec<ColumnDef>,
        rows: Vec<R>,
        cell: CellOf<R>,
    ) -> Self {
        let (count, heap_bytes) = (rows.len(), size_of_val(rows.as_slice()));
        let rows = KeptRows { text: text.clone(), rows, cell };
        Self { heap_bytes, ..Self::new(text, columns, count, rows) }
    }
}

/// A function that returns a cell of a row.
pub(crate) type CellOf<R> = for<'a> fn(&'a str, (usize, &'a R), usize) -> Cell<'a>;

struct KeptRows<R> {
    text: Slice,
    rows: Vec<R>,
    cell: CellOf<R>,
}

impl<R: Send + Sync> TableRows for KeptRows<R> {
    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        let found = self.rows.get(row.index);
        found.map_or(Cell::Null, |found| (self.cell)(&self.text, (row.index, found), column))
    }
}

/// Returns columns that have a value in every row.
pub(crate) fn full_columns(columns: &[(&str, ValueKinds)], rows: usize) -> Vec<ColumnDef> {
    columns.iter().map(|(name, kinds)| ColumnDef::new(*name, *kinds, rows)).collect()
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
    /// Columns of fields that are wanted, and their number.
    pub(crate) wanted_fields: Vec<bool>,
    pub(crate) wanted_field_count: usize,
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
    fn open(&self, deadline: &QueryDeadline) -> Option<FoundTable>;
}

/// Rows that are read for a hint.
pub(crate) const HINT_ROWS: usize = 5_000;

/// Returns true if the query must stop; checks the deadline every 256 steps.
pub(crate) fn should_stop_at(step: usize, deadline: &QueryDeadline) -> bool {
    step.is_multiple_of(256) && deadline.is_over()
}
