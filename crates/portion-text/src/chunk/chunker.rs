//! The interface of all chunkers.

use std::ops::Range;

use super::line::{Line, lines};
use super::{Boundary, TextSample};

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextKind {
    /// Source code.
    Code,
    /// Configuration files.
    Config,
    /// JSON in text.
    Json,
    /// Lines of an unknown format.
    Lines,
    /// Logs.
    Log,
    /// Markdown.
    Markdown,
    /// HTML and XML.
    Markup,
    /// Running text.
    Prose,
    /// Tables.
    Table,
    /// Stack traces.
    Trace,
}

impl TextKind {
    /// Returns its name in notices and explanations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Config => "config",
            Self::Json => "json",
            Self::Lines => "lines",
            Self::Log => "log",
            Self::Markdown => "markdown",
            Self::Markup => "markup",
            Self::Prose => "prose",
            Self::Table => "table",
            Self::Trace => "trace",
        }
    }
}

/// Detects one kind of text and finds its boundaries.
pub trait Chunker: Send + Sync {
    /// Returns the kind of text.
    fn kind(&self) -> TextKind;

    /// Returns the name of the kind in notices and explanations, e.g. `log`.
    fn name(&self) -> &'static str {
        self.kind().name()
    }

    /// Returns true if a text with this sample is of this kind.
    fn matches(&self, sample: &TextSample) -> bool;

    /// Returns the boundaries in the window, in any order.
    ///
    /// Boundaries at or before the start of the window, or after its end, are ignored.
    fn boundaries(&self, window: &ChunkWindow) -> Vec<Boundary>;
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
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        lines(self.text, self.range())
    }

    /// Returns true if the window begins at the start of a line.
    pub(super) fn begins_line(&self) -> bool {
        self.from == 0 || self.text.as_bytes()[self.from - 1] == b'\n'
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.from..self.to
    }
}
