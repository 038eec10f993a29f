//! The tables `lines(number, text)` and `sections(number, level, title, start_line, end_line, text, own_text, is_leaf)` of texts with headings.
//!
//! `text` includes the sections inside, `own_text` does not. A leaf has no section inside.

use std::sync::Arc;

use portion_core::snapshot::LineIndex;
use portion_json::span::Span;
use portion_text::chunk::outline::Heading;

use super::{JoinedTexts, TextPart, shifted};
use crate::cell::{Cell, ValueKinds};
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundRows, RowSource, TableRows};

/// Source of the sections of texts, each from its heading to the next one of its level or above.
pub(crate) struct SectionsSource(pub(crate) Vec<(TextPart, Arc<LineIndex>)>);

struct SectionRecord {
    /// Number of the section in its text, from 1.
    number: usize,
    level: u8,
    title: String,
    start_line: usize,
    end_line: usize,
    span: Span,
    /// Begin of the first section inside it, or its end.
    own_end: usize,
}

const COLUMNS: [(&str, ValueKinds); 8] = [
    ("number", ValueKinds::INTEGER),
    ("level", ValueKinds::INTEGER),
    ("title", ValueKinds::TEXT),
    ("start_line", ValueKinds::INTEGER),
    ("end_line", ValueKinds::INTEGER),
    ("text", ValueKinds::TEXT),
    ("own_text", ValueKinds::TEXT),
    ("is_leaf", ValueKinds::BOOL),
];

impl RowSource for SectionsSource {
    fn open(&self, _: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let texts = JoinedTexts::new(self.0.iter().map(|(part, _)| part.clone()).collect());
        let mut sections: Vec<SectionRecord> = Vec::new();
        for ((start, part), (_, index)) in texts.parts().zip(&self.0) {
            let lines = super::line_spans(&part.text);
            let first = sections.len();
            let section = |(at, heading): (usize, Heading<'_>)| SectionRecord {
                number: at + 1,
                level: heading.level,
                title: heading.title.into_owned(),
                start_line: super::line_number(&lines, heading.start),
                end_line: super::line_number(&lines, heading.end.saturating_sub(1).max(heading.start)),
                span: shifted(Span::new(heading.start, heading.end), start),
                own_end: heading.end + start,
            };
            sections.extend(index.headings(&part.text).into_iter().enumerate().map(section));
            for at in first + 1..sections.len() {
                let next = sections[at].span.start as usize;
                sections[at - 1].own_end = sections[at - 1].own_end.min(next);
            }
        }
        let columns = FoundRows::<()>::columns(&COLUMNS, sections.len());
        let found = FoundRows { text: texts.text.clone(), rows: sections, columns, cell };
        Some(texts.rows(found, |section| section.span.start as usize))
    }
}

fn cell<'a>(text: &'a str, (_, section): (usize, &'a SectionRecord), column: usize) -> Cell<'a> {
    match column {
        0 => Cell::from_count(section.number),
        1 => Cell::from_count(section.level.into()),
        2 => Cell::text(&section.title),
        3 => Cell::from_count(section.start_line),
        4 => Cell::from_count(section.end_line),
        5 => Cell::text(section.span.slice(text)),
        6 => Cell::text(Span::new(section.span.start as usize, section.own_end).slice(text)),
        _ => Cell::Integer(i64::from(section.own_end == section.span.end as usize)),
    }
}

/// Source of the lines of texts.
pub(crate) struct LinesSource(pub(crate) Vec<TextPart>);

const LINE_COLUMNS: [(&str, ValueKinds); 2] = [("number", ValueKinds::INTEGER), ("text", ValueKinds::TEXT)];

impl RowSource for LinesSource {
    fn open(&self, _: &QueryDeadline) -> Option<Arc<dyn TableRows>> {
        let texts = JoinedTexts::new(self.0.clone());
        let mut rows: Vec<(usize, Span)> = Vec::new();
        for (start, part) in texts.parts() {
            let lines = super::line_spans(&part.text).into_iter().enumerate();
            rows.extend(lines.map(|(at, line)| (at + 1, shifted(line, start))));
        }
        let columns = FoundRows::<()>::columns(&LINE_COLUMNS, rows.len());
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
