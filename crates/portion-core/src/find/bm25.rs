//! Ranks search units by their relevance to several words.
//!
//! The score is BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza, "The Probabilistic Relevance
//! Framework: BM25 and Beyond", 2009, section 3). Words are weighted as in Lucene, so that no weight is
//! negative: ln(1 + (N - n + 0.5) / (n + 0.5)). Lengths are bytes.

use std::ops::Range;

use super::record_match::RecordMatch;
use crate::snapshot::ListItem;

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Largest number of ranked units; more are only counted.
const MAX_RANKED_UNITS: usize = 100_000;

/// A searched unit: a paragraph, a line, a record or a value.
pub(super) struct SearchUnit {
    /// Index of its target.
    pub target_index: usize,
    pub location: UnitLocation,
    pub bytes: usize,
    /// Number of occurrences of each word.
    pub word_counts: Vec<u16>,
}

/// Location of a unit.
pub(super) enum UnitLocation {
    /// A passage, and the offset of its first word.
    Passage(Range<usize>, usize),
    /// A record, and its first match.
    Record(ListItem, RecordMatch),
    /// A value, as a result item.
    Value(String),
}

/// Units that were searched.
pub(super) struct UnitIndex {
    /// Units that contain any of the words, up to the limit.
    ranked: Vec<SearchUnit>,
    /// Number of units that contain any of the words, and each of them.
    pub match_count: usize,
    pub document_frequencies: Vec<usize>,
    /// Number of all units, and their bytes.
    pub unit_count: usize,
    pub total_bytes: usize,
}

impl UnitIndex {
    /// Creates an empty index.
    pub(super) fn with_word_count(words: usize) -> Self {
        Self {
            ranked: Vec::new(),
            match_count: 0,
            document_frequencies: vec![0; words],
            unit_count: 0,
            total_bytes: 0,
        }
    }

    /// Adds a unit that contains some of the words.
    pub(super) fn push(&mut self, unit: SearchUnit) {
        self.match_count += 1;
        for (holding, count) in self.document_frequencies.iter_mut().zip(&unit.word_counts) {
            *holding += usize::from(*count > 0);
        }
        if self.ranked.len() < MAX_RANKED_UNITS {
            self.ranked.push(unit);
        }
    }

    /// Returns the units, the best first. Equal ones keep their order.
    pub(super) fn by_score(&self) -> impl Iterator<Item = &SearchUnit> {
        let mut order: Vec<(f64, &SearchUnit)> =
            self.ranked.iter().map(|unit| (self.score(unit), unit)).collect();
        order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        order.into_iter().map(|(_, unit)| unit)
    }

    fn score(&self, unit: &SearchUnit) -> f64 {
        let all = self.unit_count.max(self.match_count) as f64;
        let average = (self.total_bytes as f64 / all).max(1.0);
        let norm = K1 * (1.0 - B + B * unit.bytes as f64 / average);
        let of_word = |(count, holding): (&u16, &usize)| {
            let (count, holding) = (f64::from(*count), *holding as f64);
            let weight = ((all - holding + 0.5) / (holding + 0.5)).ln_1p();
            weight * count * (K1 + 1.0) / (count + norm)
        };
        unit.word_counts.iter().zip(&self.document_frequencies).map(of_word).sum()
    }
}
