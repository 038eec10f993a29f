//! `sections(number, level, title, start_line, end_line, text)`, of texts that have headings.

use std::sync::Arc;

use portion_core::chunk::outline::headings;
use portion_core::snapshot::Slice;
use portion_core::span::Span;

use crate::cell::Cell;
use crate::column::{Column, Kinds};
use crate::limits::Clock;
use crate::table::{Row, Rows, Source};

/// The sections of a text, each from its heading to the next one of its level or above.
pub(crate) struct SectionsOf(pub(crate) Slice);

struct Sections {
    text: Slice,
    sections: Vec<Section>,
    columns: Vec<Column>,
}

struct Section {
    level: u8,
    title: String,
    start_line: usize,
    end_line: usize,
    span: Span,
}

const COLUMNS: [(&str, Kinds); 6] = [
    ("number", Kinds::INTEGER),
    ("level", Kinds::INTEGER),
    ("title", Kinds::TEXT),
    ("start_line", Kinds::INTEGER),
    ("end_line", Kinds::INTEGER),
    ("text", Kinds::TEXT),
];

impl Source for SectionsOf {
    fn open(&self, _: &Clock) -> Option<Arc<dyn Rows>> {
        let lines = super::lines(&self.0);
        let section = |heading: portion_core::chunk::outline::Heading<'_>| Section {
            level: heading.level,
            title: heading.title.to_owned(),
            start_line: super::line_number(&lines, heading.start),
            end_line: super::line_number(&lines, heading.end.saturating_sub(1).max(heading.start)),
            span: Span::new(heading.start, heading.end),
        };
        let sections: Vec<Section> = headings(&self.0).into_iter().map(section).collect();
        let columns = COLUMNS.map(|(name, kinds)| Column::new(name, kinds, sections.len())).into();
        Some(Arc::new(Sections { text: self.0.clone(), sections, columns }))
    }
}

impl Rows for Sections {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.sections.len()
    }

    fn cell<'a>(&'a self, row: &'a Row, column: usize) -> Cell<'a> {
        let Some(section) = self.sections.get(row.at) else { return Cell::Null };
        match column {
            0 => Cell::count(row.at + 1),
            1 => Cell::count(section.level.into()),
            2 => Cell::text(&section.title),
            3 => Cell::count(section.start_line),
            4 => Cell::count(section.end_line),
            _ => Cell::text(section.span.of(&self.text)),
        }
    }
}
