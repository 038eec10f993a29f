//! Chooses the chunks that are kept: whole ones, best first, within a token budget.
//!
//! ```
//! use portion_client::read::{FieldNames, read_chunks};
//! use portion_client::select::{Fill, select};
//! use portion_tokens::Tokenizer;
//!
//! let result = r#"{"content":[],"structuredContent":{"results":[
//!     {"id":"a","text":"A long text that does not fit.","score":0.9},{"id":"b","text":"Short.","score":0.4}]}}"#;
//! let chunks = read_chunks(result, &FieldNames::default())?;
//! let counter = Tokenizer::Len4.counter();
//! assert_eq!(select(chunks.clone(), 2, counter, Fill::Stop).chunks.len(), 1);
//! assert_eq!(select(chunks, 2, counter, Fill::Skip).dropped[0].id.as_deref(), Some("\"a\""));
//! # Ok::<(), portion_client::read::ReadError>(())
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use portion_tokens::TokenCounter;
use thiserror::Error;

use crate::chunk::{Chunk, DropReason, DroppedChunk, FetchResult};

/// Maximum cells of the exact computation: 80 chunks in 8,192 tokens take 0.66 million. A cell takes a nanosecond and a
/// bit.
const MAX_CELLS: usize = 32 << 20;

/// Strategy after a chunk that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// The selection ends. A first chunk that alone exceeds the budget is left out and does not end it.
    #[default]
    Stop,
    /// The next chunks that fit are kept.
    Skip,
    /// The set of chunks with the largest total value is kept. The value of a chunk is its score above the lowest score
    /// of the list, so that negative scores work; chunks without value fill what is left, in order.
    Value,
}

/// The error for an unknown name.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("unknown fill `{0}`: use stop, skip, value")]
pub struct UnknownFill(pub String);

impl Fill {
    /// All ways, the default one first.
    pub const ALL: [Self; 3] = [Self::Stop, Self::Skip, Self::Value];

    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Skip => "skip",
            Self::Value => "value",
        }
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Fill {
    type Err = UnknownFill;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|fill| fill.name() == name).ok_or_else(|| UnknownFill(name.to_owned()))
    }
}

/// Orders the chunks by descending score and keeps whole ones within the budget.
///
/// Equal scores keep the order of the tool; chunks without a score come last. Chunks without a text are left out.
/// The counter counts each text by itself.
pub fn select(chunks: Vec<Chunk>, budget: usize, counter: &dyn TokenCounter, fill: Fill) -> FetchResult {
    let mut result = FetchResult::default();
    let mut ordered: Vec<(Chunk, usize)> = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        match chunk.text.as_deref().map(|text| counter.count(text)) {
            Some(tokens) => ordered.push((chunk, tokens)),
            None => result.dropped.push(dropped(chunk, 0, DropReason::NoText)),
        }
    }
    ordered.sort_by(|(a, _), (b, _)| by_score(a, b));
    let sizes: Vec<usize> = ordered.iter().map(|(_, tokens)| *tokens).collect();
    let (kept, end) = match fill {
        Fill::Stop => keep_until_full(&sizes, budget),
        Fill::Skip => (keep_what_fits(&sizes, budget), sizes.len()),
        Fill::Value => (choose(&items(&ordered), budget), sizes.len()),
    };
    for (place, (chunk, tokens)) in ordered.into_iter().enumerate() {
        if kept[place] {
            result.tokens += tokens;
            result.chunks.push(chunk);
            continue;
        }
        let reason = match tokens > budget {
            true if place <= end => DropReason::Oversized,
            _ if place > end => DropReason::AfterStop,
            _ => DropReason::NoRoom,
        };
        result.dropped.push(dropped(chunk, tokens, reason));
    }
    result.dropped.sort_by_key(|chunk| chunk.position);
    result
}

/// A chunk as the selection sees it.
#[derive(Clone, Copy, Debug)]
struct Item {
    tokens: usize,
    /// Not negative.
    value: f64,
}

/// Returns which items are kept. Exact if the table is small; else by value per token, and never worse than keeping what
/// fits in order.
fn choose(items: &[Item], budget: usize) -> Vec<bool> {
    let candidates: Vec<usize> = (0..items.len())
        .filter(|place| items[*place].value > 0.0 && items[*place].tokens <= budget)
        .collect();
    let total = candidates.iter().fold(0_usize, |sum, place| sum.saturating_add(items[*place].tokens));
    let mut kept = vec![false; items.len()];
    if total <= budget {
        candidates.iter().for_each(|place| kept[*place] = true);
    } else if candidates.len().saturating_mul(budget.saturating_add(1)) <= MAX_CELLS {
        keep_best_set(items, &candidates, budget, &mut kept);
    } else {
        keep_densest(items, &candidates, budget, &mut kept);
    }
    let sizes: Vec<usize> = items.iter().map(|item| item.tokens).collect();
    let in_order = keep_what_fits(&sizes, budget);
    if value_of(items, &in_order) >= value_of(items, &kept) {
        return in_order;
    }
    // What is left of the budget goes to the others, in order.
    let mut remaining = budget - tokens_of(items, &kept);
    for (place, item) in items.iter().enumerate() {
        if !kept[place] && item.tokens <= remaining {
            kept[place] = true;
            remaining -= item.tokens;
        }
    }
    kept
}

/// Compares for a descending order; chunks without a score are last. The sort is stable, so ties keep their order.
fn by_score(a: &Chunk, b: &Chunk) -> Ordering {
    match (a.score, b.score) {
        // Scores are finite, so they can be compared.
        (Some(a), Some(b)) => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// Returns which chunks are kept, and the place of the chunk that ended the selection.
fn keep_until_full(sizes: &[usize], budget: usize) -> (Vec<bool>, usize) {
    let mut kept = vec![false; sizes.len()];
    let mut remaining = budget;
    for (place, size) in sizes.iter().enumerate() {
        match remaining.checked_sub(*size) {
            Some(rest) => (kept[place], remaining) = (true, rest),
            None if place == 0 => {}
            None => return (kept, place),
        }
    }
    (kept, sizes.len())
}

fn keep_what_fits(sizes: &[usize], budget: usize) -> Vec<bool> {
    let mut remaining = budget;
    let keep = |size: &usize| match remaining.checked_sub(*size) {
        Some(rest) => {
            remaining = rest;
            true
        }
        None => false,
    };
    sizes.iter().map(keep).collect()
}

fn items(ordered: &[(Chunk, usize)]) -> Vec<Item> {
    let lowest = ordered.iter().filter_map(|(chunk, _)| chunk.score).fold(f64::INFINITY, f64::min);
    let value = |score: f64| (score - lowest).min(f64::MAX);
    ordered
        .iter()
        .map(|(chunk, tokens)| Item { tokens: *tokens, value: chunk.score.map_or(0.0, value) })
        .collect()
}

fn dropped(chunk: Chunk, tokens: usize, reason: DropReason) -> DroppedChunk {
    DroppedChunk { position: chunk.position, id: chunk.id, score: chunk.score, tokens, reason }
}

/// Solves the knapsack exactly: `best[n]` is the largest value within `n` tokens.
fn keep_best_set(items: &[Item], candidates: &[usize], budget: usize, kept: &mut [bool]) {
    let row = budget + 1;
    let mut best = vec![0.0_f64; row];
    let mut taken = vec![0_u64; (candidates.len() * row).div_ceil(64)];
    for (n, place) in candidates.iter().enumerate() {
        let item = items[*place];
        for size in (item.tokens..=budget).rev() {
            let value = best[size - item.tokens] + item.value;
            if value > best[size] {
                best[size] = value;
                let cell = n * row + size;
                taken[cell / 64] |= 1 << (cell % 64);
            }
        }
    }
    let mut size = budget;
    for (n, place) in candidates.iter().enumerate().rev() {
        let cell = n * row + size;
        if taken[cell / 64] >> (cell % 64) & 1 == 1 {
            kept[*place] = true;
            size -= items[*place].tokens;
        }
    }
}

/// Keeps by descending value per token what fits, or the single most valuable item if that is worth more.
fn keep_densest(items: &[Item], candidates: &[usize], budget: usize, kept: &mut [bool]) {
    let mut order = candidates.to_vec();
    let density = |place: &usize| items[*place].value / items[*place].tokens.max(1) as f64;
    order.sort_by(|a, b| density(b).total_cmp(&density(a)));
    let (mut remaining, mut value) = (budget, 0.0);
    for place in order {
        if items[place].tokens <= remaining {
            kept[place] = true;
            remaining -= items[place].tokens;
            value += items[place].value;
        }
    }
    let single = candidates.iter().copied().max_by(|a, b| items[*a].value.total_cmp(&items[*b].value));
    if let Some(single) = single.filter(|place| items[*place].value > value) {
        kept.fill(false);
        kept[single] = true;
    }
}

fn value_of(items: &[Item], kept: &[bool]) -> f64 {
    items.iter().zip(kept).filter(|(_, kept)| **kept).map(|(item, _)| item.value).sum()
}

fn tokens_of(items: &[Item], kept: &[bool]) -> usize {
    items.iter().zip(kept).filter(|(_, kept)| **kept).map(|(item, _)| item.tokens).sum()
}

#[cfg(test)]
mod laws;

#[cfg(test)]
mod tests {
    use super::{Item, choose, keep_densest, tokens_of, value_of};

    /// `items`: tokens and value; `expect`: places of the kept ones.
    fn check(items: &[(usize, f64)], budget: usize, expect: &[usize]) {
        let items: Vec<Item> =
            items.iter().map(|(tokens, value)| Item { tokens: *tokens, value: *value }).collect();
        let kept = choose(&items, budget);
        let places: Vec<usize> = (0..items.len()).filter(|place| kept[*place]).collect();
        assert_eq!(places, expect, "{items:?} in {budget}");
    }

    #[test]
    fn the_most_valuable_set_is_kept() {
        check(&[(6, 10.0), (5, 9.0), (5, 8.0)], 10, &[1, 2]);
        check(&[(11, 100.0), (5, 1.0)], 10, &[1]);
        check(&[(0, 3.0), (10, 2.0), (10, 1.0)], 10, &[0, 1]);
        check(&[(10, 5.0), (2, 0.0), (3, 0.0)], 14, &[0, 1]);
        check(&[(3, 0.0), (2, 0.0)], 4, &[0]);
        check(&[], 10, &[]);
        check(&[(1, 1.0)], 0, &[]);
    }

    #[test]
    fn equal_values_keep_the_order() {
        check(&[(5, 1.0), (5, 1.0), (5, 1.0)], 10, &[0, 1]);
    }

    #[test]
    fn a_large_table_is_approximated_within_the_budget() {
        let items: Vec<Item> = (0..5000)
            .map(|n| Item { tokens: n * 7919 % 1000 + 1, value: (n * 104_729 % 997) as f64 })
            .collect();
        let budget = 100_000;
        let kept = choose(&items, budget);
        assert!(tokens_of(&items, &kept) <= budget);
        let mut densest = vec![false; items.len()];
        keep_densest(&items, &(0..items.len()).collect::<Vec<_>>(), budget, &mut densest);
        assert!(value_of(&items, &kept) >= value_of(&items, &densest));
    }
}
