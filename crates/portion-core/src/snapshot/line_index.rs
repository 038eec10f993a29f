//! Indexes the lines of a text, and the tables of records in it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use portion_json::scan::SparseOffsets;
use portion_text::chunk::outline::Heading;
use portion_text::chunk::{Chunker, TextKind, outline};
use portion_text::{chunk, html};

use super::list::ListFacts;
use super::profile::FieldType;

/// Index of the lines of a text, and the chunker for its kind.
#[derive(Clone)]
pub struct LineIndex {
    /// Offset of each line.
    pub(super) line_offsets: SparseOffsets,
    /// Chunker that finds the ends of chunks.
    pub chunker: &'static dyn Chunker,
    /// Tables of records in the text, found on first use.
    pub(crate) tables: OnceLock<Arc<TextTables>>,
    /// True if it is HTML with headings, found on first use.
    pub(crate) has_html_headings: OnceLock<bool>,
}

impl fmt::Debug for LineIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({}, {} lines)", self.chunker.name(), self.line_offsets.len())
    }
}

impl LineIndex {
    /// Indexes a text.
    pub fn new(text: &str) -> Self {
        let mut lines = SparseOffsets::default();
        if !text.is_empty() {
            lines.push(0);
        }
        for at in memchr::memchr_iter(b'\n', text.as_bytes()) {
            if at + 1 < text.len() {
                lines.push(at + 1);
            }
        }
        lines.shrink_to_fit();
        Self {
            line_offsets: lines,
            chunker: chunk::chunker_for(text),
            tables: OnceLock::new(),
            has_html_headings: OnceLock::new(),
        }
    }

    /// Returns the number of lines; a trailing newline begins no line.
    pub fn line_count(&self) -> usize {
        self.line_offsets.len()
    }

    /// Returns true if the text has sections with headings: Markdown, and HTML with headings.
    pub fn has_headings(&self, text: &str) -> bool {
        match self.chunker.kind() {
            TextKind::Markdown => true,
            TextKind::Markup => *self.has_html_headings.get_or_init(|| html::has_headings(text)),
            _ => false,
        }
    }

    /// Returns the headings of Markdown or HTML, with their sections; of other texts, those that Markdown would have.
    ///
    /// Reads the whole text.
    pub fn headings<'a>(&self, text: &'a str) -> Vec<Heading<'a>> {
        match self.chunker.kind() {
            TextKind::Markup => html::headings(text),
            _ => outline::headings(text),
        }
    }

    /// Returns the offset of line `line`, counted from 0; the end of the text for a line past the last.
    pub fn line_start(&self, text: &str, line: usize) -> usize {
        if line >= self.line_offsets.len() {
            return text.len();
        }
        let Some((near, at)) = self.line_offsets.at_or_before_index(line) else { return text.len() };
        let mut newlines = memchr::memchr_iter(b'\n', text.as_bytes().get(at..).unwrap_or_default());
        match (line - near).checked_sub(1) {
            None => at,
            Some(more) => newlines.nth(more).map_or(text.len(), |n| at + n + 1),
        }
    }

    /// Returns the line, counted from 0, that contains a byte.
    pub fn line_at(&self, text: &str, byte: usize) -> usize {
        let Some((near, at)) = self.line_offsets.at_or_before_byte(byte) else { return 0 };
        let between = text.as_bytes().get(at..byte).unwrap_or_default();
        let line = near + memchr::memchr_iter(b'\n', between).count();
        line.min(self.line_offsets.len().saturating_sub(1))
    }

    /// Returns the heap size in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.line_offsets.heap_bytes()
    }
}

/// Tables of records that a text contains, besides its lines, entries and sections.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextTables {
    /// The table that queries call `items`.
    pub items: Option<ItemsTable>,
    /// Number of further tables of a document.
    pub further_count: usize,
}

/// A table of records in a text.
#[derive(Clone, Debug)]
pub(crate) struct ItemsTable {
    /// Kind of the table.
    pub source: TableSource,
    /// Number of rows below the header.
    pub row_count: usize,
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// Facts about the columns; none if the text is too large.
    pub facts: ListFacts,
    /// Number of the bytes of the text that it takes.
    pub byte_count: usize,
}

/// Smallest share of a document that its described table takes, as a divisor.
const DESCRIBED_SHARE: usize = 4;

/// Kind of a table in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableSource {
    /// The whole text: rows of separated values.
    Delimited,
    /// The largest table of a document.
    Document,
    /// The files of a diff.
    Diff,
}

impl ItemsTable {
    /// Returns true if the description of the text has facts about the columns.
    pub(crate) fn is_described(&self, text: &str) -> bool {
        match self.source {
            TableSource::Delimited => true,
            TableSource::Document => self.byte_count * DESCRIBED_SHARE >= text.len(),
            TableSource::Diff => false,
        }
    }

    /// Returns the columns with their types: `path string,added number,+4 more`, in at most this many characters.
    pub(crate) fn typed_columns(&self, characters: usize) -> String {
        let types = self.facts.field_types();
        let column = |name: &String| {
            let kind = types.get(name).copied().filter(|kind| *kind != FieldType::String);
            kind.map_or_else(|| name.clone(), |kind| format!("{name} {}", kind.name()))
        };
        column_list(&self.columns.iter().map(column).collect::<Vec<_>>(), characters)
    }
}

/// Returns columns with commas between them, as many as there is room for: `path,added,+4 more`.
pub(crate) fn column_list(columns: &[String], characters: usize) -> String {
    let mut written = String::new();
    for (at, column) in columns.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        if written.len() + column.len() > characters {
            return format!("{written}{comma}+{} more", columns.len() - at);
        }
        written.push_str(comma);
        written.push_str(column);
    }
    written
}
