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

mod knapsack;
#[cfg(test)]
mod laws;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use portion_tokens::TokenCounter;
use thiserror::Error;

use crate::chunk::{Chunk, DropReason, DroppedChunk, FetchResult};
use knapsack::Item;

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
        Fill::Value => (knapsack::choose(&items(&ordered), budget), sizes.len()),
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
