//! `lines(number, text)`.

use std::sync::Arc;

use portion_core::snapshot::Slice;
use portion_core::span::Span;

use crate::cell::Cell;
use crate::column::{Column, Kinds};
use crate::limits::Clock;
use crate::table::{Row, Rows, Source};

/// The lines of a text.
pub(crate) struct LinesOf(pub(crate) Slice);

struct Lines {
    text: Slice,
    lines: Vec<Span>,
    columns: [Column; 2],
}

impl Source for LinesOf {
    fn open(&self, _: &Clock) -> Option<Arc<dyn Rows>> {
        let lines = super::lines(&self.0);
        let columns = [
            Column::new("number", Kinds::INTEGER, lines.len()),
            Column::new("text", Kinds::TEXT, lines.len()),
        ];
        Some(Arc::new(Lines { text: self.0.clone(), lines, columns }))
    }
}

impl Rows for Lines {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.lines.len()
    }

    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a> {
        match column {
            0 => Cell::count(row.at + 1),
            _ => self.lines.get(row.at).map_or(Cell::Null, |line| Cell::text(line.of(&self.text))),
        }
    }
}
