//! Published vocabularies. A text is split into words, and a word that is no token is merged from its bytes.
//!
//! Text is always ordinary text: `<|endoftext|>` in a payload is counted by its characters.

mod ranks;
mod words;

use std::cell::Cell;
use std::ops::Range;
use std::sync::LazyLock;

use ranks::{RankTable, mix};
use words::WordPattern;

/// A published byte-pair vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Bpe {
    O200k,
    Cl100k,
}

/// A vocabulary, built on first use and then shared for the life of the process.
struct Vocabulary {
    pattern: WordPattern,
    ranks: RankTable,
}

static O200K: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
    pattern: WordPattern::O200k,
    ranks: RankTable::new(
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.lengths")),
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.tokens")),
    ),
});

static CL100K: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
    pattern: WordPattern::Cl100k,
    ranks: RankTable::new(
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.lengths")),
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.tokens")),
    ),
});

impl Bpe {
    /// Counts the tokens of one piece of text.
    pub(super) fn count(self, piece: &str) -> usize {
        let mut total = 0;
        self.each_word(piece, |_, tokens| total += tokens);
        total
    }

    /// Calls a function with the end and the tokens of each word of a piece.
    #[inline]
    pub(super) fn each_word(self, piece: &str, visit: impl FnMut(usize, usize)) {
        let vocabulary = self.vocabulary();
        // A pattern that is known at compile time is compiled into the loop.
        match vocabulary.pattern {
            WordPattern::O200k => self.each_word_of(WordPattern::O200k, &vocabulary.ranks, piece, visit),
            WordPattern::Cl100k => self.each_word_of(WordPattern::Cl100k, &vocabulary.ranks, piece, visit),
        }
    }

    #[inline]
    fn each_word_of(
        self,
        pattern: WordPattern,
        ranks: &RankTable,
        piece: &str,
        mut visit: impl FnMut(usize, usize),
    ) {
        let count = |word: &[u8]| match ranks.get(word) {
            Some(_) => 1,
            None => ranks::count_merged(word, ranks),
        };
        RecentWords::with(|recent| {
            let mut start = 0;
            while let Some(end) = pattern.word_end(piece, start) {
                let (first, last) = (piece.as_bytes()[start], piece.as_bytes()[end - 1]);
                let tokens = match end - start {
                    1 => 1,
                    // All numbers of up to three digits are tokens.
                    2 | 3 if first.is_ascii_digit() && last.is_ascii_digit() => 1,
                    _ => recent.recall(self as u8, piece.as_bytes(), start..end, count),
                };
                visit(end, tokens);
                start = end;
            }
        });
    }

    fn vocabulary(self) -> &'static Vocabulary {
        match self {
            Self::O200k => &O200K,
            Self::Cl100k => &CL100K,
        }
    }
}

/// Words that a thread remembers: 64 KB.
const ENTRIES: usize = 4096;
/// Bytes of the longest word that fits in an entry.
const MAX_BYTES: usize = 14;
/// The bit of the upper half of an entry where its count begins, above bytes 9 to 14 of the word, its length and its
/// vocabulary.
const COUNT_SHIFT: u32 = 56;
/// The bits of each number of bytes.
const MASKS: [u64; 9] =
    [0, 0xFF, 0xFFFF, 0xFF_FFFF, 0xFFFF_FFFF, u64::MAX >> 24, u64::MAX >> 16, u64::MAX >> 8, u64::MAX];

thread_local! {
    static WORDS_OF_THREAD: RecentWords = const { RecentWords([const { Cell::new((0, 0)) }; ENTRIES]) };
}

/// The counts of words. Each word has one place, from which a later word drives it.
struct RecentWords([Cell<(u64, u64)>; ENTRIES]);

impl RecentWords {
    /// Calls a function with the words of this thread.
    fn with<T>(use_them: impl FnOnce(&Self) -> T) -> T {
        WORDS_OF_THREAD.with(use_them)
    }

    /// Returns the count of a word by a vocabulary, below 16, from memory or by `count`.
    #[inline]
    fn recall(
        &self,
        vocabulary: u8,
        text: &[u8],
        word: Range<usize>,
        count: impl FnOnce(&[u8]) -> usize,
    ) -> usize {
        if word.len() > MAX_BYTES {
            return count(&text[word]);
        }
        let (low, high) = halves(text, &word);
        let upper = high | (word.len() as u64) << 48 | u64::from(vocabulary) << 52;
        let entry = &self.0[mix(low, upper) as usize % ENTRIES];
        let (found_low, found_upper) = entry.get();
        if found_low == low && found_upper & MASKS[7] == upper {
            return (found_upper >> COUNT_SHIFT) as usize;
        }
        let tokens = count(&text[word]);
        entry.set((low, upper | (tokens as u64) << COUNT_SHIFT));
        tokens
    }
}

/// Returns the first eight bytes of a word and the next ones, as integers.
#[inline]
fn halves(text: &[u8], word: &Range<usize>) -> (u64, u64) {
    let masked = |bytes: u128| {
        let (low, high) = (bytes as u64, (bytes >> 64) as u64);
        (low & MASKS[word.len().min(8)], high & MASKS[word.len().saturating_sub(8)])
    };
    if let Some(bytes) = text[word.start..].first_chunk() {
        return masked(u128::from_le_bytes(*bytes));
    }
    let mut bytes = [0; 16];
    bytes[..word.len()].copy_from_slice(&text[word.clone()]);
    masked(u128::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::Bpe;

    fn check(text: &str, o200k: usize, cl100k: usize) {
        assert_eq!(Bpe::O200k.count(text), o200k, "o200k of {text:?}");
        assert_eq!(Bpe::Cl100k.count(text), cl100k, "cl100k of {text:?}");
    }

    /// The expected counts are from `tiktoken` 0.14 for Python.
    #[test]
    fn counts_match_the_published_vocabularies() {
        check("", 0, 0);
        check("hello world", 2, 2);
        check("The quick brown fox jumps over the lazy dog.", 10, 10);
        check("{\"id\":12345,\"name\":\"Ada\"}", 10, 10);
        check("it's JOHN'S, we'LL", 7, 8);
        check("naïve café Ωmega", 6, 7);
        check("今日は、晴れ。東京タワー", 9, 15);
        check("👩‍👩‍👧 👍🏽", 11, 18);
        check("a\n   \n\n  b\t\tc  ", 8, 8);
        check("/*\n///\n*/", 4, 3);
        check("aGVsbG8gd29ybGQgMTIzNDU2Nzg5MA==", 20, 23);
        check("2024-11-21T09:54:03.120Z ERROR [db-7] timeout=30s", 25, 25);
        check("\u{a0}\u{a0}x \u{3000}y", 6, 6);
        check("\0\u{7}\u{1b}[31m", 6, 5);
        check("a'ſ'LLa\n", 6, 8);
        check("e\u{301}cole \u{645}\u{631}\u{62d}\u{628}\u{627}", 5, 8);
    }

    #[test]
    fn special_tokens_are_ordinary_text() {
        check("<|endoftext|>", 7, 7);
        assert!(Bpe::O200k.count("<|endofprompt|>") > 1);
    }
}
