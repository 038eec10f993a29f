//! The tokens of a vocabulary by their bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of a slot for long tokens that hold the rank; the others hold bits of the hash.
const RANK_BITS: u32 = 18;
const RANK_MASK: u32 = (1 << RANK_BITS) - 1;
const EMPTY: u32 = u32::MAX;
const EMPTY_KEY: u64 = 0;
/// Bytes of a long token: too many for a key.
const LONG_BYTES: usize = 8;

/// The rank of each token: the number of its merge, the lowest first.
///
/// It is built in a few milliseconds and takes 5 MB: the bytes of tokens stay in the program. Both hash tables have open
/// addressing with linear probing.
pub(super) struct RankTable {
    /// The bytes of all tokens, in the order of ranks.
    tokens: &'static [u8],
    /// End of each token in `tokens`, by rank.
    ends: Box<[u32]>,
    /// Ranks of tokens of two bytes, or [`EMPTY`]: half of all lookups.
    pairs: Box<[u32]>,
    /// Tokens of three to seven bytes as keys, or [`EMPTY_KEY`].
    keys: Box<[u64]>,
    /// The ranks of the keys.
    key_ranks: Box<[u32]>,
    /// Ranks of longer tokens with the upper bits of their hashes, which tell other tokens apart, almost always without a
    /// look at their bytes.
    slots: Box<[u32]>,
}

impl RankTable {
    /// Builds the table from the lengths and the bytes of all tokens, in the order of ranks.
    pub(super) fn new(lengths: &[u8], tokens: &'static [u8]) -> Self {
        debug_assert!(lengths.len() < RANK_MASK as usize, "a rank has {RANK_BITS} bits");
        let capacity = (lengths.len() + 1).next_power_of_two();
        let mut table = Self {
            tokens,
            ends: Box::default(),
            pairs: vec![EMPTY; 1 << 16].into_boxed_slice(),
            keys: vec![EMPTY_KEY; capacity].into_boxed_slice(),
            key_ranks: vec![EMPTY; capacity].into_boxed_slice(),
            slots: vec![EMPTY; capacity].into_boxed_slice(),
        };
        let mut end = 0;
        table.ends = (0_u32..)
            .zip(lengths)
            .map(|(rank, length)| {
                let start = end;
                end += usize::from(*length);
                table.insert(&tokens[start..end], rank);
                end as u32
            })
            .collect();
        table
    }

    fn insert(&mut self, token: &[u8], rank: u32) {
        match token {
            // A single byte is a token without lookup.
            [] | [_] => {}
            [first, second] => self.pairs[pair_index(*first, *second)] = rank,
            _ if token.len() < LONG_BYTES => {
                let key = key(token);
                let mut index = self.key_index(key);
                while self.keys[index] != EMPTY_KEY {
                    index = self.after(index);
                }
                (self.keys[index], self.key_ranks[index]) = (key, rank);
            }
            _ => {
                let (mut index, tag) = self.slot_of(token);
                while self.slots[index] != EMPTY {
                    index = self.after(index);
                }
                self.slots[index] = tag | rank;
            }
        }
    }

    /// Returns the rank of two bytes that are a token.
    pub(super) fn pair(&self, first: u8, second: u8) -> Option<u32> {
        Some(self.pairs[pair_index(first, second)]).filter(|rank| *rank != EMPTY)
    }

    /// Returns the rank of at least two bytes that are a token.
    pub(super) fn get(&self, bytes: &[u8]) -> Option<u32> {
        match bytes {
            [first, second] => self.pair(*first, *second),
            _ if bytes.len() < LONG_BYTES => self.get_short(key(bytes)),
            _ => self.get_long(bytes),
        }
    }

    fn get_short(&self, key: u64) -> Option<u32> {
        let mut index = self.key_index(key);
        loop {
            match self.keys[index] {
                found if found == key => return Some(self.key_ranks[index]),
                EMPTY_KEY => return None,
                _ => index = self.after(index),
            }
        }
    }

    fn get_long(&self, bytes: &[u8]) -> Option<u32> {
        let (mut index, tag) = self.slot_of(bytes);
        loop {
            match self.slots[index] {
                EMPTY => return None,
                slot if slot & !RANK_MASK == tag && self.token(slot & RANK_MASK) == bytes => {
                    return Some(slot & RANK_MASK);
                }
                _ => index = self.after(index),
            }
        }
    }

    fn token(&self, rank: u32) -> &[u8] {
        let rank = rank as usize;
        let start = rank.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.tokens[start as usize..self.ends[rank] as usize]
    }

    fn key_index(&self, key: u64) -> usize {
        mix(key, key) as usize & (self.keys.len() - 1)
    }

    /// Returns the first slot of a long token, and the upper bits of the slots that can hold it.
    fn slot_of(&self, token: &[u8]) -> (usize, u32) {
        // Few tokens have more than 16 bytes.
        let chunk = |bytes: Option<&[u8; 8]>| bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let hash = mix(chunk(token.first_chunk()) ^ token.len() as u64, chunk(token.last_chunk()));
        (hash as usize & (self.slots.len() - 1), (hash >> 32) as u32 & !RANK_MASK)
    }

    fn after(&self, index: usize) -> usize {
        (index + 1) & (self.slots.len() - 1)
    }
}

fn pair_index(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// Returns the bytes of a token of three to seven bytes and their number, which is not zero.
fn key(token: &[u8]) -> u64 {
    pack(token) | (token.len() as u64) << 56
}

/// Returns up to eight bytes as an integer.
fn pack(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The halves overlap.
        (Some(head), Some(tail)) => {
            u64::from(u32::from_le_bytes(*head))
                | u64::from(u32::from_le_bytes(*tail)) << (8 * (bytes.len() - 4))
        }
        _ => bytes.iter().rev().fold(0, |packed, byte| packed << 8 | u64::from(*byte)),
    }
}

/// Mixes two values: the halves of the product, with constants of `SplitMix64` (Steele, Lea and Flood, 2014).
pub(super) fn mix(one: u64, other: u64) -> u64 {
    let product =
        u128::from(one ^ 0x9E37_79B9_7F4A_7C15) * u128::from(other.rotate_left(29) ^ 0xBF58_476D_1CE4_E5B9);
    (product >> 64) as u64 ^ product as u64
}

/// Bytes of the longest word whose neighbours are searched one after the other. Longer ones are kept in a heap, because
/// the search takes the square of their length.
const MAX_SHORT_BYTES: usize = 48;
/// The rank of neighbours that are no token together.
const NEVER: u32 = u32::MAX;

/// Counts the tokens of a word of at least two bytes.
pub(super) fn count_merged(word: &[u8], ranks: &RankTable) -> usize {
    if word.len() <= MAX_SHORT_BYTES { count_short(word, ranks) } else { count_long(word, ranks) }
}

fn count_short(word: &[u8], ranks: &RankTable) -> usize {
    // Where each part starts, and the rank of it with the part after it.
    let mut starts: [u8; MAX_SHORT_BYTES + 1] = std::array::from_fn(|at| at as u8);
    let mut merged = [NEVER; MAX_SHORT_BYTES];
    for (rank, pair) in merged.iter_mut().zip(word.windows(2)) {
        *rank = ranks.pair(pair[0], pair[1]).unwrap_or(NEVER);
    }
    let mut parts = word.len();
    while let Some(part) = lowest(&merged[..parts]) {
        starts.copy_within(part + 2..=parts, part + 1);
        merged.copy_within(part + 1..parts, part);
        parts -= 1;
        let rank_at = |part: usize| match starts[..=parts].get(part + 2) {
            Some(end) => ranks.get(&word[starts[part].into()..(*end).into()]).unwrap_or(NEVER),
            None => NEVER,
        };
        merged[part] = rank_at(part);
        if let Some(before) = part.checked_sub(1) {
            merged[before] = rank_at(before);
        }
    }
    parts
}

/// Returns the first of the lowest ranks.
fn lowest(ranks: &[u32]) -> Option<usize> {
    let (mut lowest, mut at) = (NEVER, None);
    for (index, rank) in ranks.iter().enumerate() {
        if *rank < lowest {
            (lowest, at) = (*rank, Some(index));
        }
    }
    at
}

fn count_long(word: &[u8], ranks: &RankTable) -> usize {
    let end = word.len();
    // A doubly linked list of parts by the offsets of their starts, and the rank of each with the part after it.
    let mut next: Vec<usize> = (1..=end).collect();
    let mut previous: Vec<Option<usize>> = (0..end).map(|at| at.checked_sub(1)).collect();
    let mut merged: Vec<u32> =
        word.windows(2).map(|pair| ranks.pair(pair[0], pair[1]).unwrap_or(NEVER)).collect();
    merged.push(NEVER);
    let mut heap: BinaryHeap<_> =
        (0..end).filter(|at| merged[*at] != NEVER).map(|at| Reverse((merged[at], at))).collect();
    let mut parts = end;
    while let Some(Reverse((rank, at))) = heap.pop() {
        // The part has been merged, or its neighbour has.
        if merged[at] != rank {
            continue;
        }
        let gone = next[at];
        next[at] = next[gone];
        merged[gone] = NEVER;
        if let Some(before) = previous.get_mut(next[at]) {
            *before = Some(at);
        }
        parts -= 1;
        for part in [Some(at), previous[at]].into_iter().flatten() {
            let after = next[part];
            let rank = next.get(after).and_then(|after_next| ranks.get(&word[part..*after_next]));
            merged[part] = rank.unwrap_or(NEVER);
            heap.extend(rank.map(|rank| Reverse((rank, part))));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_SHORT_BYTES, RankTable, count_long, count_short};
    use crate::bpe::Bpe;

    #[test]
    fn tokens_have_their_ranks_and_nothing_else_has() {
        let tokens: [&[u8]; 6] = [b"a", b"ab", b"abc", b"abcdefgh", b"abcdefghijklmnopqrstuvwxyz", b"abc\0"];
        let lengths: Vec<u8> = tokens.iter().map(|token| token.len() as u8).collect();
        let table = RankTable::new(&lengths, tokens.concat().leak());
        for (rank, token) in (0_u32..).zip(tokens).skip(1) {
            assert_eq!(table.get(token), Some(rank));
        }
        for other in [&b"ba"[..], b"abd", b"abcdefgi", b"abcdefghijklmNopqrstuvwxyz", b"abc\0\0", b"ab\0"] {
            assert_eq!(table.get(other), None, "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_count_the_same(word in "[a-z]{2,48}|[ -~]{2,48}|(ab|aab){1,16}|\\PC{2,12}") {
            prop_assume!(word.len() <= MAX_SHORT_BYTES);
            for bpe in [Bpe::O200k, Bpe::Cl100k] {
                let ranks = bpe.ranks();
                prop_assert_eq!(count_short(word.as_bytes(), ranks), count_long(word.as_bytes(), ranks));
            }
        }
    }
}
