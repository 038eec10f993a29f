//! The counts of recent words of a thread: texts repeat their words, and the tables of a vocabulary exceed the caches of a
//! processor.

use std::cell::Cell;

use super::ranks::{mix, pack};

/// Words that a thread remembers: 64 KB.
const ENTRIES: usize = 4096;
/// Bytes of the longest word that fits in an entry.
const MAX_BYTES: usize = 14;
/// The bit of an entry where its count begins, above the word, its length and its vocabulary.
const COUNT_SHIFT: u32 = 120;

thread_local! {
    static ENTRIES_OF_THREAD: [Cell<u128>; ENTRIES] = const { [const { Cell::new(0) }; ENTRIES] };
}

/// Returns the count of a word by a vocabulary, below 16, from memory or by `count`.
pub(super) fn recall(vocabulary: u8, word: &[u8], count: impl FnOnce() -> usize) -> usize {
    if word.len() > MAX_BYTES {
        return count();
    }
    let head = word.len().min(8);
    let (low, high) = (pack(&word[..head]), pack(&word[head..]));
    let upper = high | (word.len() as u64) << 48 | u64::from(vocabulary) << 52;
    let key = u128::from(low) | u128::from(upper) << 64;
    ENTRIES_OF_THREAD.with(|entries| {
        let entry = &entries[mix(low, upper) as usize % ENTRIES];
        let found = entry.get();
        if found << 8 == key << 8 {
            return (found >> COUNT_SHIFT) as usize;
        }
        let tokens = count();
        entry.set(key | (tokens as u128) << COUNT_SHIFT);
        tokens
    })
}
