//! Estimates the size of very large texts for display, where a quick figure may be imprecise.

use std::fmt;

use super::TokenCounter;

/// Maximum bytes of a text that is counted whole.
const MAX_EXACT_BYTES: usize = 32 * 1024;
/// Number of samples of a longer text, evenly spread.
const SAMPLE_COUNT: usize = 32;
/// Bytes per sample.
const SAMPLE_BYTES: usize = 1024;

/// The size of a text in tokens, counted or estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSize {
    /// Tokens, by the given counter.
    pub tokens: usize,
    /// True if the whole text was counted, false if samples were.
    pub is_exact: bool,
}

/// Estimates the tokens of a text from 32 samples of 1 KB; texts up to 32 KB are counted.
///
/// For display only: replies are always counted.
pub fn estimate_size(counter: &dyn TokenCounter, text: &str) -> TextSize {
    if text.len() <= MAX_EXACT_BYTES {
        return TextSize { tokens: counter.count(text), is_exact: true };
    }
    let spacing = text.len() / SAMPLE_COUNT;
    let (mut tokens, mut bytes) = (0_u128, 0_u128);
    for start in (0..SAMPLE_COUNT).map(|i| i * spacing) {
        let start = text.floor_char_boundary(start);
        let sample = &text[start..text.floor_char_boundary(start + SAMPLE_BYTES)];
        tokens += counter.count(sample) as u128;
        bytes += sample.len() as u128;
    }
    let tokens = (tokens * text.len() as u128).div_ceil(bytes.max(1));
    TextSize { tokens: usize::try_from(tokens).unwrap_or(usize::MAX), is_exact: false }
}

impl fmt::Display for TextSize {
    /// Writes the figure, with `≈` before it if it is an estimate.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_exact { "" } else { "≈" }, self.tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::{TextSize, estimate_size};
    use crate::Tokenizer;

    #[test]
    fn small_texts_are_counted() {
        let counter = Tokenizer::O200k.counter();
        let text = "one two three\n".repeat(100);
        assert_eq!(estimate_size(counter, &text), TextSize { tokens: counter.count(&text), is_exact: true });
        assert_eq!(estimate_size(counter, "").to_string(), "0");
    }

    #[test]
    fn large_texts_are_off_by_a_few_percent_at_most() {
        let rows: Vec<_> = (0..40_000).map(|i| format!("{{\"id\":{i},\"name\":\"Room {i}\"}}")).collect();
        let rows = rows.join("\n");
        for tokenizer in Tokenizer::ALL {
            let counter = tokenizer.counter();
            let (exact, size) = (counter.count(&rows) as f64, estimate_size(counter, &rows));
            assert!(!size.is_exact && (size.tokens as f64 / exact - 1.0).abs() < 0.05, "{tokenizer}: {size}");
        }
    }

    #[test]
    fn any_text_has_a_size() {
        for text in ["👩‍👩‍👧".repeat(40_000), " ".repeat(100_000), "\0".repeat(33_000), "ä".repeat(16_385)]
        {
            assert!(estimate_size(Tokenizer::Auto.counter(), &text).tokens > 0);
        }
        assert_eq!(TextSize { tokens: 7, is_exact: false }.to_string(), "≈7");
    }
}
