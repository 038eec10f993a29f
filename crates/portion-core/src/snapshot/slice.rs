//! Shared text: many slices refer to one copy of the bytes. Blocks of it may be missing.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use portion_json::span::Span;

/// A slice of a text that is held in memory once.
///
/// A text that was read from a store may have missing blocks. Reading a slice notes which of them are needed.
#[derive(Clone, Debug)]
pub struct Slice {
    buffer: Arc<String>,
    /// Missing blocks of the whole buffer; `None` if there are none.
    gaps: Option<Arc<Gaps>>,
    span: Span,
}

impl Slice {
    /// Creates a slice of a whole text.
    pub fn new(mut text: String) -> Self {
        // Text decoded from escapes has spare capacity.
        text.shrink_to_fit();
        let span = Span::new(0, text.len());
        Self { buffer: Arc::new(text), gaps: None, span }
    }

    /// Returns a part of this slice; `span` is relative to it.
    #[must_use]
    pub fn subslice(&self, span: Span) -> Self {
        Self { span: span.shifted_by(self.span.start as usize), ..self.clone() }
    }

    /// Returns the length in bytes. Needs no missing block.
    pub fn len(&self) -> usize {
        self.loaded().len()
    }

    /// Returns true if the slice is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the text at a span, which is relative to this slice. Needs only the blocks within the span.
    pub fn at(&self, span: Span) -> &str {
        self.need(span);
        span.slice(self.loaded())
    }

    /// Returns the text without a note of what is needed. Its missing bytes are NUL.
    pub(crate) fn loaded(&self) -> &str {
        self.span.slice(&self.buffer)
    }

    /// Notes that the missing blocks within a span are needed.
    pub(crate) fn need(&self, span: Span) {
        if let Some(gaps) = &self.gaps {
            gaps.need(span.shifted_by(self.span.start as usize));
        }
    }

    /// Notes that the first missing block that ends after a byte is needed.
    pub(crate) fn need_next(&self, byte: usize) {
        if let Some(gaps) = &self.gaps {
            gaps.need_next(self.span.start.saturating_add(u32::try_from(byte).unwrap_or(u32::MAX)));
        }
    }

    /// Returns the missing blocks of the shared text.
    pub(super) fn gaps(&self) -> Option<&Gaps> {
        self.gaps.as_deref()
    }

    /// Returns the same slice with other missing blocks.
    pub(super) fn with_gaps(&self, gaps: Gaps) -> Self {
        Self { gaps: (!gaps.is_empty()).then(|| Arc::new(gaps)), ..self.clone() }
    }

    /// Returns the offset of the slice in the shared text.
    pub fn start(&self) -> usize {
        self.span.start as usize
    }

    /// Returns a slice of the whole shared text.
    pub(super) fn whole_buffer(&self) -> Self {
        Self { span: Span::new(0, self.buffer.len()), ..self.clone() }
    }

    /// Returns true if both are slices of the same text in memory.
    pub(crate) fn shares_buffer(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.buffer, &other.buffer)
    }

    /// Returns the heap size of the shared text in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.buffer.capacity()
    }
}

impl Deref for Slice {
    type Target = str;

    fn deref(&self) -> &str {
        if let Some(gaps) = &self.gaps {
            gaps.need(self.span);
        }
        self.loaded()
    }
}

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
