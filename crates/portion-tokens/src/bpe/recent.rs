//! The counts of recent words of a thread: texts repeat their words, and the tables of a vocabulary exceed the caches of a
//! processor.

use std::cell::Cell;
use std::ops::Range;

use super::ranks::mix;

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
pub(super) struct RecentWords([Cell<(u64, u64)>; ENTRIES]);

impl RecentWords {
    /// Calls a function with the words of this thread.
    pub(super) fn with<T>(use_them: impl FnOnce(&Self) -> T) -> T {
        WORDS_OF_THREAD.with(use_them)
    }

    /// Returns the count of a word by a vocabulary, below 16, from memory or by `count`.
    #[inline]
    pub(super) fn recall(
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
