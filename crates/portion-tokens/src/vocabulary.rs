//! Counters with a vocabulary: they count piece by piece and derive the tokens from the sum.
//!
//! The sum (a [`TokenTally`]) is exact, in integers, and the result never decreases as it grows. So
//! counting can stop at the piece that exceeds the limit, and all methods agree.

use super::TokenCounter;
use super::bpe::Bpe;
use super::claude;
use super::pieces::{TORN_PIECE_TOKENS, TextPiece, find_boundary, pieces};

/// Exact for models of the GPT-4o family and later.
pub(super) static O200K: VocabularyCounter =
    VocabularyCounter { name: "o200k", bpe: Bpe::O200k, pricing: Pricing::Exact };
/// Exact for models of the GPT-4 family.
pub(super) static CL100K: VocabularyCounter =
    VocabularyCounter { name: "cl100k", bpe: Bpe::Cl100k, pricing: Pricing::Exact };
/// Estimate for Claude.
pub(super) static CLAUDE: VocabularyCounter =
    VocabularyCounter { name: "claude", bpe: Bpe::O200k, pricing: Pricing::Claude };
/// The larger of `o200k` and `claude`.
pub(super) static AUTO: VocabularyCounter =
    VocabularyCounter { name: "auto", bpe: Bpe::O200k, pricing: Pricing::Costlier };

/// Bytes between the offsets tried near the end of a budget.
const LIMIT_SEARCH_STEP: usize = 48;
/// Bytes in which the next of these offsets is expected.
const LIMIT_SEARCH_REACH: usize = 256;

/// A token counter over a byte-pair vocabulary.
pub(super) struct VocabularyCounter {
    name: &'static str,
    bpe: Bpe,
    pricing: Pricing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pricing {
    Exact,
    Claude,
    Costlier,
}

/// The values from which the tokens of a text are derived.
#[derive(Clone, Copy, Default)]
struct TokenTally {
    tokens: u64,
    pair_weight: u64,
}

impl TokenTally {
    fn plus(self, more: Self) -> Self {
        Self { tokens: self.tokens + more.tokens, pair_weight: self.pair_weight + more.pair_weight }
    }

    /// Returns an upper bound for any text of `bytes` bytes: every byte a token, every pair of the
    /// largest weight.
    fn upper_bound(bytes: usize) -> Self {
        let bytes = bytes as u64;
        Self { tokens: bytes, pair_weight: bytes * claude::MAX_PAIR_WEIGHT }
    }
}

impl Pricing {
    fn token_count(self, tally: TokenTally) -> usize {
        let exact = tally.tokens;
        let tokens = match self {
            Self::Exact => exact,
            Self::Claude => claude::estimate(exact, tally.pair_weight),
            Self::Costlier => exact.max(claude::estimate(exact, tally.pair_weight)),
        };
        usize::try_from(tokens).unwrap_or(usize::MAX)
    }
}

impl VocabularyCounter {
    /// Tallies `text[start..end]`; no token may span `start`.
    fn tally(&self, text: &str, start: usize, end: usize) -> TokenTally {
        let span = &text[start..end];
        let pairs = match self.pricing {
            Pricing::Exact => 0,
            Pricing::Claude | Pricing::Costlier => {
                let before = start.checked_sub(1).map_or(claude::LEADING_BYTE, |at| text.as_bytes()[at]);
                claude::sum_pair_weights(before, span.as_bytes())
            }
        };
        TokenTally { tokens: self.bpe.count(span) as u64, pair_weight: pairs }
    }

    /// Tallies a piece. A torn one gets the tokens that tearing may have hidden, but never more than its
    /// bytes.
    fn tally_piece(&self, text: &str, piece: TextPiece) -> TokenTally {
        let mut tally = self.tally(text, piece.start, piece.end);
        if piece.is_torn {
            tally.tokens = (tally.tokens + TORN_PIECE_TOKENS).min((piece.end - piece.start) as u64);
        }
        tally
    }

    /// Returns the offset within `piece` where the limit is reached; `before` is the tally of the
    /// preceding text.
    fn find_limit_offset(&self, text: &str, piece: TextPiece, mut before: TokenTally, limit: usize) -> usize {
        let costs = |from: usize, to: usize, before: TokenTally| before.plus(self.tally(text, from, to));
        let (mut fits, mut reach) = (piece.start, LIMIT_SEARCH_REACH);
        let mut fails = loop {
            let furthest = text.floor_char_boundary((fits + reach).min(piece.end));
            let boundary = find_boundary(text, fits + LIMIT_SEARCH_STEP, furthest);
            let to = boundary.unwrap_or(furthest);
            let tally = costs(fits, to, before);
            if self.pricing.token_count(tally) > limit {
                break to;
            }
            if to == piece.end {
                return to;
            }
            if boundary.is_some() {
                (fits, before, reach) = (to, tally, LIMIT_SEARCH_REACH);
            } else {
                // Counting a long word costs the square of its length, so longer prefixes are tried step by step.
                reach *= 2;
            }
        };
        let start = fits;
        loop {
            let middle = text.floor_char_boundary(fits.midpoint(fails));
            let middle = if middle > fits { middle } else { text.ceil_char_boundary(fits + 1) };
            if middle >= fails {
                return fits;
            }
            if self.pricing.token_count(costs(start, middle, before)) <= limit {
                fits = middle;
            } else {
                fails = middle;
            }
        }
    }
}

impl TokenCounter for VocabularyCounter {
    fn name(&self) -> &'static str {
        self.name
    }

    fn count(&self, text: &str) -> usize {
        let all =
            pieces(text).fold(TokenTally::default(), |sum, piece| sum.plus(self.tally_piece(text, piece)));
        self.pricing.token_count(all)
    }

    fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        let mut sum = TokenTally::default();
        for piece in pieces(text) {
            sum = sum.plus(self.tally_piece(text, piece));
            if self.pricing.token_count(sum) > limit {
                return None;
            }
        }
        Some(self.pricing.token_count(sum))
    }

    fn fits(&self, text: &str, limit: usize) -> bool {
        self.pricing.token_count(TokenTally::upper_bound(text.len())) <= limit
            || self.count_within(text, limit).is_some()
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        let mut sum = TokenTally::default();
        for piece in pieces(text) {
            let with = sum.plus(self.tally_piece(text, piece));
            if self.pricing.token_count(with) > limit {
                return self.find_limit_offset(text, piece, sum, limit);
            }
            sum = with;
        }
        text.len()
    }
}
