//! Tables of a view. The rows are prepared on first use.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::adjusted_rows::AdjustedRows;
use crate::limits::QueryDeadline;
use crate::missing::MissingValues;
use crate::redaction;
use crate::table_rows::{RowSource, TableRows};

/// A table of a view.
pub(crate) struct VirtualTable {
    pub(crate) name: String,
    source: Box<dyn RowSource>,
    /// Dotted paths of fields that were redacted, in this table or another.
    redacted_fields: Arc<[String]>,
    missing: Arc<MissingValues>,
    rows: OnceLock<Arc<dyn TableRows>>,
}

impl VirtualTable {
    pub(crate) fn new(
        name: String,
        source: impl RowSource + 'static,
        redacted: Arc<[String]>,
        missing: Arc<MissingValues>,
    ) -> Self {
        Self { name, source: Box::new(source), redacted_fields: redacted, missing, rows: OnceLock::new() }
    }

    /// Returns the rows if they are prepared.
    pub(crate) fn opened_rows(&self) -> Option<&Arc<dyn TableRows>> {
        self.rows.get()
    }

    /// Returns the rows, prepared once; `None` if the deadline was reached.
    pub(crate) fn rows(&self, deadline: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        if let Some(rows) = self.rows.get() {
            return Some(Arc::clone(rows));
        }
        let mut rows = AdjustedRows::without_codes(self.source.open(deadline)?, &self.missing);
        if !self.redacted_fields.is_empty() {
            rows = redaction::mark_redacted(rows, &self.redacted_fields, deadline)?;
        }
        Some(Arc::clone(self.rows.get_or_init(|| rows)))
    }
}

impl fmt::Debug for VirtualTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name).finish_non_exhaustive()
    }
}
