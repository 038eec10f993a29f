//! The interface of all chunkers: kinds of text, the lines that a chunker sees, and the boundaries that it marks.

use std::ops::Range;

use memchr::memchr;

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

/// Columns that a tab indents by; only the order of depths matters.
const TAB_COLUMNS: usize = 4;

/// A line of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Offset of the first byte.
    pub(super) start: usize,
    /// Offset after the line feed.
    pub(super) end: usize,
    /// Content without the line ending.
    pub(super) text: &'a str,
}

impl<'a> Line<'a> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim_start().is_empty()
    }

    /// Counts the columns before the first visible character.
    pub(super) fn indent(&self) -> usize {
        let white = self.text.bytes().take_while(|b| matches!(b, b' ' | b'\t'));
        white.map(|b| if b == b'\t' { TAB_COLUMNS } else { 1 }).sum()
    }

    /// Returns the line without surrounding white space.
    pub(super) fn trimmed(&self) -> &'a str {
        self.text.trim()
    }
}

/// Yields the lines in a range of a text; the first and the last are cut at the ends of the range.
pub(super) fn lines(text: &str, range: Range<usize>) -> impl Iterator<Item = Line<'_>> {
    let Range { mut start, end: last } = range;
    std::iter::from_fn(move || {
        let rest = text.get(start..last).filter(|rest| !rest.is_empty())?;
        let end = memchr(b'\n', rest.as_bytes()).map_or(last, |feed| start + feed + 1);
        let content = &text[start..end];
        let content = content.strip_suffix('\n').unwrap_or(content);
        let line = Line { start, end, text: content.strip_suffix('\r').unwrap_or(content) };
        start = end;
        Some(line)
    })
}

/// Level of what begins at a boundary, the coarsest first.
///
/// It ends at the next boundary of the same or a coarser level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoundaryLevel {
    /// A section with a heading; holds the level of the heading, 1 being the highest.
    Section(u8),
    /// Text to keep together: a log entry, a paragraph, a list item, a fence, a function.
    Unit,
    /// A self-contained part of a unit, such as a nested list item; holds its depth, 0 to
    /// [`BoundaryLevel::MAX_DEPTH`].
    Item(u8),
    /// A part of a unit that is too large for one chunk; holds its depth, 0 to
    /// [`BoundaryLevel::MAX_DEPTH`].
    Part(u8),
    /// A sentence.
    Sentence,
    /// A line. Chunkers do not mark lines: every line feed ends one.
    Line,
    /// A place to split a line that is too long for one chunk, between two fields or tags. If none is
    /// marked, any white space is used.
    Word,
}

impl BoundaryLevel {
    /// Maximum depth of a part or item; deeper ones count as this deep.
    pub const MAX_DEPTH: u8 = 15;

    /// Returns an item of this depth, or of the maximum.
    pub fn item(depth: usize) -> Self {
        Self::Item(depth.min(Self::MAX_DEPTH as usize) as u8)
    }

    /// Returns a part of this depth, or of the maximum.
    pub fn part(depth: usize) -> Self {
        Self::Part(depth.min(Self::MAX_DEPTH as usize) as u8)
    }
}

/// A place where something begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boundary {
    /// Byte offset in the text.
    pub offset: usize,
    /// Level of what begins there.
    pub level: BoundaryLevel,
}

/// Collects boundaries line by line, with the blank lines between them.
///
/// Blank lines belong to the text before them. But blank lines that do not fit the chunk are no reason to
/// split that text, so the text after a gap is marked at both ends of the gap.
#[derive(Debug, Default)]
pub(super) struct BoundaryBuilder {
    boundaries: Vec<Boundary>,
    gap_start: Option<usize>,
}

impl BoundaryBuilder {
    /// Adds a line without content.
    pub(super) fn add_blank(&mut self, line: &Line) {
        self.gap_start.get_or_insert(line.start);
    }

    /// Returns true if blank lines follow the last line with content.
    pub(super) fn after_gap(&self) -> bool {
        self.gap_start.is_some()
    }

    /// Adds a boundary at the start of a line.
    pub(super) fn add(&mut self, line: &Line, rank: BoundaryLevel) {
        self.add_at(line.start, rank);
    }

    /// Adds a boundary at any offset.
    pub(super) fn add_at(&mut self, at: usize, rank: BoundaryLevel) {
        if let Some(gap) = self.gap_start.take() {
            self.boundaries.push(Boundary { offset: gap, level: rank });
        }
        self.boundaries.push(Boundary { offset: at, level: rank });
    }

    /// Adds a line that continues the current text.
    pub(super) fn continue_unit(&mut self) {
        self.gap_start = None;
    }

    pub(super) fn finish(self) -> Vec<Boundary> {
        self.boundaries
    }
}

/// Bytes sampled from the start and from the middle: a banner or a preamble must not decide alone, and a
/// long text must not cost more than a short one.
const HEAD_BYTES: usize = 48 * 1024;
const MIDDLE_BYTES: usize = 16 * 1024;

/// Lines from the start and the middle of a text.
#[derive(Debug)]
pub struct TextSample<'a> {
    text: &'a str,
    lines: Vec<Line<'a>>,
}

impl<'a> TextSample<'a> {
    /// Samples at most 64 KiB of a text.
    pub fn new(text: &'a str) -> Self {
        let head = text.floor_char_boundary(HEAD_BYTES);
        let middle = text.ceil_char_boundary(head.max(text.len() / 2));
        let last = text.floor_char_boundary(middle.saturating_add(MIDDLE_BYTES)).max(middle);
        let mut sampled: Vec<_> = lines(text, 0..head).collect();
        // The first line of the middle is usually partial.
        sampled.extend(lines(text, middle..last).skip(1));
        Self { text, lines: sampled }
    }

    /// Returns the whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Yields the lines that are not blank.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| !line.is_blank())
    }

    /// Returns all lines.
    pub(super) fn all_lines(&self) -> &[Line<'a>] {
        &self.lines
    }
}
