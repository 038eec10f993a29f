//! Missing blocks of a text that a store has, but this process has not read yet.

use std::sync::atomic::{AtomicBool, Ordering};

use portion_json::span::Span;

/// The missing blocks of a text, and a note of each that was needed.
///
/// A missing byte is NUL in the text. NUL cannot be part of JSON, so JSON is never read across a gap.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    /// Ascending, without overlaps.
    gaps: Vec<Gap>,
}

/// A missing block.
#[derive(Debug)]
pub(super) struct Gap {
    /// Its bytes in the text.
    pub(super) span: Span,
    /// Number of the block in the encoded snapshot.
    pub(super) block: u32,
    is_needed: AtomicBool,
}

impl Gaps {
    /// Adds a missing block after the others.
    pub(super) fn push(&mut self, span: Span, block: u32) {
        self.gaps.push(Gap { span, block, is_needed: AtomicBool::new(false) });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Gap> {
        self.gaps.iter()
    }

    /// Notes that the missing blocks within a span are needed.
    pub(super) fn need(&self, span: Span) {
        self.from(span.start).take_while(|gap| gap.span.start < span.end).for_each(Gap::need);
    }

    /// Notes that the first missing block that ends after a byte is needed.
    pub(super) fn need_next(&self, byte: u32) {
        self.from(byte).take(1).for_each(Gap::need);
    }

    /// Returns the numbers of the blocks that were needed.
    pub(super) fn needed(&self) -> impl Iterator<Item = u32> {
        self.gaps.iter().filter(|gap| gap.is_needed.load(Ordering::Relaxed)).map(|gap| gap.block)
    }

    fn from(&self, byte: u32) -> impl Iterator<Item = &Gap> {
        self.gaps[self.gaps.partition_point(|gap| gap.span.end <= byte)..].iter()
    }
}

impl Gap {
    fn need(&self) {
        self.is_needed.store(true, Ordering::Relaxed);
    }
}
