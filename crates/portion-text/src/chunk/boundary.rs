//! Boundaries: places in a text where something begins, each with a level.

use super::line::Line;

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
