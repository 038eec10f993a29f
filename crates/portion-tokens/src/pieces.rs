//! Cuts text where no token spans, so that the counts of the pieces add up to the count of the whole.
//!
//! Both vocabularies first split text into words by a pattern, and no token crosses the edge of a word.
//! [`is_token_boundary`] recognizes edges that the pattern finds in any context, so a piece can be
//! counted like a whole text. If a text has no such edge within [`MAX_PIECE_BYTES`] bytes (many spaces,
//! emoji or one endless word), it is torn between characters: this bounds the cost of hostile text, and
//! [`TORN_PIECE_TOKENS`] makes the sum err upwards.
//!
//! The end of a piece depends only on the bytes up to it and the character after it. So a prefix is cut
//! at the same places as the whole text, on which the search for the end of a budget relies.

/// Minimum bytes of a piece, except the last one: small enough to stop soon after the budget is exceeded,
/// large enough that cutting costs almost nothing.
pub(super) const MIN_PIECE_BYTES: usize = 1024;

/// Maximum bytes of a piece.
pub(super) const MAX_PIECE_BYTES: usize = 4096;

/// Tokens added to the count of a torn piece.
///
/// Two halves of a word usually have more tokens than the word, but can have fewer: by 1 for some 2 % of
/// 600,000 random words torn anywhere, by 2 for 0.006 %, never by more.
pub(super) const TORN_PIECE_TOKENS: u64 = 2;

/// One piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextPiece {
    /// Start, in bytes from the start of the text.
    pub(super) start: usize,
    /// End, in bytes from the start of the text.
    pub(super) end: usize,
    /// True if it was cut where a token may span.
    pub(super) is_torn: bool,
}

/// Yields the pieces of a text, in order; joined they are the text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = TextPiece> + '_ {
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

/// Returns the first offset from `least` to `most` (bytes, inclusive) where no token spans.
pub(super) fn find_boundary(text: &str, least: usize, most: usize) -> Option<usize> {
    (least..=most.min(text.len().saturating_sub(1))).find(|at| is_token_boundary(text, *at))
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

    use super::super::bpe::Bpe;
    use super::{MAX_PIECE_BYTES, MIN_PIECE_BYTES, is_token_boundary, pieces};

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
