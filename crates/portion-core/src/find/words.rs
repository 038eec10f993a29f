//! Passages and records by how much they say of some words, where the words do not stand together anywhere.
//!
//! The measure is BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25
//! and Beyond", 2009, section 3), the weight of a word being that of Lucene, which is never negative:
//! ln(1 + (N - n + 0.5) / (n + 0.5)). Lengths are bytes.

use std::ops::Range;

use super::candidates::Candidates;
use super::engine::Engine;
use super::fuel::Fuel;
use super::leaves::{Leaves, Token};
use super::literal::is_unspaced;
use super::members::Values;
use super::pattern::Matcher;
use super::text;
use super::value::{Hit, said};
use super::{FindError, Looked, Scope};
use crate::snapshot::{Form, Item, Text};

const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Units that are ranked; more are counted.
const RANKED: usize = 100_000;

/// What was found of some words.
pub(super) struct Ranked {
    /// Items, the best first.
    pub items: Vec<String>,
    /// How many units hold any of the words.
    pub matches: usize,
    /// How many units hold each word.
    pub holding: Vec<usize>,
}

/// A part of what is looked through: a paragraph, a line, a record, a value.
struct Unit {
    /// What it is a part of.
    subject: usize,
    place: Place,
    bytes: usize,
    /// How often each word is in it.
    counts: Vec<u16>,
}

enum Place {
    /// A passage, and the first word in it.
    Passage(Range<usize>, usize),
    Record(Item, Hit),
    /// A value, its item.
    Value(String),
}

/// The units that were looked through.
struct Units {
    /// Those that hold any of the words, as many as are ranked.
    ranked: Vec<Unit>,
    /// All that hold any of the words, and each.
    matches: usize,
    holding: Vec<usize>,
    /// How many there are, and of how many bytes.
    all: usize,
    bytes: usize,
}

impl Units {
    fn push(&mut self, unit: Unit) {
        self.matches += 1;
        for (holding, count) in self.holding.iter_mut().zip(&unit.counts) {
            *holding += usize::from(*count > 0);
        }
        if self.ranked.len() < RANKED {
            self.ranked.push(unit);
        }
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

/// Looks for words, of which there are some.
pub(super) fn ranked(scope: &Scope<'_>, words: &[String], fuel: &mut Fuel) -> Result<Ranked, FindError> {
    let mut search = Search::new(words)?;
    let holding = vec![0; words.len()];
    let mut units = Units { ranked: Vec::new(), matches: 0, holding, all: 0, bytes: 0 };
    for (at, looked) in scope.looked.iter().enumerate() {
        search.through(at, looked, &mut units, fuel)?;
    }
    let mut order: Vec<(f64, &Unit)> = units.ranked.iter().map(|unit| (units.score(unit), unit)).collect();
    order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let items = order.iter().take(scope.most).map(|(_, unit)| item(scope, unit)).collect();
    Ok(Ranked { items, matches: units.matches, holding: units.holding })
}

fn item(scope: &Scope<'_>, unit: &Unit) -> String {
    let looked = &scope.looked[unit.subject];
    match (&unit.place, &looked.subject.form) {
        (Place::Passage(range, found), Form::Text(index)) => {
            text::passage(&looked.subject.text, index, range.clone(), *found, looked.path, looked.byte)
        }
        (Place::Record(item, hit), _) => {
            looked.records.as_ref().map_or_else(String::new, |records| records.written(item, hit))
        }
        (Place::Value(item), _) => item.clone(),
        (Place::Passage(..), _) => String::new(),
    }
}

/// How often each word is in a text, and where the first of them is.
type Counted = (Vec<u16>, Range<usize>);

/// The words, ready to be looked for.
struct Search<'a> {
    words: &'a [String],
    /// Any of them, as an expression.
    pattern: String,
    matcher: Matcher,
}

impl<'a> Search<'a> {
    fn new(words: &'a [String]) -> Result<Self, FindError> {
        let mut longest: Vec<&String> = words.iter().collect();
        longest.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let escaped: Vec<String> = longest.into_iter().map(|word| regex_syntax::escape(word)).collect();
        let pattern = escaped.join("|");
        let matcher = Matcher::Regex(Box::new(Engine::new(&pattern, true)?), None);
        Ok(Self { words, pattern, matcher })
    }

    /// The next word from a byte on: which, and where.
    fn next(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel,
    ) -> Result<Option<(usize, Range<usize>)>, FindError> {
        let mut from = from;
        while let Some(found) = self.matcher.find(text, from, fuel)? {
            from = found.end.max(from + 1);
            let word = &text[found.clone()];
            let inside = |c: Option<char>, edge: Option<char>| {
                c.is_some_and(char::is_alphanumeric)
                    && !c.is_some_and(is_unspaced)
                    && edge.is_some_and(char::is_alphanumeric)
                    && !edge.is_some_and(is_unspaced)
            };
            let before = inside(text[..found.start].chars().next_back(), word.chars().next());
            let after = inside(text[found.end..].chars().next(), word.chars().next_back());
            if before || after {
                continue;
            }
            let lower = word.to_lowercase();
            if let Some(at) = self.words.iter().position(|word| *word == lower) {
                return Ok(Some((at, found)));
            }
        }
        Ok(None)
    }

    /// How often each word is in a text, and where the first is; `None` where there is none.
    fn counts(&mut self, text: &str, fuel: &mut Fuel) -> Result<Option<Counted>, FindError> {
        let (mut counts, mut first, mut from) = (vec![0_u16; self.words.len()], None, 0);
        while let Some((word, found)) = self.next(text, from, fuel)? {
            counts[word] = counts[word].saturating_add(1);
            from = found.end;
            first.get_or_insert(found);
        }
        Ok(first.map(|first| (counts, first)))
    }

    fn through(
        &mut self,
        subject: usize,
        looked: &Looked<'_>,
        units: &mut Units,
        fuel: &mut Fuel,
    ) -> Result<(), FindError> {
        let text: &str = &looked.subject.text;
        match &looked.subject.form {
            Form::Text(index) => self.passages(text, index, subject, units, fuel),
            Form::List(list) => {
                units.all += list.len();
                units.bytes += list.span.len();
                let Some(records) = &looked.records else { return Ok(()) };
                let mut candidates = Candidates::like(Engine::new(&self.pattern, true)?);
                records.each_candidate(&mut candidates, fuel, &mut |item, candidates, fuel| {
                    if let Some((hit, counts)) = self.in_record(text, &item, candidates, fuel)? {
                        let bytes = item.value.len();
                        units.push(Unit { subject, place: Place::Record(item, hit), bytes, counts });
                    }
                    Ok(())
                })?;
                self.values(&looked.values(), subject, units, fuel)
            }
            Form::Object(_) => self.values(&looked.values(), subject, units, fuel),
        }
    }

    fn passages(
        &mut self,
        text: &str,
        index: &Text,
        subject: usize,
        units: &mut Units,
        fuel: &mut Fuel,
    ) -> Result<(), FindError> {
        let paragraphs = matches!(index.chunker.name(), "prose" | "markdown");
        units.all += if paragraphs {
            1 + memchr::memmem::find_iter(text.as_bytes(), "\n\n").count()
        } else {
            index.line_count()
        };
        units.bytes += text.len();
        let (mut from, mut open): (usize, Option<Unit>) = (0, None);
        while let Some((word, found)) = self.next(text, from, fuel)? {
            from = found.end;
            let same = matches!(&open, Some(Unit { place: Place::Passage(range, _), .. }) if found.start < range.end);
            if !same {
                let range = text::unit(text, found.start, paragraphs);
                let (bytes, counts) = (range.len(), vec![0; self.words.len()]);
                let place = Place::Passage(range, found.start);
                if let Some(unit) = open.replace(Unit { subject, place, bytes, counts }) {
                    units.push(unit);
                }
            }
            if let Some(unit) = &mut open {
                unit.counts[word] = unit.counts[word].saturating_add(1);
            }
        }
        open.into_iter().for_each(|unit| units.push(unit));
        Ok(())
    }

    /// The words in a record, and the first of them.
    fn in_record(
        &mut self,
        text: &str,
        item: &Item,
        candidates: &mut Candidates,
        fuel: &mut Fuel,
    ) -> Result<Option<(Hit, Vec<u16>)>, FindError> {
        let mut leaves = Leaves::of(text, item.value, &[]);
        let mut found: Option<(Hit, Vec<u16>)> = None;
        while let Some(token) = leaves.next() {
            let Token::Value(value) = token else { continue };
            let Some(next) = candidates.from(text, value.start as usize, fuel)? else { break };
            if next >= value.end as usize {
                continue;
            }
            let Some((counts, first)) = self.counts(&said(value.of(text)), fuel)? else { continue };
            if let Some((_, all)) = &mut found {
                all.iter_mut().zip(counts).for_each(|(all, more)| *all = all.saturating_add(more));
                continue;
            }
            let hit = Hit {
                field: leaves.field(),
                column: leaves.first_index(),
                in_array: leaves.in_array(),
                value,
                found: first,
                exact: false,
            };
            found = Some((hit, counts));
        }
        Ok(found)
    }

    fn values(
        &mut self,
        values: &Values<'_>,
        subject: usize,
        units: &mut Units,
        fuel: &mut Fuel,
    ) -> Result<(), FindError> {
        let mut all = Ok(());
        values.each(&mut |value, write| {
            units.all += 1;
            units.bytes += value.len();
            match self.counts(value, fuel) {
                Ok(None) => true,
                Ok(Some((counts, first))) => {
                    let place = Place::Value(write(first.start));
                    units.push(Unit { subject, place, bytes: value.len(), counts });
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
