//! The table `sections(number, level, title, start_line, end_line, text, own_text, is_leaf)` of texts with headings.
//!
//! `text` includes the sections inside, `own_text` does not. A leaf has no section inside.

use std::sync::Arc;

use portion_core::snapshot::{LineIndex, Slice};
use portion_json::span::Span;
use portion_text::chunk::outline::Heading;

use crate::cell::Cell;
use crate::limits::QueryDeadline;
use crate::table_rows::{FoundRows, RowSource, TableRows};
use crate::value_kinds::ValueKinds;

/// Source of the sections of a text, each from its heading to the next one of its level or above.
pub(crate) struct SectionsSource {
    pub(crate) text: Slice,
    pub(crate) index: Arc<LineIndex>,
}

struct SectionRecord {
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
        let lines = super::line_spans(&self.text);
        let section = |heading: Heading<'_>| SectionRecord {
            level: heading.level,
            title: heading.title.into_owned(),
            start_line: super::line_number(&lines, heading.start),
            end_line: super::line_number(&lines, heading.end.saturating_sub(1).max(heading.start)),
            span: Span::new(heading.start, heading.end),
            own_end: heading.end,
        };
        let mut sections: Vec<SectionRecord> =
            self.index.headings(&self.text).into_iter().map(section).collect();
        for at in 1..sections.len() {
            let next = sections[at].span.start as usize;
            sections[at - 1].own_end = sections[at - 1].own_end.min(next);
        }
        let columns = FoundRows::<()>::columns(&COLUMNS, sections.len());
        Some(Arc::new(FoundRows { text: self.text.clone(), rows: sections, columns, cell }))
    }
}

fn cell<'a>(text: &'a str, (at, section): (usize, &'a SectionRecord), column: usize) -> Cell<'a> {
    match column {
        0 => Cell::from_count(at + 1),
        1 => Cell::from_count(section.level.into()),
        2 => Cell::text(&section.title),
        3 => Cell::from_count(section.start_line),
        4 => Cell::from_count(section.end_line),
        5 => Cell::text(section.span.slice(text)),
        6 => Cell::text(Span::new(section.span.start as usize, section.own_end).slice(text)),
        _ => Cell::Integer(i64::from(section.own_end == section.span.end as usize)),
    }
}
