//! Shared text: many views of one payload, one copy of its bytes.

use std::ops::Deref;
use std::sync::Arc;

use crate::span::Span;

/// A part of a text that is held once, however many point into it.
#[derive(Clone, Debug)]
pub struct Slice {
    buffer: Arc<String>,
    span: Span,
}

impl Slice {
    /// All of a text.
    pub fn new(mut text: String) -> Self {
        // A text that came out of its escapes was given room for them.
        text.shrink_to_fit();
        let span = Span::new(0, text.len());
        Self { buffer: Arc::new(text), span }
    }

    /// A part of this slice, the span being relative to it.
    #[must_use]
    pub fn subslice(&self, span: Span) -> Self {
        Self { buffer: Arc::clone(&self.buffer), span: span.shifted_by(self.span.start as usize) }
    }

    /// Where it begins in the text that is held.
    pub fn start(&self) -> usize {
        self.span.start as usize
    }

    /// Whether the text behind it is that of another.
    pub(crate) fn shares_buffer(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.buffer, &other.buffer)
    }

    /// Heap bytes of the text behind it.
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
