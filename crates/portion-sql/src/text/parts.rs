//! The texts of a result as one: tables of several texts begin with the columns `part` and `name`.

use std::sync::Arc;

use portion_core::snapshot::{IndexedText, Part, Slice};
use portion_json::span::Span;

use crate::cell::Cell;
use crate::column::ColumnDef;
use crate::table_rows::{FoundRows, RowBuffer, TableRows};
use crate::value_kinds::ValueKinds;

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
pub(super) struct JoinedTexts {
    pub(super) text: Slice,
    parts: Arc<[(usize, TextPart)]>,
}

impl JoinedTexts {
    pub(super) fn new(parts: Vec<TextPart>) -> Self {
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
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, &TextPart)> {
        self.parts.iter().map(|(start, part)| (*start, part))
    }

    /// Returns the rows of a table of all texts. `start` returns the offset at which a row begins.
    pub(super) fn rows<R: Send + Sync + 'static>(
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
pub(super) fn shifted(span: Span, start: usize) -> Span {
    Span::new(span.start as usize + start, span.end as usize + start)
}
