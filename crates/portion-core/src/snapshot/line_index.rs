//! Text by lines.

use std::fmt;

use crate::chunk::{self, Chunker};
use crate::scan::SparseOffsets;

/// An index of a text's lines, and the chunker that knows its kind.
#[derive(Clone)]
pub struct LineIndex {
    /// Where each line begins.
    line_offsets: SparseOffsets,
    /// What finds the ends of its chunks.
    pub chunker: &'static dyn Chunker,
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
        Self { line_offsets: lines, chunker: chunk::chunker_for(text) }
    }

    /// How many lines there are; a trailing newline begins none.
    pub fn line_count(&self) -> usize {
        self.line_offsets.len()
    }

    /// Whether it is of a kind whose sections have headings.
    pub fn has_headings(&self) -> bool {
        self.chunker.name() == chunk::MARKDOWN
    }

    /// The byte where line `line` begins, from 0; the text's end for a line past the last.
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

    /// The line, from 0, that holds a byte.
    pub fn line_at(&self, text: &str, byte: usize) -> usize {
        let Some((near, at)) = self.line_offsets.at_or_before_byte(byte) else { return 0 };
        let between = text.as_bytes().get(at..byte).unwrap_or_default();
        let line = near + memchr::memchr_iter(b'\n', between).count();
        line.min(self.line_offsets.len().saturating_sub(1))
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        self.line_offsets.heap_bytes()
    }
}
