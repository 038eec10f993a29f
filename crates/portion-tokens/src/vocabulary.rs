//! Counters with a vocabulary: they count piece by piece and derive the tokens from the sum.
//!
//! The sum (a [`TokenTally`]) is exact, in integers, and the result never decreases as it grows. So
//! counting can stop at the piece that exceeds the limit, and all methods agree.

use super::bpe::Bpe;
use super::{TokenCounter, claude, thousandths};

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
        // The current part, its end, and the tokens of it.
        let (mut at, mut part_end, mut sum) = (0, ends.first().copied(), 0);
        for piece in pieces(text) {
            let mut add = |end: usize, tokens: usize| {
                while part_end.is_some_and(|part| part < piece.start + end) {
                    parts[at] = std::mem::take(&mut sum);
                    at += 1;
                    part_end = ends.get(at).copied();
                }
                sum += tokens as u64;
            };
            self.bpe.each_word(&text[piece.start..piece.end], &mut add);
            if piece.is_torn {
                add(piece.end - piece.start, TORN_PIECE_TOKENS as usize);
            }
        }
        parts.get_mut(at).into_iter().for_each(|part| *part = sum);
        let mut start = 0;
        let cost = |(tokens, end): (u64, &usize)| {
            let start = std::mem::replace(&mut start, *end);
            self.pricing.cost(TokenTally { tokens, pair_weight: self.pair_weight(text, start, *end) })
        };
        parts.into_iter().zip(ends).map(cost).collect()
    }
}

/// Minimum bytes of a piece, except the last one: small enough to stop soon after the budget is exceeded,
/// large enough that cutting costs almost nothing.
pub(crate) const MIN_PIECE_BYTES: usize = 1024;

/// Maximum bytes of a piece.
pub(crate) const MAX_PIECE_BYTES: usize = 4096;

/// Tokens added to the count of a torn piece.
///
/// Two halves of a word usually have more tokens than the word, but can have fewer: by 1 for some 2 % of
/// 600,000 random words torn anywhere, by 2 for 0.006 %, never by more.
pub(crate) const TORN_PIECE_TOKENS: u64 = 2;

/// One piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextPiece {
    /// Start, in bytes from the start of the text.
    pub(crate) start: usize,
    /// End, in bytes from the start of the text.
    pub(crate) end: usize,
    /// True if it was cut where a token may span.
    pub(crate) is_torn: bool,
}

/// Yields the pieces of a text, in order; joined they are the text.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = TextPiece> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let piece = (start < text.len()).then(|| next_piece(text, start))?;
        start = piece.end;
        Some(piece)
    })
}

fn next_piece(text: &str, start: usize) -> TextPiece {
    let furthest = text.floor_char_boundary(start + MAX_PIECE_BYTES);
    match find_boundary(text, start + MIN_PIECE_BYTES, furthest) {
        Some(end) => TextPiece { start, end, is_torn: false },
        None => TextPiece { start, end: furthest, is_torn: furthest < text.len() },
    }
}

/// Returns the first offset from `min` to `max` (bytes, inclusive) where no token spans.
pub(crate) fn find_boundary(text: &str, min: usize, max: usize) -> Option<usize> {
    (min..=max.min(text.len().saturating_sub(1))).find(|at| is_token_boundary(text, *at))
}

/// Returns true if both patterns split at `at` every text that has the same bytes before it and the same
/// character after it.
///
/// Each arm follows from the patterns (words: `[^\r\n\p{L}\p{N}]?\p{L}+` with a contraction before or
/// after; `\p{N}{1,3}`; ` ?[^\s\p{L}\p{N}]+[\r\n/]*`; `\s*[\r\n]+`; `\s+(?!\S)`; `\s+`).
fn is_token_boundary(text: &str, at: usize) -> bool {
    let Some((head, tail)) = text.split_at_checked(at) else { return false };
    let (Some(before), Some(after)) = (head.chars().next_back(), tail.chars().next()) else { return false };
    match (before, after) {
        // A line feed ends a word; only a slash may follow within the same punctuation.
        ('\n', _) => !after.is_whitespace() && after != '/',
        (_, '\r' | '\n' | '\'') => false,
        // Blanks can only begin a word.
        (_, _) if after.is_whitespace() => !before.is_whitespace(),
        // Numbers, letters and punctuation never share a word, except one punctuation character before
        // letters.
        ('0'..='9', _) => after.is_ascii() && !after.is_ascii_digit(),
        ('a'..='z' | 'A'..='Z', _) => after.is_ascii() && !after.is_ascii_alphabetic(),
        _ => is_east_asian_letter(before) && is_east_asian_punctuation(after),
    }
}

/// Returns true for caseless letters of scripts that are written without spaces between words.
fn is_east_asian_letter(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// Returns true for the punctuation that most often follows them.
fn is_east_asian_punctuation(c: char) -> bool {
    matches!(c, '、' | '。' | '，' | '！' | '？' | '：' | '；' | '「' | '」' | '『' | '』' | '（' | '）')
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::{MAX_PIECE_BYTES, MIN_PIECE_BYTES, is_token_boundary, pieces};
    use crate::bpe::Bpe;

    /// A character of each kind that the patterns distinguish, and words that they contain.
    const KINDS: [&str; 50] = [
        "a", "b", "z", "A", "Z", "0", "7", "42", "'", "'s", "'LL", "'ſ", "/", "\n", "\r", "\r\n", " ", "  ",
        "\t", "\u{b}", "\u{85}", "\u{a0}", "\u{3000}", "\0", ".", ",", ":", "\"", "{", "}", "_", "-", "\\",
        "é", "É", "ǅ", "ʰ", "ß", "½", "٣", "\u{301}", "\u{200d}", "👍🏽", "漢", "ー", "あ", "한", "、", "。",
        "ไ",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn cutting_at_boundaries_keeps_the_count(kinds in vec(select(KINDS.as_slice()), 0..60)) {
            let text = kinds.concat();
            for bpe in [Bpe::O200k, Bpe::Cl100k] {
                let whole = bpe.count(&text);
                for at in (0..text.len()).filter(|at| is_token_boundary(&text, *at)) {
                    let (head, tail) = text.split_at(at);
                    prop_assert_eq!(bpe.count(head) + bpe.count(tail), whole, "{:?} | {:?}", head, tail);
                }
            }
        }
    }

    /// `|` marks every offset where a cut is safe.
    fn check(marked: &str) {
        let text = marked.replace('|', "");
        let places = (0..=text.len()).filter(|at| is_token_boundary(&text, *at)).rev();
        let mut found = text.clone();
        places.for_each(|at| found.insert(at, '|'));
        assert_eq!(found, marked);
    }

    #[test]
    fn exactly_the_safe_boundaries_are_found() {
        check("");
        check("word");
        check("two| words|,| three");
        check("it's| John'll");
        check("id|42|abc|-7|.5");
        check("\"k|\":1234|,\"v|\":null|}");
        check("a\n|b\n\n");
        check("}\n/path|:x\n|{");
        check("a| \n  b");
        check("!!|  !");
        check("naïve| été,| où");
        check("今日は|、晴れ|。| 東京|\u{3000}x");
        check("👍🏽👍🏽");
        check("e\u{301}a");
    }

    #[test]
    fn pieces_join_to_the_text_and_keep_their_sizes() {
        let texts = [
            "{\"id\":1,\"name\":\"Ada\"},".repeat(2_000),
            " ".repeat(50_000),
            "👩‍👩‍👧".repeat(9_000),
            "a".repeat(MAX_PIECE_BYTES),
            "a".repeat(MAX_PIECE_BYTES + 1),
            String::new(),
        ];
        for text in &texts {
            let mut at = 0;
            for piece in pieces(text) {
                let size = piece.end - piece.start;
                assert_eq!(piece.start, at);
                assert!(size <= MAX_PIECE_BYTES && (size >= MIN_PIECE_BYTES || piece.end == text.len()));
                assert!(text.is_char_boundary(piece.end));
                at = piece.end;
            }
            assert_eq!(at, text.len());
        }
        assert!(pieces(&texts[0]).all(|p| !p.is_torn));
        assert_eq!(pieces(&texts[3]).filter(|p| p.is_torn).count(), 0);
        assert_eq!(pieces(&texts[4]).filter(|p| p.is_torn).count(), 1);
    }
}
