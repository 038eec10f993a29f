//! Shared text: many views of one payload, one copy of its bytes.

use std::ops::Deref;
use std::sync::Arc;

use crate::span::Span;

/// A part of a text that is held once, however many point into it.
#[derive(Clone, Debug)]
pub struct Slice {
    whole: Arc<String>,
    span: Span,
}

impl Slice {
    /// All of a text.
    pub fn new(mut text: String) -> Self {
        // A text that came out of its escapes was given room for them.
        text.shrink_to_fit();
        let span = Span::new(0, text.len());
        Self { whole: Arc::new(text), span }
    }

    /// A part of this slice, the span being relative to it.
    #[must_use]
    pub fn part(&self, span: Span) -> Self {
        Self { whole: Arc::clone(&self.whole), span: span.shifted(self.span.start as usize) }
    }

    /// Where it begins in the text that is held.
    pub fn start(&self) -> usize {
        self.span.start as usize
    }

    /// Whether the text behind it is that of another.
    pub(crate) fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.whole, &other.whole)
    }

    /// Heap bytes of the text behind it.
    pub fn heap_bytes(&self) -> usize {
        self.whole.capacity()
    }
}

impl Deref for Slice {
    type Target = str;

    fn deref(&self) -> &str {
        self.span.of(&self.whole)
    }
}
