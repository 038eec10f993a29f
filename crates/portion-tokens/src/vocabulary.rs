//! Counters with a vocabulary: they count piece by piece and derive the tokens from the sum.
//!
//! The sum (a [`TokenTally`]) is exact, in integers, and the result never decreases as it grows. So
//! counting can stop at the piece that exceeds the limit, and all methods agree.

use super::bpe::Bpe;
use super::claude;
use super::pieces::{TORN_PIECE_TOKENS, TextPiece, find_boundary, pieces};
use super::{TokenCounter, thousandths};

/// Exact for models of the GPT-4o family and later.
pub(super) static O200K: VocabularyCounter =
    VocabularyCounter { name: "o200k", bpe: Bpe::O200k, pricing: Pricing::Exact };
/// Exact for models of the GPT-4 family.
pub(super) static CL100K: VocabularyCounter =
    VocabularyCounter { name: "cl100k", bpe: Bpe::Cl100k, pricing: Pricing::Exact };
/// Estimate for Claude.
pub(super) static CLAUDE: VocabularyCounter =
    VocabularyCounter { name: "claude", bpe: Bpe::O200k, pricing: Pricing::Claude };
/// `o200k` plus 10 %.
pub(super) static AUTO: VocabularyCounter =
    VocabularyCounter { name: "auto", bpe: Bpe::O200k, pricing: Pricing::PlusTenth };

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
    /// Plus 10 %, rounded up.
    PlusTenth,
    Claude,
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

/// The tally of a text, piece by piece.
#[derive(Clone, Copy, Default)]
struct RunningTally {
    sum: TokenTally,
    /// Tokens that tearing may have hidden and that are not in the sum yet, because no piece has more tokens than bytes.
    hidden: u64,
}

impl RunningTally {
    /// Adds a piece of `bytes` bytes, with hidden tokens up to its bytes.
    fn plus(self, piece: TokenTally, bytes: usize) -> Self {
        let shown = self.hidden.min((bytes as u64).saturating_sub(piece.tokens));
        let tokens = piece.tokens + shown;
        Self { sum: self.sum.plus(TokenTally { tokens, ..piece }), hidden: self.hidden - shown }
    }
}

impl Pricing {
    fn token_count(self, tally: TokenTally) -> usize {
        let exact = tally.tokens;
        let tokens = match self {
            Self::Exact => exact,
            Self::PlusTenth => exact + exact.div_ceil(10),
            Self::Claude => claude::estimate(exact, tally.pair_weight),
        };
        usize::try_from(tokens).unwrap_or(usize::MAX)
    }

    /// Returns the cost of a tally in thousandths of a token.
    fn cost(self, tally: TokenTally) -> u32 {
        thousandths(match self {
            Self::Exact => tally.tokens * 1000,
            Self::PlusTenth => tally.tokens * 1100,
            Self::Claude => claude::estimate(tally.tokens * 1000, tally.pair_weight * 1000),
        })
    }
}

impl VocabularyCounter {
    /// Tallies `text[start..end]`; no token may span `start`.
    fn tally(&self, text: &str, start: usize, end: usize) -> TokenTally {
        let tokens = self.bpe.count(&text[start..end]) as u64;
        TokenTally { tokens, pair_weight: self.pair_weight(text, start, end) }
    }

    /// Returns the weight of the pairs of bytes that end in `text[start..end]`.
    fn pair_weight(&self, text: &str, start: usize, end: usize) -> u64 {
        match self.pricing {
            Pricing::Exact | Pricing::PlusTenth => 0,
            Pricing::Claude => {
                let before = start.checked_sub(1).map_or(claude::LEADING_BYTE, |at| text.as_bytes()[at]);
                claude::sum_pair_weights(before, text.as_bytes().get(start..end).unwrap_or_default())
            }
        }
    }

    /// Adds a piece to the tally of the text before it.
    fn add_piece(&self, text: &str, before: RunningTally, piece: TextPiece) -> RunningTally {
        let hidden = if piece.is_torn { TORN_PIECE_TOKENS } else { 0 };
        let tally = self.tally(text, piece.start, piece.end);
        RunningTally { hidden: before.hidden + hidden, ..before }.plus(tally, piece.end - piece.start)
    }

    /// Returns the offset within `piece` where the limit is reached; `preceding` is the tally of the text before it.
    fn find_limit_offset(
        &self,
        text: &str,
        piece: TextPiece,
        preceding: RunningTally,
        limit: usize,
    ) -> usize {
        let costs = |from: usize, to: usize, before: TokenTally| before.plus(self.tally(text, from, to));
        let exceeds = |tally: TokenTally, to: usize| {
            self.pricing.token_count(preceding.plus(tally, to - piece.start).sum) > limit
        };
        // The tally of the piece up to `fits`.
        let mut before = TokenTally::default();
        let (mut fits, mut reach) = (piece.start, LIMIT_SEARCH_REACH);
        let mut fails = loop {
            let furthest = text.floor_char_boundary((fits + reach).min(piece.end));
            let boundary = find_boundary(text, fits + LIMIT_SEARCH_STEP, furthest);
            let to = boundary.unwrap_or(furthest);
            let tally = costs(fits, to, before);
            if exceeds(tally, to) {
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
            if exceeds(costs(start, middle, before), middle) {
                fails = middle;
            } else {
                fits = middle;
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
            pieces(text).fold(RunningTally::default(), |before, piece| self.add_piece(text, before, piece));
        self.pricing.token_count(all.sum)
    }

    fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        let mut all = RunningTally::default();
        for piece in pieces(text) {
            all = self.add_piece(text, all, piece);
            if self.pricing.token_count(all.sum) > limit {
                return None;
            }
        }
        Some(self.pricing.token_count(all.sum))
    }

    fn fits(&self, text: &str, limit: usize) -> bool {
        self.pricing.token_count(TokenTally::upper_bound(text.len())) <= limit
            || self.count_within(text, limit).is_some()
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        let mut all = RunningTally::default();
        for piece in pieces(text) {
            let with = self.add_piece(text, all, piece);
            if self.pricing.token_count(with.sum) > limit {
                return self.find_limit_offset(text, piece, all, limit);
            }
            all = with;
        }
        text.len()
    }

    fn part_costs(&self, text: &str, ends: &[usize]) -> Vec<u32> {
        let mut parts = vec![0_u64; ends.len()];
        let mut at = 0;
        for piece in pieces(text) {
            let mut add = |end: usize, tokens: usize| {
                while ends.get(at).is_some_and(|part| *part < piece.start + end) {
                    at += 1;
                }
                parts.get_mut(at).into_iter().for_each(|sum| *sum += tokens as u64);
            };
            self.bpe.each_word(&text[piece.start..piece.end], &mut add);
            if piece.is_torn {
                add(piece.end - piece.start, TORN_PIECE_TOKENS as usize);
            }
        }
        let mut start = 0;
        let cost = |(tokens, end): (u64, &usize)| {
            let start = std::mem::replace(&mut start, *end);
            self.pricing.cost(TokenTally { tokens, pair_weight: self.pair_weight(text, start, *end) })
        };
        parts.into_iter().zip(ends).map(cost).collect()
    }
}
