//! Indexes the lines of a text.

use std::fmt;
use std::sync::{Arc, OnceLock};

use portion_json::scan::SparseOffsets;
use portion_text::chunk::outline::{self, Heading};
use portion_text::chunk::{self, Chunker, TextKind};
use portion_text::html;

use super::text_tables::TextTables;

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
