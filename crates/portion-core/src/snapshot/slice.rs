//! Shared text: many slices refer to one copy of the bytes.

use std::ops::Deref;
use std::sync::Arc;

use portion_json::span::Span;

/// A slice of a text that is held in memory once.
#[derive(Clone, Debug)]
pub struct Slice {
    buffer: Arc<String>,
    span: Span,
}

impl Slice {
    /// Creates a slice of a whole text.
    pub fn new(mut text: String) -> Self {
        // Text decoded from escapes has spare capacity.
        text.shrink_to_fit();
        let span = Span::new(0, text.len());
        Self { buffer: Arc::new(text), span }
    }

    /// Returns a part of this slice; `span` is relative to it.
    #[must_use]
    pub fn subslice(&self, span: Span) -> Self {
        Self { buffer: Arc::clone(&self.buffer), span: span.shifted_by(self.span.start as usize) }
    }

    /// Returns the offset of the slice in the shared text.
    pub fn start(&self) -> usize {
        self.span.start as usize
    }

    /// Returns a slice of the whole shared text.
    pub(super) fn whole_buffer(&self) -> Self {
        Self { buffer: Arc::clone(&self.buffer), span: Span::new(0, self.buffer.len()) }
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
        self.span.slice(&self.buffer)
    }
}
