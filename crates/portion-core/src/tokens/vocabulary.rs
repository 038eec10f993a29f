//! Counters over a vocabulary: pieces are counted one by one, and the sum is priced.
//!
//! What is summed (a [`Tally`]) adds up exactly, in integers, and each price only grows with it. Hence
//! counting may stop at the piece that passes the limit, and the answers of all methods agree.

use super::TokenCounter;
use super::bpe::Bpe;
use super::claude;
use super::pieces::{Piece, TEAR, pieces, seam};

/// Exact for models of the GPT-4o family and later.
pub(super) static O200K: Vocabulary = Vocabulary { name: "o200k", bpe: Bpe::O200k, price: Price::Exact };
/// Exact for models of the GPT-4 family.
pub(super) static CL100K: Vocabulary = Vocabulary { name: "cl100k", bpe: Bpe::Cl100k, price: Price::Exact };
/// Estimated for Claude.
pub(super) static CLAUDE: Vocabulary = Vocabulary { name: "claude", bpe: Bpe::O200k, price: Price::Claude };
/// Never below `o200k`, never below `claude`.
pub(super) static AUTO: Vocabulary = Vocabulary { name: "auto", bpe: Bpe::O200k, price: Price::Costlier };

/// Bytes between the places tried while a budget's edge is approached.
const STEP: usize = 48;

/// A token counter over a byte-pair vocabulary.
pub(super) struct Vocabulary {
    name: &'static str,
    bpe: Bpe,
    price: Price,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Price {
    Exact,
    Claude,
    Costlier,
}

/// What the price of a text depends on.
#[derive(Clone, Copy, Default)]
struct Tally {
    tokens: u64,
    pairs: u64,
}

impl Tally {
    fn and(self, more: Self) -> Self {
        Self { tokens: self.tokens + more.tokens, pairs: self.pairs + more.pairs }
    }

    /// The most that any text of so many bytes comes to: every byte a token, every pair the dearest.
    fn at_most(bytes: usize) -> Self {
        let bytes = bytes as u64;
        Self { tokens: bytes, pairs: bytes * claude::DEAREST_PAIR }
    }
}

impl Price {
    fn of(self, tally: Tally) -> usize {
        let exact = tally.tokens;
        let tokens = match self {
            Self::Exact => exact,
            Self::Claude => claude::estimate(exact, tally.pairs),
            Self::Costlier => exact.max(claude::estimate(exact, tally.pairs)),
        };
        usize::try_from(tokens).unwrap_or(usize::MAX)
    }
}

impl Vocabulary {
    /// Tallies `text[start..end]`, which no token enters from before `start`.
    fn tally(&self, text: &str, start: usize, end: usize) -> Tally {
        let span = &text[start..end];
        let pairs = match self.price {
            Price::Exact => 0,
            Price::Claude | Price::Costlier => {
                let before = start.checked_sub(1).map_or(claude::BEFORE_TEXT, |at| text.as_bytes()[at]);
                claude::pairs(before, span.as_bytes())
            }
        };
        Tally { tokens: self.bpe.count(span) as u64, pairs }
    }

    /// Tallies a piece, a torn one with what tearing it may have hidden, yet never above its bytes.
    fn tally_piece(&self, text: &str, piece: Piece) -> Tally {
        let mut tally = self.tally(text, piece.start, piece.end);
        if piece.torn {
            tally.tokens = (tally.tokens + TEAR).min((piece.end - piece.start) as u64);
        }
        tally
    }

    /// Where within `piece` the limit is reached, given what the text before it comes to.
    fn edge(&self, text: &str, piece: Piece, mut before: Tally, limit: usize) -> usize {
        let costs = |from: usize, to: usize, before: Tally| before.and(self.tally(text, from, to));
        let mut fits = piece.start;
        let mut fails = loop {
            let to = seam(text, fits + STEP, piece.end).unwrap_or(piece.end);
            let tally = costs(fits, to, before);
            if self.price.of(tally) > limit {
                break to;
            }
            (fits, before) = (to, tally);
            if fits == piece.end {
                return fits;
            }
        };
        let start = fits;
        loop {
            let middle = text.floor_char_boundary(fits.midpoint(fails));
            let middle = if middle > fits { middle } else { text.ceil_char_boundary(fits + 1) };
            if middle >= fails {
                return fits;
            }
            if self.price.of(costs(start, middle, before)) <= limit {
                fits = middle;
            } else {
                fails = middle;
            }
        }
    }
}

impl TokenCounter for Vocabulary {
    fn name(&self) -> &'static str {
        self.name
    }

    fn count(&self, text: &str) -> usize {
        let all = pieces(text).fold(Tally::default(), |sum, piece| sum.and(self.tally_piece(text, piece)));
        self.price.of(all)
    }

    fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        let mut sum = Tally::default();
        for piece in pieces(text) {
            sum = sum.and(self.tally_piece(text, piece));
            if self.price.of(sum) > limit {
                return None;
            }
        }
        Some(self.price.of(sum))
    }

    fn fits(&self, text: &str, limit: usize) -> bool {
        self.price.of(Tally::at_most(text.len())) <= limit || self.count_within(text, limit).is_some()
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        let mut sum = Tally::default();
        for piece in pieces(text) {
            let with = sum.and(self.tally_piece(text, piece));
            if self.price.of(with) > limit {
                return self.edge(text, piece, sum, limit);
            }
            sum = with;
        }
        text.len()
    }
}
