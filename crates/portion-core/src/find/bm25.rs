//! Which of many parts say most of some words.
//!
//! The measure is BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
//! and Beyond", 2009, section 3), the weight of a word being that of Lucene, which is never negative:
//! ln(1 + (N - n + 0.5) / (n + 0.5)). Lengths are bytes.

use std::ops::Range;

use super::value::Hit;
use crate::snapshot::Item;

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Units that are ranked; more are counted.
const RANKED: usize = 100_000;

/// A part of what is looked through: a paragraph, a line, a record, a value.
pub(super) struct Unit {
    /// What it is a part of.
    pub subject: usize,
    pub place: Place,
    pub bytes: usize,
    /// How often each word is in it.
    pub counts: Vec<u16>,
}

/// Where a unit is.
pub(super) enum Place {
    /// A passage, and the first word in it.
    Passage(Range<usize>, usize),
    /// A record, and the first word in it.
    Record(Item, Hit),
    /// A value, its item.
    Value(String),
}

/// The units that were looked through.
pub(super) struct Units {
    /// Those that hold any of the words, as many as are ranked.
    ranked: Vec<Unit>,
    /// All that hold any of the words, and each.
    pub matches: usize,
    pub holding: Vec<usize>,
    /// How many there are, and of how many bytes.
    pub all: usize,
    pub bytes: usize,
}

impl Units {
    /// None yet.
    pub(super) fn of_words(words: usize) -> Self {
        Self { ranked: Vec::new(), matches: 0, holding: vec![0; words], all: 0, bytes: 0 }
    }

    /// Counts one that holds some of the words.
    pub(super) fn push(&mut self, unit: Unit) {
        self.matches += 1;
        for (holding, count) in self.holding.iter_mut().zip(&unit.counts) {
            *holding += usize::from(*count > 0);
        }
        if self.ranked.len() < RANKED {
            self.ranked.push(unit);
        }
    }

    /// The best first; equals in their order.
    pub(super) fn best(&self) -> impl Iterator<Item = &Unit> {
        let mut order: Vec<(f64, &Unit)> = self.ranked.iter().map(|unit| (self.score(unit), unit)).collect();
        order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        order.into_iter().map(|(_, unit)| unit)
    }

    fn score(&self, unit: &Unit) -> f64 {
        let all = self.all.max(self.matches) as f64;
        let average = (self.bytes as f64 / all).max(1.0);
        let norm = K1 * (1.0 - B + B * unit.bytes as f64 / average);
        let of_word = |(count, holding): (&u16, &usize)| {
            let (count, holding) = (f64::from(*count), *holding as f64);
            let weight = ((all - holding + 0.5) / (holding + 0.5)).ln_1p();
            weight * count * (K1 + 1.0) / (count + norm)
        };
        unit.counts.iter().zip(&self.holding).map(of_word).sum()
    }
}
