//! Published vocabularies. A text is split into words, and a word that is no token is merged from its bytes.
//!
//! Text is always ordinary text: `<|endoftext|>` in a payload is counted by its characters.

mod ranks;
mod words;

use std::cell::Cell;
use std::sync::LazyLock;

use ranks::{RankTable, mix};
use words::{WINDOW_BYTES, WordPattern};

/// A published byte-pair vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Bpe {
    O200k,
    Cl100k,
}

/// The vocabularies, built on first use and then shared for the life of the process.
static O200K: LazyLock<RankTable> = LazyLock::new(|| {
    RankTable::new(
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.lengths")),
        include_bytes!(concat!(env!("OUT_DIR"), "/o200k_base.tokens")),
    )
});
static CL100K: LazyLock<RankTable> = LazyLock::new(|| {
    RankTable::new(
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.lengths")),
        include_bytes!(concat!(env!("OUT_DIR"), "/cl100k_base.tokens")),
    )
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
        // A pattern that is known at compile time is compiled into the loop.
        match self {
            Self::O200k => each_word::<true>(&O200K, piece, visit),
            Self::Cl100k => each_word::<false>(&CL100K, piece, visit),
        }
    }

    #[cfg(test)]
    fn ranks(self) -> &'static RankTable {
        match self {
            Self::O200k => &O200K,
            Self::Cl100k => &CL100K,
        }
    }
}

/// Calls a function with the end and the tokens of each word of a piece.
#[inline]
fn each_word<const IS_O200K: bool>(ranks: &RankTable, piece: &str, mut visit: impl FnMut(usize, usize)) {
    let count = |word: &[u8]| match ranks.get(word) {
        Some(_) => 1,
        None => ranks::count_merged(word, ranks),
    };
    RecentWords::with(|recent| {
        let pattern = if IS_O200K { WordPattern::O200k } else { WordPattern::Cl100k };
        let vocabulary = u8::from(IS_O200K);
        let (bytes, mut start) = (piece.as_bytes(), 0);
        while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
            let short = rest.first_chunk().and_then(|near| Some((near, pattern.short_word_len(near)?)));
            let (length, tokens) = match short {
                Some((_, 1)) => (1, 1),
                // All numbers of up to three digits are tokens.
                Some((near, length @ 2..=3)) if near[0].is_ascii_digit() => (length, 1),
                Some((near, 2)) => (2, 1 + usize::from(ranks.pair(near[0], near[1]).is_none())),
                Some((near, length)) => (length, recent.recall(vocabulary, near, length, count)),
                None => {
                    let end = pattern.word_end(piece, start).unwrap_or(bytes.len());
                    let word = bytes.get(start..end).unwrap_or_default();
                    (word.len(), recent.recall_long(vocabulary, word, count))
                }
            };
            start += length;
            visit(start, tokens);
        }
    });
}

/// Words that a thread remembers: 64 KB.
const ENTRIES: usize = 4096;
/// The bits of an entry where the vocabulary and the count begin, behind the length of the word. Its bytes are above them.
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

    /// Returns the count of a word of at most 15 bytes by a vocabulary, 0 or 1, from memory or by `count`. `bytes` begin with
    /// the word.
    #[inline]
    fn recall(
        &self,
        vocabulary: u8,
        bytes: &[u8; WINDOW_BYTES],
        length: usize,
        count: impl FnOnce(&[u8]) -> usize,
    ) -> usize {
        let word = u128::from_le_bytes(*bytes) << (8 * (WINDOW_BYTES - length));
        let key = word | u128::from(vocabulary) << VOCABULARY_SHIFT | length as u128;
        let entry = &self.0[mix(key as u64, (key >> 64) as u64) as usize % ENTRIES];
        let found = entry.get();
        let is_known = (found ^ key) & !COUNT_MASK == 0;
        if is_known {
            return (found & COUNT_MASK) as usize >> COUNT_SHIFT;
        }
        let tokens = count(bytes.get(..length).unwrap_or_default());
        if tokens < MAX_COUNT {
            entry.set(key | (tokens as u128) << COUNT_SHIFT);
        }
        tokens
    }

    /// Returns the count of a word of any length.
    fn recall_long(&self, vocabulary: u8, word: &[u8], count: impl FnOnce(&[u8]) -> usize) -> usize {
        match word.len() {
            1 => 1,
            length @ 2..WINDOW_BYTES => {
                let mut bytes = [0; WINDOW_BYTES];
                bytes[..length].copy_from_slice(word);
                self.recall(vocabulary, &bytes, length, count)
            }
            _ => count(word),
        }
    }
}

/// The bits of a count.
const COUNT_MASK: u128 = (MAX_COUNT as u128 - 1) << COUNT_SHIFT;

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
