//! What SQLite is given to read: rows of cells, wherever they are.

use std::fmt;
use std::sync::{Arc, OnceLock};

use portion_core::span::Span;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::redaction;

/// Rows that can be read in any order.
pub(crate) trait TableRows: Send + Sync {
    /// What each row has.
    fn columns(&self) -> &[ColumnDef];

    /// How many rows there are.
    fn len(&self) -> usize;

    /// A row that none was read into yet, in which those columns are wanted.
    fn new_row(&self, wanted: ColumnSet) -> RowBuffer {
        RowBuffer { wanted_columns: wanted, ..RowBuffer::default() }
    }

    /// Finds the cells of a row. Those that are not wanted may be left out.
    fn read_row(&self, at: usize, row: &mut RowBuffer) {
        row.index = at;
    }

    /// A cell of the row that was read.
    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a>;

    /// Names of columns, the most telling first; the others follow.
    fn ranked_columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many fields are no columns, because there are too many.
    fn unlisted_field_count(&self) -> usize {
        0
    }
}

/// The cells of a row, as far as they were looked for.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    /// Which row.
    pub(crate) index: usize,
    /// Where values are, by the place that each has.
    pub(crate) spans: Vec<Span>,
    /// Text that stands nowhere as it is.
    pub(crate) owned_text: Vec<u8>,
    /// Which columns are wanted.
    pub(crate) wanted_columns: ColumnSet,
    /// Which places are wanted for them, and how many those are.
    pub(crate) wanted_nodes: Vec<bool>,
    pub(crate) wanted_node_count: usize,
}

/// A set of columns, as SQLite tells it: a bit each, the last one for all from the 64th on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnSet(pub(crate) u64);

impl Default for ColumnSet {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl ColumnSet {
    pub(crate) fn contains(self, column: usize) -> bool {
        self.0 >> column.min(63) & 1 == 1
    }
}

/// Where the rows of a table come from. Nothing is done before they are asked for.
pub(crate) trait RowSource: Send + Sync {
    /// The rows; `None` where the clock stopped it.
    fn open(&self, clock: &QueryDeadline) -> Option<Arc<dyn TableRows>>;
}

/// A table of a view.
pub(crate) struct VirtualTable {
    pub(crate) name: String,
    source: Box<dyn RowSource>,
    /// Dotted paths of fields that were redacted, in this table or another.
    redacted_fields: Arc<[String]>,
    rows: OnceLock<Arc<dyn TableRows>>,
}

impl VirtualTable {
    pub(crate) fn new(name: String, source: impl RowSource + 'static, redacted: Arc<[String]>) -> Self {
        Self { name, source: Box::new(source), redacted_fields: redacted, rows: OnceLock::new() }
    }

    /// Its rows, where they were prepared.
    pub(crate) fn opened_rows(&self) -> Option<&Arc<dyn TableRows>> {
        self.rows.get()
    }

    /// Its rows, prepared once; `None` where the clock stopped it.
    pub(crate) fn rows(&self, clock: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        if let Some(rows) = self.rows.get() {
            return Some(Arc::clone(rows));
        }
        let mut rows = self.source.open(clock)?;
        if !self.redacted_fields.is_empty() {
            rows = redaction::mark_redacted(rows, &self.redacted_fields, clock)?;
        }
        Some(Arc::clone(self.rows.get_or_init(|| rows)))
    }
}

impl fmt::Debug for VirtualTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether every so many steps the clock says stop.
pub(crate) fn should_stop_at(step: usize, clock: &QueryDeadline) -> bool {
    step.is_multiple_of(256) && clock.is_over()
}
