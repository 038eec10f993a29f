//! Finds boundaries in text of no other kind: listings, tables, unstamped logs, YAML.
//!
//! A line that is indented, or that looks like the next line of a stack trace, belongs to the line above
//! it.

use super::{Boundary, ChunkWindow, Chunker, TextKind, TextSample, indent, sentence, stamp};

/// Cuts between lines and their continuations.
#[derive(Debug)]
pub(super) struct LineChunker;

impl Chunker for LineChunker {
    fn kind(&self) -> TextKind {
        TextKind::Lines
    }

    fn matches(&self, _sample: &TextSample) -> bool {
        true
    }

    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary> {
        let mut boundaries =
            indent::mark_units(window.lines(), |context| !stamp::continues_entry(context.line.text));
        sentence::mark_long_lines(window.lines(), window.text, &mut boundaries);
        boundaries
    }
}
