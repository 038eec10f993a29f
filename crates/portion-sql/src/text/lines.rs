//! The table `lines(number, text)`.

use std::sync::Arc;

use portion_json::span::Span;

use super::parts::{JoinedTexts, TextPart, shifted};
use crate::cell::Cell;
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundRows, RowSource, TableRows};
use crate::value_kinds::ValueKinds;

/// Source of the lines of texts.
pub(crate) struct LinesSource(pub(crate) Vec<TextPart>);

const COLUMNS: [(&str, ValueKinds); 2] = [("number", ValueKinds::INTEGER), ("text", ValueKinds::TEXT)];

impl RowSource for LinesSource {
    fn open(&self, _: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let texts = JoinedTexts::new(self.0.clone());
        let mut rows: Vec<(usize, Span)> = Vec::new();
        for (start, part) in texts.parts() {
            let lines = super::line_spans(&part.text).into_iter().enumerate();
            rows.extend(lines.map(|(at, line)| (at + 1, shifted(line, start))));
        }
        let columns = FoundRows::<()>::columns(&COLUMNS, rows.len());
        let found = FoundRows {
            text: texts.text.clone(),
            rows,
            columns,
            cell: |text, (_, (number, line)), column| match column {
                0 => Cell::from_count(*number),
                _ => Cell::text(line.slice(text)),
            },
        };
        Some(texts.rows(found, |(_, line)| line.start as usize))
    }
}
