//! Ranks passages and records by several words, if no text contains the words together.

use std::ops::Range;

use portion_text::chunk::TextKind;

use super::candidates::{Candidates, WordScanner, alternation_pattern};
use super::error::Fuel;
use super::leaf_tokens::{LeafTokens, RecordMatch, Token, value_text};
use super::literal::is_unspaced;
use super::regex_engine::RegexEngine;
use super::scope::{SearchScope, SearchTarget};
use super::value_search::ValueSearch;
use super::{FindError, text_search};
use crate::snapshot::{LineIndex, ListItem, Structure};

/// Result of a search for words.
pub(super) struct RankedMatches {
    /// Result items, the best first.
    pub items: Vec<String>,
    /// Number of units that contain any of the words.
    pub match_count: usize,
    /// Number of units that contain each word.
    pub document_frequencies: Vec<usize>,
}

/// Searches for words, of which there is at least one.
pub(super) fn search(
    scope: &SearchScope<'_>,
    words: &[String],
    fuel: &mut Fuel<'_>,
) -> Result<RankedMatches, FindError> {
    let mut search = WordSearch::new(words)?;
    let mut units = UnitIndex::with_word_count(words.len());
    for (at, target) in scope.targets.iter().enumerate() {
        search.search_target(at, target, &mut units, fuel)?;
    }
    let items = units.by_score().take(scope.max_items).map(|unit| match_item(scope, unit)).collect();
    Ok(RankedMatches {
        items,
        match_count: units.match_count,
        document_frequencies: units.document_frequencies,
    })
}

fn match_item(scope: &SearchScope<'_>, unit: &SearchUnit) -> String {
    let target = &scope.targets[unit.target_index];
    match (&unit.location, &target.indexed_text.structure) {
        (UnitLocation::Passage(range, found), Structure::Text(index)) => text_search::passage_item(
            &target.indexed_text.text,
            index,
            range.clone(),
            *found,
            target.place(),
            target.has_byte_offsets,
        ),
        (UnitLocation::Record(item, hit), _) => target
            .records
            .as_ref()
            .map_or_else(String::new, |records| records.match_item(item, hit, false, None)),
        (UnitLocation::Value(item), _) => item.clone(),
        (UnitLocation::Passage(..), _) => String::new(),
    }
}

/// Number of occurrences of each word, and the first occurrence.
type WordCounts = (Vec<u16>, Range<usize>);

/// Compiled search for words.
struct WordSearch<'a> {
    words: &'a [String],
    /// Matches any of the words.
    engine: RegexEngine,
}

impl<'a> WordSearch<'a> {
    fn new(words: &'a [String]) -> Result<Self, FindError> {
        Ok(Self { words, engine: RegexEngine::new(&alternation_pattern(words), true)? })
    }

    /// Returns the index of the word at a range, if it is a whole word.
    fn word_at(&self, text: &str, found: &Range<usize>) -> Option<usize> {
        let word = text.get(found.clone())?;
        let inside = |c: Option<char>, edge: Option<char>| {
            c.is_some_and(char::is_alphanumeric)
                && !c.is_some_and(is_unspaced)
                && edge.is_some_and(char::is_alphanumeric)
                && !edge.is_some_and(is_unspaced)
        };
        let before = inside(text[..found.start].chars().next_back(), word.chars().next());
        let after = inside(text[found.end..].chars().next(), word.chars().next_back());
        if before || after {
            return None;
        }
        let lower = word.to_lowercase();
        self.words.iter().position(|word| *word == lower)
    }

    /// Returns the number of occurrences of each word and the first occurrence, or `None` if there is none.
    fn count_words(&mut self, text: &str, fuel: &mut Fuel<'_>) -> Result<Option<WordCounts>, FindError> {
        let (mut counts, mut first, mut from) = (vec![0_u16; self.words.len()], None, 0);
        while let Some(found) = self.engine.find(text, from, fuel)? {
            from = found.end.max(from + 1);
            if let Some(word) = self.word_at(text, &found) {
                counts[word] = counts[word].saturating_add(1);
                first.get_or_insert(found);
            }
        }
        Ok(first.map(|first| (counts, first)))
    }

    fn search_target(
        &mut self,
        subject: usize,
        target: &SearchTarget<'_>,
        units: &mut UnitIndex,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        let text: &str = &target.indexed_text.text;
        match &target.indexed_text.structure {
            Structure::Text(index) => self.search_passages(text, index, subject, units, fuel),
            Structure::List(list) => {
                units.unit_count += list.len();
                units.total_bytes += list.span.len();
                let Some(records) = &target.records else { return Ok(()) };
                let mut candidates = Candidates::of_words(self.words)?;
                records.for_each_candidate(&mut candidates, fuel, &mut |item, candidates, fuel| {
                    if let Some((hit, counts)) = self.search_record(text, &item, candidates, fuel)? {
                        let bytes = item.value.len();
                        units.push(SearchUnit {
                            target_index: subject,
                            location: UnitLocation::Record(item, hit),
                            bytes,
                            word_counts: counts,
                        });
                    }
                    Ok(())
                })?;
                self.search_values(&target.values_outside_records(), subject, units, fuel)
            }
            Structure::Object(_) => {
                self.search_values(&target.values_outside_records(), subject, units, fuel)
            }
        }
    }

    fn search_passages(
        &self,
        text: &str,
        index: &LineIndex,
        subject: usize,
        units: &mut UnitIndex,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        let paragraphs = matches!(index.chunker.kind(), TextKind::Prose | TextKind::Markdown);
        units.unit_count += if paragraphs {
            1 + memchr::memmem::find_iter(text.as_bytes(), "\n\n").count()
        } else {
            index.line_count()
        };
        units.total_bytes += text.len();
        let mut scanner = WordScanner::new(self.words)?;
        let (mut from, mut open): (usize, Option<SearchUnit>) = (0, None);
        while let Some(found) = scanner.find(text, from, fuel)? {
            from = found.end.max(from + 1);
            let Some(word) = self.word_at(text, &found) else { continue };
            let same = matches!(&open, Some(SearchUnit { location: UnitLocation::Passage(range, _), .. }) if found.start < range.end);
            if !same {
                let range = text_search::unit_range(text, found.start, paragraphs);
                let (bytes, counts) = (range.len(), vec![0; self.words.len()]);
                let place = UnitLocation::Passage(range, found.start);
                if let Some(unit) = open.replace(SearchUnit {
                    target_index: subject,
                    location: place,
                    bytes,
                    word_counts: counts,
                }) {
                    units.push(unit);
                }
            }
            if let Some(unit) = &mut open {
                unit.word_counts[word] = unit.word_counts[word].saturating_add(1);
            }
        }
        open.into_iter().for_each(|unit| units.push(unit));
        Ok(())
    }

    /// Returns the first match in a record, and the number of occurrences of each word in it.
    fn search_record(
        &mut self,
        text: &str,
        item: &ListItem,
        candidates: &mut Candidates,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<(RecordMatch, Vec<u16>)>, FindError> {
        let mut leaves = LeafTokens::new(text, item.value, &[]);
        let mut found: Option<(RecordMatch, Vec<u16>)> = None;
        while let Some(token) = leaves.next() {
            let Token::Value(value) = token else { continue };
            let Some(next) = candidates.next_from(text, value.start as usize, fuel)? else { break };
            if next >= value.end as usize {
                continue;
            }
            let Some((counts, first)) = self.count_words(&value_text(value.slice(text)), fuel)? else {
                continue;
            };
            if let Some((_, all)) = &mut found {
                all.iter_mut().zip(counts).for_each(|(all, more)| *all = all.saturating_add(more));
                continue;
            }
            let hit = RecordMatch {
                field_path: leaves.field_path(),
                column: leaves.outermost_index(),
                container_pointer: String::new(),
                in_array: leaves.in_array(),
                value,
                match_range: first,
                is_exact: false,
            };
            found = Some((hit, counts));
        }
        Ok(found)
    }

    fn search_values(
        &mut self,
        values: &ValueSearch<'_>,
        subject: usize,
        units: &mut UnitIndex,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        let mut all = Ok(());
        values.for_each(&mut |value, write| {
            units.unit_count += 1;
            units.total_bytes += value.len();
            match self.count_words(value, fuel) {
                Ok(None) => true,
                Ok(Some((counts, first))) => {
                    let place = UnitLocation::Value(write(first.start));
                    units.push(SearchUnit {
                        target_index: subject,
                        location: place,
                        bytes: value.len(),
                        word_counts: counts,
                    });
                    true
                }
                Err(error) => {
                    all = Err(error);
                    false
                }
            }
        });
        all
    }
}

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
