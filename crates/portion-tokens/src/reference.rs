//! Reference counts for checking a counter: exact where the vocabulary is published, else the best
//! estimate.

use super::bpe::Bpe;
use super::claude;
use super::factor::Factor;

/// Counts a text as exactly as possible for its model family.
///
/// The text is encoded in one piece, in time proportional to its length. No reply waits for it, except
/// with counters by length, whose replies are checked against it before they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReferenceCounter {
    kind: ReferenceKind,
    factor: Factor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ReferenceKind {
    /// Published vocabulary: exact for its models.
    Exact(Bpe),
    /// Vocabulary not published: the fitted estimate without the margin of its counter.
    Claude,
}

impl ReferenceCounter {
    pub(super) fn new(truth: ReferenceKind, factor: Factor) -> Self {
        Self { kind: truth, factor }
    }

    /// Returns the name of the published vocabulary that it counts with; `None` for an estimate.
    pub fn vocabulary(self) -> Option<&'static str> {
        match self.kind {
            ReferenceKind::Exact(Bpe::O200k) => Some("o200k"),
            ReferenceKind::Exact(Bpe::Cl100k) => Some("cl100k"),
            ReferenceKind::Claude => None,
        }
    }

    /// Counts the tokens of the whole text.
    pub fn count(self, text: &str) -> usize {
        let tokens = match self.kind {
            ReferenceKind::Exact(bpe) => bpe.count(text) as u64,
            ReferenceKind::Claude => claude::estimate_without_margin(
                Bpe::O200k.count(text) as u64,
                claude::sum_pair_weights(claude::LEADING_BYTE, text.as_bytes()),
            ),
        };
        self.factor.scale(usize::try_from(tokens).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Factor, Tokenizer};

    /// Text with word boundaries, compared with one endless word, which counters tear.
    const PROSE: &str = "The quick brown fox jumps over the lazy dog. ";

    fn check(tokenizer: Tokenizer, text: &str, expect: usize) {
        assert_eq!(tokenizer.reference_counter(Factor::ONE).count(text), expect, "{tokenizer}");
    }

    #[test]
    fn texts_are_encoded_in_one_piece() {
        let wall = "=".repeat(20_000);
        let o200k = tiktoken::get_encoding("o200k_base").expect("built in").count(&wall);
        let counted = Tokenizer::O200k.counter().count(&wall);
        assert!(o200k < counted, "it is torn where it is counted: {counted}");
        for tokenizer in [Tokenizer::Auto, Tokenizer::O200k, Tokenizer::Chars4, Tokenizer::Len4] {
            check(tokenizer, &wall, o200k);
        }
        check(Tokenizer::Cl100k, "it's JOHN'S, we'LL", 8);
    }

    #[test]
    fn claude_counts_have_no_margin() {
        let text = PROSE.repeat(100);
        let margined = Tokenizer::Claude.counter().count(&text);
        let fitted = Tokenizer::Claude.reference_counter(Factor::ONE).count(&text);
        assert_eq!((fitted * 11).div_ceil(10).abs_diff(margined), 0, "{fitted} {margined}");
    }

    #[test]
    fn the_factor_scales_families_but_not_length_rules() {
        let factor = Factor::from_f64(2.0).expect("a factor");
        for tokenizer in Tokenizer::ALL {
            let [once, scaled] =
                [Factor::ONE, factor].map(|factor| tokenizer.reference_counter(factor).count(PROSE));
            let times = if tokenizer.is_length_based() { 1 } else { 2 };
            assert_eq!(scaled, times * once, "{tokenizer}");
        }
    }
}
