//! Where a chunk of text ends.
//!
//! Text that is too long for one reply is served in chunks, and a reader who gets half a stack
//! trace or half a sentence has been told less than the chunk cost. So a chunk ends where the text
//! itself ends something: a section, an entry, a paragraph, an item, a sentence, a line.
//!
//! Each kind of text has a [`Chunker`], which only *marks* the places where something begins and
//! says how coarse that something is ([`BoundaryLevel`]). One function, [`cut`], knows the limits and
//! chooses among the marks; it is the same for all kinds. A chunker is one file and one line in
//! [`CHUNKERS`].
//!
//! A cut is a pure function of the text, the place where the chunk begins and the limits, and its
//! work is in proportion to the chunk: a chunker sees a [`ChunkWindow`] of at most two chunks and looks
//! back over a bounded distance.

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
pub(crate) use markdown::NAME as MARKDOWN;
pub use markdown::outline;
pub(crate) use prose::heading_level;
pub use sample::TextSample;
pub use sentence::sentence_starts;

/// One kind of text.
pub trait Chunker: Send + Sync {
    /// What the kind is called in notices and explanations, e.g. `log`.
    fn name(&self) -> &'static str;

    /// Whether a text that begins like this is of this kind.
    fn matches(&self, sample: &TextSample) -> bool;

    /// The places in the window where something begins, in any order.
    ///
    /// Marks at or before the window's start, or after its end, are ignored.
    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary>;
}

/// The kinds of text, the more telling first: a text is of the first kind that claims it, and the
/// last one claims all.
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

/// The chunker for this text, judged by at most 64 KiB of it.
pub fn chunker_for(text: &str) -> &'static dyn Chunker {
    let sample = TextSample::new(text);
    CHUNKERS.iter().copied().find(|chunker| chunker.matches(&sample)).unwrap_or(&lines::LineChunker)
}

/// The stretch of text that one cut is concerned with: the chunk, and as much again.
#[derive(Debug, Clone, Copy)]
pub struct ChunkWindow<'a> {
    /// The whole text, for the look back.
    pub text: &'a str,
    /// Where the chunk begins, in bytes.
    pub from: usize,
    /// Where the window ends, in bytes.
    pub to: usize,
}

impl<'a> ChunkWindow<'a> {
    /// The lines of the window; the first and the last may be parts of lines.
    fn lines(&self) -> impl Iterator<Item = line::Line<'a>> + use<'a> {
        line::lines(self.text, self.range())
    }

    /// Whether the window begins at the beginning of a line.
    fn begins_line(&self) -> bool {
        self.from == 0 || self.text.as_bytes()[self.from - 1] == b'\n'
    }

    fn range(&self) -> Range<usize> {
        self.from..self.to
    }
}
