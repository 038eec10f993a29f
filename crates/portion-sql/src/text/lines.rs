//! The table `lines(number, text)`.

use std::sync::Arc;

use portion_core::snapshot::Slice;

use crate::cell::Cell;
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundRows, RowSource, TableRows};
use crate::value_kinds::ValueKinds;

/// Source of the lines of a text.
pub(crate) struct LinesSource(pub(crate) Slice);

const COLUMNS: [(&str, ValueKinds); 2] = [("number", ValueKinds::INTEGER), ("text", ValueKinds::TEXT)];

impl RowSource for LinesSource {
    fn open(&self, _: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let rows = super::line_spans(&self.0);
        let columns = FoundRows::<()>::columns(&COLUMNS, rows.len());
        Some(Arc::new(FoundRows {
            text: self.0.clone(),
            rows,
            columns,
            cell: |text, (at, line), column| match column {
                0 => Cell::from_count(at + 1),
                _ => Cell::text(line.slice(text)),
            },
        }))
    }
}
