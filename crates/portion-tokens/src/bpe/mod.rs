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
            let (bytes, mut start) = (piece.as_bytes(), 0);
            while let Some(end) = pattern.word_end(piece, start) {
                let tokens = match bytes.get(start..end) {
                    Some([_]) => 1,
                    // All numbers of up to three digits are tokens.
                    Some([b'0'..=b'9', .., b'0'..=b'9']) if end - start <= 3 => 1,
                    Some([first, second]) => 1 + usize::from(ranks.pair(*first, *second).is_none()),
                    _ => recent.recall(self as u8, bytes, start..end, count),
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
/// Bytes of the longest word that fits in an entry, above a byte with its length, its vocabulary and its count.
const MAX_BYTES: usize = 15;
/// The bit of an entry where the vocabulary begins, and the one where the count does.
const VOCABULARY_SHIFT: u32 = 4;
const COUNT_SHIFT: u32 = 5;
/// Counts that do not fit in an entry.
const MAX_COUNT: usize = 8;

thread_local! {
    static WORDS_OF_THREAD: RecentWords = const { RecentWords([const { Cell::new(0) }; ENTRIES]) };
}

/// The counts of words. Each word has one place, from which a later word drives it.
struct RecentWords([Cell<u128>; ENTRIES]);

impl RecentWords {
    /// Calls a function with the words of this thread.
    fn with<T>(use_them: impl FnOnce(&Self) -> T) -> T {
        WORDS_OF_THREAD.with(use_them)
    }

    /// Returns the count of a word by a vocabulary, 0 or 1, from memory or by `count`.
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
        let bytes = text[word.start..].first_chunk().map_or_else(|| padded(&text[word.clone()]), |all| *all);
        let bytes = u128::from_le_bytes(bytes) << (8 * (16 - word.len()));
        let key = bytes | u128::from(vocabulary) << VOCABULARY_SHIFT | word.len() as u128;
        let entry = &self.0[mix(key as u64, (key >> 64) as u64) as usize % ENTRIES];
        let found = entry.get();
        let is_known = (found ^ key) & !COUNT_MASK == 0;
        if is_known {
            return (found & COUNT_MASK) as usize >> COUNT_SHIFT;
        }
        let tokens = count(&text[word]);
        if tokens < MAX_COUNT {
            entry.set(key | (tokens as u128) << COUNT_SHIFT);
        }
        tokens
    }
}

/// The bits of a count.
const COUNT_MASK: u128 = (MAX_COUNT as u128 - 1) << COUNT_SHIFT;

/// Returns a short word with zeros behind it.
#[cold]
fn padded(word: &[u8]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..word.len()].copy_from_slice(word);
    bytes
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
