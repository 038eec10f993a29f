//! What SQLite is given to read: rows of cells, wherever they are.

use std::fmt;
use std::sync::{Arc, OnceLock};

use portion_core::span::Span;

use crate::cell::Cell;
use crate::column::Column;
use crate::limits::Clock;
use crate::redacted;

/// Rows that can be read in any order.
pub(crate) trait Rows: Send + Sync {
    /// What each row has.
    fn columns(&self) -> &[Column];

    /// How many rows there are.
    fn len(&self) -> usize;

    /// A row that none was read into yet, in which those columns are wanted.
    fn blank(&self, wanted: Wanted) -> Row {
        Row { wanted, ..Row::default() }
    }

    /// Finds the cells of a row. Those that are not wanted may be left out.
    fn read(&self, at: usize, row: &mut Row) {
        row.at = at;
    }

    /// A cell of the row that was read.
    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a>;

    /// Names of columns, the most telling first; the others follow.
    fn telling(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many fields are no columns, because there are too many.
    fn without_column(&self) -> usize {
        0
    }
}

/// The cells of a row, as far as they were looked for.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// Which row.
    pub(crate) at: usize,
    /// Where values are, by the place that each has.
    pub(crate) spans: Vec<Span>,
    /// Text that stands nowhere as it is.
    pub(crate) own: Vec<u8>,
    /// Which columns are wanted.
    pub(crate) wanted: Wanted,
    /// Which places are wanted for them, and how many those are.
    pub(crate) places: Vec<bool>,
    pub(crate) count: usize,
}

/// A set of columns, as SQLite tells it: a bit each, the last one for all from the 64th on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted(pub(crate) u64);

impl Default for Wanted {
    fn default() -> Self {
        Self(u64::MAX)
    }
}

impl Wanted {
    pub(crate) fn has(self, column: usize) -> bool {
        self.0 >> column.min(63) & 1 == 1
    }
}

/// Where the rows of a table come from. Nothing is done before they are asked for.
pub(crate) trait Source: Send + Sync {
    /// The rows; `None` where the clock stopped it.
    fn open(&self, clock: &Clock) -> Option<Arc<dyn Rows>>;
}

/// A table of a view.
pub(crate) struct Table {
    pub(crate) name: String,
    source: Box<dyn Source>,
    /// Dotted paths of fields that were redacted, in this table or another.
    redacted: Arc<[String]>,
    rows: OnceLock<Arc<dyn Rows>>,
}

impl Table {
    pub(crate) fn new(name: String, source: impl Source + 'static, redacted: Arc<[String]>) -> Self {
        Self { name, source: Box::new(source), redacted, rows: OnceLock::new() }
    }

    /// Its rows, where they were prepared.
    pub(crate) fn opened(&self) -> Option<&Arc<dyn Rows>> {
        self.rows.get()
    }

    /// Its rows, prepared once; `None` where the clock stopped it.
    pub(crate) fn rows(&self, clock: &Clock) -> Option<Arc<dyn Rows>> {
        if let Some(rows) = self.rows.get() {
            return Some(Arc::clone(rows));
        }
        let mut rows = self.source.open(clock)?;
        if !self.redacted.is_empty() {
            rows = redacted::marked(rows, &self.redacted, clock)?;
        }
        Some(Arc::clone(self.rows.get_or_init(|| rows)))
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Whether every so many steps the clock says stop.
pub(crate) fn every(step: usize, clock: &Clock) -> bool {
    step.is_multiple_of(256) && clock.is_over()
}
