//! Splits text into chunks at natural boundaries.
//!
//! Text that is too long for one reply is served in chunks. A chunk ends at the end of a section, an entry, a paragraph,
//! an item, a sentence or a line, because half a stack trace or half a sentence is of little use to a reader.
//!
//! Each kind of text has a [`Chunker`], which only marks the boundaries and their levels
//! ([`BoundaryLevel`]). The function [`cut`] applies the limits and chooses among the boundaries; it is
//! the same for all kinds. A chunker is one file and one line in [`CHUNKERS`].
//!
//! A cut is a pure function of the text, the start of the chunk and the limits. Its work is proportional
//! to the chunk: a chunker sees a [`ChunkWindow`] of at most two chunks and looks back over a bounded
//! distance.
//!
//! ```
//! use portion_text::chunk::{MARKDOWN, chunker_for};
//!
//! let document = "# Rules\n\nThe guest arrives late.\n\n## Noise\n\nNone after ten.\n";
//! assert_eq!(chunker_for(document).name(), MARKDOWN);
//! ```

mod chunker;
mod code;
mod config;
mod cut;
mod indent;
mod json;
mod log;
mod markdown;
mod markup;
mod prose;
mod sentence;
mod stack_trace;
mod stamp;
mod table;

pub use chunker::{Boundary, BoundaryLevel, ChunkWindow, Chunker, TextKind, TextSample};
pub use cut::{ChunkLimits, cut};
pub(crate) use log::EntryStart;
pub use markdown::{NAME as MARKDOWN, outline};
pub use prose::heading_level;
pub use sentence::sentence_starts;
pub(crate) use stamp::is_subtitle_cue;
pub use table::first_row_start;

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
    &indent::LineChunker,
];

/// Returns the chunker for a text, judged by at most 64 KiB of it.
pub fn chunker_for(text: &str) -> &'static dyn Chunker {
    let sample = TextSample::new(text);
    CHUNKERS.iter().copied().find(|chunker| chunker.matches(&sample)).unwrap_or(&indent::LineChunker)
}
