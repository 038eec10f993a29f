//! Counts the tokens of a word that is no token itself: neighbours are merged, those of the lowest rank first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ranks::RankTable;

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

    use super::super::Bpe;
    use super::{MAX_SHORT_BYTES, count_long, count_short};

    proptest! {
        #[test]
        fn both_ways_count_the_same(word in "[a-z]{2,48}|[ -~]{2,48}|(ab|aab){1,16}|\\PC{2,12}") {
            prop_assume!(word.len() <= MAX_SHORT_BYTES);
            for bpe in [Bpe::O200k, Bpe::Cl100k] {
                let ranks = &bpe.vocabulary().ranks;
                prop_assert_eq!(count_short(word.as_bytes(), ranks), count_long(word.as_bytes(), ranks));
            }
        }
    }
}
