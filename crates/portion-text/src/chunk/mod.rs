//! Splits text into chunks at natural boundaries.
//!
//! Text that is too long for one reply is served in chunks. Half a stack trace or half a sentence is
//! worth less to a reader than it costs, so a chunk ends where the text itself ends something: a section,
//! an entry, a paragraph, an item, a sentence, a line.
//!
//! Each kind of text has a [`Chunker`], which only marks the boundaries and their levels
//! ([`BoundaryLevel`]). The function [`cut`] applies the limits and chooses among the boundaries; it is
//! the same for all kinds. A chunker is one file and one line in [`CHUNKERS`].
//!
//! A cut is a pure function of the text, the start of the chunk and the limits. Its work is proportional
//! to the chunk: a chunker sees a [`ChunkWindow`] of at most two chunks and looks back over a bounded
//! distance.

use std::ops::Range;

mod boundary;
mod code;
mod config;
mod cut;
mod indent;
mod json;
mod limits;
mod line;
mod lines;
mod log;
mod markdown;
mod markup;
mod prose;
mod sample;
mod sentence;
mod stack_trace;
mod stamp;
mod table;

pub use boundary::{Boundary, BoundaryLevel};
pub use cut::cut;
pub use limits::ChunkLimits;
pub(crate) use log::{EntryStart, NAME as LOG};
pub use markdown::NAME as MARKDOWN;
pub use markdown::outline;
pub use prose::heading_level;
pub use sample::TextSample;
pub use sentence::sentence_starts;

/// Detects one kind of text and finds its boundaries.
pub trait Chunker: Send + Sync {
    /// Returns the name of the kind in notices and explanations, e.g. `log`.
    fn name(&self) -> &'static str;

    /// Returns true if a text with this sample is of this kind.
    fn matches(&self, sample: &TextSample) -> bool;

    /// Returns the boundaries in the window, in any order.
    ///
    /// Boundaries at or before the start of the window, or after its end, are ignored.
    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary>;
}

/// All chunkers, the most specific first: the first one that matches a text is used, and the last one
/// matches every text.
pub const CHUNKERS: &[&dyn Chunker] = &[
    &table::TableChunker,
    &json::JsonChunker,
    &log::LogChunker,
    &stack_trace::TraceChunker,
    &markup::MarkupChunker,
    &config::ConfigChunker,
    &code::CodeChunker,
    &markdown::MarkdownChunker,
    &prose::ProseChunker,
    &lines::LineChunker,
];

/// Returns the chunker for a text, judged by at most 64 KiB of it.
pub fn chunker_for(text: &str) -> &'static dyn Chunker {
    let sample = TextSample::new(text);
    CHUNKERS.iter().copied().find(|chunker| chunker.matches(&sample)).unwrap_or(&lines::LineChunker)
}

/// The range of text for one cut: the chunk, and as much again.
#[derive(Debug, Clone, Copy)]
pub struct ChunkWindow<'a> {
    /// The whole text, so that chunkers can look back.
    pub text: &'a str,
    /// Start of the chunk, in bytes.
    pub from: usize,
    /// End of the window, in bytes.
    pub to: usize,
}

impl<'a> ChunkWindow<'a> {
    /// Yields the lines of the window; the first and the last may be partial.
    fn lines(&self) -> impl Iterator<Item = line::Line<'a>> + use<'a> {
        line::lines(self.text, self.range())
    }

    /// Returns true if the window begins at the start of a line.
    fn begins_line(&self) -> bool {
        self.from == 0 || self.text.as_bytes()[self.from - 1] == b'\n'
    }

    fn range(&self) -> Range<usize> {
        self.from..self.to
    }
}
