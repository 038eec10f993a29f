//! Chunks of any text joined are the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portion_text::chunk::{CHUNKERS, ChunkLimits, cut};
use portion_tokens::Tokenizer;

fuzz_target!(|input: (u8, u8, u8, &str)| {
    let (tokens, lines, bytes, text) = input;
    let limits = ChunkLimits {
        counter: Tokenizer::Len4.counter(),
        max_tokens: tokens.into(),
        max_lines: usize::from(lines % 16),
        max_bytes: usize::from(bytes) * 8,
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
});
