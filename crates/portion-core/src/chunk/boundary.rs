//! Marks: where something begins in a text, and how coarse it is.

use super::line::Line;

/// How coarse the thing is that begins at a mark, the coarsest first.
///
/// What begins at a mark ends at the next mark that is as coarse or coarser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoundaryLevel {
    /// A heading with all that belongs to it; the level of the heading, 1 the highest.
    Section(u8),
    /// What is to stay whole: a log entry, a paragraph, a list item, a fence, a function.
    Unit,
    /// One of several inside a unit that can be read by itself, as a nested list item can; how deep it
    /// sits, 0 to [`BoundaryLevel::MAX_DEPTH`].
    Item(u8),
    /// A part of a unit too large for one chunk; how deep it sits, 0 to [`BoundaryLevel::MAX_DEPTH`].
    Part(u8),
    /// A sentence.
    Sentence,
    /// A line. Not marked by chunkers: any line feed ends one.
    Line,
    /// Where a line may be parted that is too long for one chunk, between two fields or tags; any
    /// white space will do where none is marked.
    Word,
}

impl BoundaryLevel {
    /// The depth of the finest part or item; deeper ones count as this deep.
    pub const MAX_DEPTH: u8 = 15;

    /// An item at this depth, or at the deepest.
    pub fn item(depth: usize) -> Self {
        Self::Item(depth.min(Self::MAX_DEPTH as usize) as u8)
    }

    /// A part at this depth, or at the deepest.
    pub fn part(depth: usize) -> Self {
        Self::Part(depth.min(Self::MAX_DEPTH as usize) as u8)
    }
}

/// A place where something begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boundary {
    /// Byte offset in the text.
    pub offset: usize,
    /// What begins there.
    pub level: BoundaryLevel,
}

/// Marks in the making, line by line, with the blank lines between them.
///
/// Blank lines belong to what stands before them, but where there are too many of them for one
/// chunk they are no reason to split it: so what follows a gap is marked at both of its ends.
#[derive(Debug, Default)]
pub(super) struct BoundaryBuilder {
    boundaries: Vec<Boundary>,
    gap_start: Option<usize>,
}

impl BoundaryBuilder {
    /// Notes a line without content.
    pub(super) fn add_blank(&mut self, line: &Line) {
        self.gap_start.get_or_insert(line.start);
    }

    /// Whether there are blank lines since the last line of content.
    pub(super) fn after_gap(&self) -> bool {
        self.gap_start.is_some()
    }

    /// Notes a line of content that begins something.
    pub(super) fn add(&mut self, line: &Line, rank: BoundaryLevel) {
        self.add_at(line.start, rank);
    }

    /// The same with a place that need not be the beginning of a line.
    pub(super) fn add_at(&mut self, at: usize, rank: BoundaryLevel) {
        if let Some(gap) = self.gap_start.take() {
            self.boundaries.push(Boundary { offset: gap, level: rank });
        }
        self.boundaries.push(Boundary { offset: at, level: rank });
    }

    /// Notes a line of content that goes on with what is there.
    pub(super) fn continue_unit(&mut self) {
        self.gap_start = None;
    }

    pub(super) fn finish(self) -> Vec<Boundary> {
        self.boundaries
    }
}
