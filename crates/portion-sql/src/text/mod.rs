//! Texts as tables.

mod csv;
mod structure;

pub(crate) use csv::{CsvSource, DocumentTableSource};
pub(crate) use structure::{DiffSource, EntriesSource, LinesSource, SectionsSource};

use std::sync::Arc;

use portion_core::snapshot::{IndexedText, Part, Slice};
use portion_json::span::Span;

use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::table_rows::{FoundRows, RowBuffer, TableRows};

/// Returns the span of each line, without its line ending.
fn line_spans(text: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        spans.push(Span::new(at, at + trimmed.len()));
        at += line.len();
    }
    spans
}

/// Returns the number, from 1, of the line that contains a byte.
fn line_number(lines: &[Span], byte: usize) -> usize {
    lines.partition_point(|line| line.start as usize <= byte).max(1)
}

/// A text of a result.
#[derive(Clone)]
pub(crate) struct TextPart {
    /// Its pointer in the result.
    pub(crate) address: String,
    /// Its name: a URI, or the path in its first line.
    pub(crate) name: Option<String>,
    pub(crate) text: Slice,
}

impl TextPart {
    /// Creates the part of a subject. `whole`: the part at its path, if it is one.
    pub(crate) fn new(path: &str, subject: &IndexedText, whole: Option<&Part>) -> Self {
        Self {
            address: whole.map_or(path, |part| &part.address).to_owned(),
            name: whole.and_then(Part::name).map(str::to_owned),
            text: subject.text.clone(),
        }
    }
}

/// Texts of a result, joined. One text is not copied.
struct JoinedTexts {
    text: Slice,
    parts: Arc<[(usize, TextPart)]>,
}

impl JoinedTexts {
    fn new(parts: Vec<TextPart>) -> Self {
        let text = match parts.as_slice() {
            [only] => only.text.clone(),
            several => Slice::new(several.iter().map(|part| &*part.text).collect()),
        };
        let mut end = 0;
        let placed = parts.into_iter().map(|part| {
            let start = end;
            end += part.text.len();
            (start, part)
        });
        Self { text, parts: placed.collect() }
    }

    /// Returns the texts, each with the offset at which it begins in the joined text.
    fn parts(&self) -> impl Iterator<Item = (usize, &TextPart)> {
        self.parts.iter().map(|(start, part)| (*start, part))
    }

    /// Returns the rows of a table of all texts. `start` returns the offset at which a row begins.
    fn rows<R: Send + Sync + 'static>(
        &self,
        found: FoundRows<R>,
        start: fn(&R) -> usize,
    ) -> Arc<dyn TableRows> {
        if self.parts.len() == 1 {
            return Arc::new(found);
        }
        let kinds = ValueKinds::TEXT;
        let own = ["part", "name"].map(|name| ColumnDef::new(name, kinds, found.rows.len()));
        let columns = own.into_iter().chain(found.columns.iter().cloned()).collect();
        Arc::new(PartRows { columns, parts: Arc::clone(&self.parts), found, start })
    }
}

/// Rows of several texts.
struct PartRows<R> {
    found: FoundRows<R>,
    parts: Arc<[(usize, TextPart)]>,
    start: fn(&R) -> usize,
    columns: Vec<ColumnDef>,
}

impl<R: Send + Sync> TableRows for PartRows<R> {
    fn columns(&self) -> &[ColumnDef] {
        &self.columns
    }

    fn len(&self) -> usize {
        self.found.len()
    }

    fn source_text(&self) -> Slice {
        self.found.source_text()
    }

    fn heap_bytes(&self) -> usize {
        self.found.heap_bytes() + self.found.text.len()
    }

    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        if let Some(column) = column.checked_sub(2) {
            return self.found.cell(row, column);
        }
        let start = self.found.rows.get(row.index).map_or(0, self.start);
        let after = self.parts.partition_point(|(first, _)| *first <= start);
        let part = after.checked_sub(1).and_then(|at| self.parts.get(at));
        part.map_or(Cell::Null, |(_, part)| match column {
            0 => Cell::text(&part.address),
            _ => part.name.as_deref().map_or(Cell::Null, Cell::text),
        })
    }
}

/// Returns a span of a part as one of the joined text.
fn shifted(span: Span, start: usize) -> Span {
    Span::new(span.start as usize + start, span.end as usize + start)
}
