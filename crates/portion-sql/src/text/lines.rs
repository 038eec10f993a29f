//! The table `lines(number, text)`.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_json::span::Span;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::limits::QueryDeadline;
use crate::table_rows::{RowBuffer, RowSource, TableRows};
use crate::value_kinds::ValueKinds;

/// Source of the lines of a text.
pub(crate) struct LinesSource(pub(crate) Slice);

struct LineRows {
    text: Slice,
    lines: Vec<Span>,
    columns: [ColumnDef; 2],
}

impl RowSource for LinesSource {
    fn open(&self, _: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let lines = super::line_spans(&self.0);
        let columns = [
            ColumnDef::new("number", ValueKinds::INTEGER, lines.len()),
            ColumnDef::new("text", ValueKinds::TEXT, lines.len()),
        ];
        Some(Arc::new(LineRows { text: self.0.clone(), lines, columns }))
    }
}

impl TableRows for LineRows {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn source_text(&self) -> Slice {
        self.text.clone()
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        match column {
            0 => Cell::from_count(row.index + 1),
            _ => self.lines.get(row.index).map_or(Cell::Null, |line| Cell::text(line.slice(&self.text))),
        }
    }
}
