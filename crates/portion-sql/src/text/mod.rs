//! Texts as tables.

mod csv;
mod structure;

pub(crate) use csv::{CsvSource, DocumentTableSource};
pub(crate) use structure::{DiffSource, EntriesSource, LinesSource, SectionsSource};

use portion_core::snapshot::{IndexedText, Part, Slice};
use portion_json::span::Span;

use crate::cell::{Cell, ValueKinds};
use crate::column::ColumnDef;
use crate::table_rows::{CellOf, FoundTable, RowBuffer, TableRows};

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
    /// The texts, each with the offset at which it begins in the joined text.
    parts: Vec<(usize, TextPart)>,
}

impl JoinedTexts {
    fn new<'a>(parts: impl Iterator<Item = &'a TextPart>) -> Self {
        let mut end = 0;
        let placed = parts.map(|part| {
            let start = end;
            end += part.text.len();
            (start, part.clone())
        });
        let parts: Vec<(usize, TextPart)> = placed.collect();
        let text = match parts.as_slice() {
            [(_, only)] => only.text.clone(),
            several => Slice::new(several.iter().map(|(_, part)| &*part.text).collect()),
        };
        Self { text, parts }
    }

    /// Returns the table of the rows of all texts. `start` returns the offset at which a row begins.
    fn table<R: Send + Sync + 'static>(
        self,
        columns: Vec<ColumnDef>,
        rows: Vec<R>,
        start: fn(&R) -> usize,
        cell: CellOf<R>,
    ) -> FoundTable {
        let Self { text, parts } = self;
        let first_row = |offset: usize| rows.partition_point(|row| start(row) < offset);
        let parts: Vec<_> = parts.into_iter().map(|(offset, part)| (first_row(offset), part)).collect();
        let found = FoundTable::of_rows(&text, columns, rows, cell);
        if parts.len() == 1 {
            return found;
        }
        let own = ["part", "name"].map(|name| ColumnDef::new(name, ValueKinds::TEXT, found.row_count));
        let columns = own.into_iter().chain(found.columns).collect();
        let heap_bytes = found.heap_bytes + text.len();
        let rows = PartRows { parts, found: found.rows };
        FoundTable { heap_bytes, ..FoundTable::new(&text, columns, found.row_count, rows) }
    }
}

/// Rows of several texts.
struct PartRows {
    found: Box<dyn TableRows>,
    /// The texts, each with the index of its first row.
    parts: Vec<(usize, TextPart)>,
}

impl TableRows for PartRows {
    fn cell<'a>(&'a self, row: &'a RowBuffer, column: usize) -> Cell<'a> {
        if let Some(column) = column.checked_sub(2) {
            return self.found.cell(row, column);
        }
        let after = self.parts.partition_point(|(first, _)| *first <= row.index);
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
