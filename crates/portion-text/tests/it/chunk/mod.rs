//! Tests of chunk boundaries: examples of rules, and properties of any text.

use portion_text::chunk::{ChunkLimits, chunker_for, cut};
use portion_tokens::TokenCounter;

mod kinds;
mod languages;
mod laws;
mod markup;
mod outline;
mod records;
mod rules;
mod sentences;
mod traces;

/// Counts one token per so many characters, rounded up, so that limits are easy to verify by eye.
struct Chars(usize);

impl TokenCounter for Chars {
    fn name(&self) -> &'static str {
        "chars"
    }

    fn count(&self, text: &str) -> usize {
        text.chars().count().div_ceil(self.0)
    }

    fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        (self.prefix_within(text, limit) == text.len()).then(|| self.count(text))
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        text.char_indices().nth(limit.saturating_mul(self.0)).map_or(text.len(), |(at, _)| at)
    }
}

/// Returns all chunks of a text.
fn chunks<'a>(text: &'a str, limits: &ChunkLimits) -> Vec<&'a str> {
    let chunker = chunker_for(text);
    let mut from = 0;
    let mut chunks = Vec::new();
    while from < text.len() {
        let end = cut(text, from, text.len(), chunker, limits);
        chunks.push(&text[from..end]);
        from = end;
    }
    chunks
}
