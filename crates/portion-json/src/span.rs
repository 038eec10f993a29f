//! A byte range of a text. Small, because an index holds many.
//!
//! ```
//! use portion_json::span::Span;
//!
//! let span = Span::new(4, 7);
//! assert_eq!(span.slice("one two"), "two");
//! assert_eq!(span.slice("one"), "");
//! ```

use std::ops::Range;

/// A half-open range of byte offsets. `u32` is enough: a message is at most 4 GiB by construction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// Creates a span from offsets; offsets beyond 4 GiB saturate.
    pub fn new(start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { start: clamp(start), end: clamp(end) }
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Returns true if the span is empty.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Returns the text at this span; empty where the span does not fit the text.
    pub fn slice(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    /// Returns the span as a range for slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the same place in a text that begins `by` bytes earlier.
    #[must_use]
    pub fn shifted_by(self, by: usize) -> Self {
        Self::new(self.start as usize + by, self.end as usize + by)
    }
}
