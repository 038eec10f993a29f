//! Measures how close estimated token counts are to exact counts.
//!
//! ```
//! use portion_tokens::accuracy::Accuracy;
//!
//! let mut accuracy = Accuracy::default();
//! accuracy.add(110, 100);
//! accuracy.add(200, 100);
//! assert_eq!(accuracy.accurate_share(), Some(0.5));
//! assert_eq!(accuracy.inaccurate_count, 1);
//! ```

use crate::bpe::Bpe;
use crate::claude;
use crate::factor::Factor;

/// Maximum error of an accurate estimate, as a share of the exact count.
pub const ACCURATE_MAX_ERROR: f64 = 0.2;
/// Minimum error of an inaccurate estimate.
pub const INACCURATE_MIN_ERROR: f64 = 0.3;
/// Minimum share of estimates that should be accurate.
pub const MIN_ACCURATE_SHARE: f64 = 0.85;
/// Difference in tokens that is no error. Estimates are rounded up: for `hello`, two tokens, one more
/// would be 50 %.
const ROUNDING_TOKENS: u64 = 2;

/// Accuracy of estimates, over the replies that were counted exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Number of replies that were counted exactly.
    pub sample_count: u64,
    /// Number of those whose [`relative_error`] was within 20 %.
    pub accurate_count: u64,
    /// Number of those whose [`relative_error`] was above 30 %.
    pub inaccurate_count: u64,
    /// Sum of the errors, each as a share of the exact count: positive where estimates are too high.
    pub error_sum: f64,
}

impl Accuracy {
    /// Adds a reply.
    pub fn add(&mut self, estimated: u64, actual: u64) {
        let error = relative_error(estimated, actual);
        self.sample_count += 1;
        self.accurate_count += u64::from(error.abs() <= ACCURATE_MAX_ERROR);
        self.inaccurate_count += u64::from(error.abs() > INACCURATE_MIN_ERROR);
        self.error_sum += error;
    }

    /// Adds the replies of another one.
    pub fn merge(&mut self, other: &Self) {
        self.sample_count += other.sample_count;
        self.accurate_count += other.accurate_count;
        self.inaccurate_count += other.inaccurate_count;
        self.error_sum += other.error_sum;
    }

    /// Returns the share of estimates within 20 %; `None` without samples.
    pub fn accurate_share(&self) -> Option<f64> {
        (self.sample_count > 0).then(|| self.accurate_count as f64 / self.sample_count as f64)
    }

    /// Returns the mean error as a share, negative if estimates are too low; `None` without samples.
    pub fn bias(&self) -> Option<f64> {
        (self.sample_count > 0).then(|| self.error_sum / self.sample_count as f64)
    }
}

/// Returns the error of an estimate as a share of the exact count, positive if too high; 0 for a
/// difference of one or two tokens.
pub fn relative_error(estimated: u64, actual: u64) -> f64 {
    if estimated.abs_diff(actual) <= ROUNDING_TOKENS {
        return 0.0;
    }
    // An exact count of 0 is treated as 1.
    (estimated as f64 - actual as f64) / actual.max(1) as f64
}

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
pub(crate) enum ReferenceKind {
    /// Published vocabulary: exact for its models.
    Exact(Bpe),
    /// Vocabulary not published: the fitted estimate without the margin of its counter.
    Claude,
}

impl ReferenceCounter {
    pub(crate) fn new(truth: ReferenceKind, factor: Factor) -> Self {
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
    use super::*;
    use crate::{Factor, Tokenizer};

    #[test]
    fn errors_are_relative_to_the_exact_count() {
        let check = |samples: &[(u64, u64)], near, far, bias| {
            let mut accuracy = Accuracy::default();
            samples.iter().for_each(|(estimated, actual)| accuracy.add(*estimated, *actual));
            assert_eq!(
                (accuracy.accurate_count, accuracy.inaccurate_count, accuracy.bias()),
                (near, far, bias),
                "{samples:?}"
            );
        };
        check(&[], 0, 0, None);
        check(&[(120, 100), (80, 100)], 2, 0, Some(0.0));
        check(&[(125, 100)], 0, 0, Some(0.25));
        check(&[(150, 100), (100, 100)], 1, 1, Some(0.25));
        check(&[(0, 0)], 1, 0, Some(0.0));
        check(&[(4, 0)], 0, 1, Some(4.0));
    }

    #[test]
    fn differences_of_two_tokens_are_no_error() {
        for (estimated, actual) in [(3, 2), (4, 2), (1, 2), (0, 2), (1, 0), (10, 8)] {
            assert_eq!((estimated, actual, relative_error(estimated, actual)), (estimated, actual, 0.0));
        }
        assert_eq!((relative_error(5, 2), relative_error(1, 4), relative_error(13, 10)), (1.5, -0.75, 0.3));
    }

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
