//! Fuzz target: chunks of any text joined are the text.

use portion_text::chunk::{CHUNKERS, ChunkLimits, cut};
use portion_tokens::Tokenizer;

/// Input: a byte for each of three limits, then the text.
pub(crate) fn check(input: &[u8]) {
    let Some(([tokens, lines, bytes], text)) = input.split_first_chunk() else { return };
    let Ok(text) = str::from_utf8(text) else { return };
    let limits = ChunkLimits {
        counter: Tokenizer::Len4.counter(),
        max_tokens: usize::from(*tokens),
        max_lines: usize::from(lines % 16),
        max_bytes: usize::from(*bytes) * 8,
    };
    for chunker in CHUNKERS {
        let mut at = 0;
        while at < text.len() {
            let end = cut(text, at, text.len(), *chunker, &limits);
            assert!(end > at && text.is_char_boundary(end));
            let fits = limits.counter.count(&text[at..end]) <= limits.max_tokens;
            assert!(fits || text[at..end].chars().count() == 1);
            at = end;
        }
    }
}
