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

/// How much there is of what units are made of.
#[derive(Default)]
struct Extent {
    units: usize,
    bytes: usize,
}

/// Looks for words, of which there are some.
pub(super) fn ranked(scope: &Scope<'_>, words: &[String], fuel: &mut Fuel) -> Result<Ranked, FindError> {
    let mut search = Search::new(words)?;
    let mut extent = Extent::default();
    let mut units: Vec<Unit> = Vec::new();
    for (at, looked) in scope.looked.iter().enumerate() {
        search.through(at, looked, &mut extent, &mut units, fuel)?;
    }
    let holding: Vec<usize> =
        (0..words.len()).map(|word| units.iter().filter(|unit| unit.counts[word] > 0).count()).collect();
    let mut order: Vec<(f64, usize)> =
        units.iter().map(|unit| score(unit, &holding, &extent)).zip(0..).collect();
    order.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let items = order.iter().take(scope.most).map(|(_, at)| item(scope, &units[*at])).collect();
    Ok(Ranked { items, matches: units.len(), holding })
}

fn score(unit: &Unit, holding: &[usize], extent: &Extent) -> f64 {
    let units = extent.units.max(1) as f64;
    let average = (extent.bytes as f64 / units).max(1.0);
    let norm = K1 * (1.0 - B + B * unit.bytes as f64 / average);
    let of_word = |(count, holding): (&u16, &usize)| {
        let (count, holding) = (f64::from(*count), *holding as f64);
        let weight = ((units - holding + 0.5).max(0.5) / (holding + 0.5)).ln_1p();
        weight * count * (K1 + 1.0) / (count + norm)
    };
    unit.counts.iter().zip(holding).map(of_word).sum()
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
    matcher: Matcher,
}

impl<'a> Search<'a> {
    fn new(words: &'a [String]) -> Result<Self, FindError> {
        let mut longest: Vec<&String> = words.iter().collect();
        longest.sort_by_key(|word| std::cmp::Reverse(word.len()));
        let escaped: Vec<String> = longest.into_iter().map(|word| regex_syntax::escape(word)).collect();
        let engine = Engine::new(&escaped.join("|"), true)?;
        Ok(Self { words, matcher: Matcher::Regex(Box::new(engine), None) })
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
        extent: &mut Extent,
        units: &mut Vec<Unit>,
        fuel: &mut Fuel,
    ) -> Result<(), FindError> {
        let text: &str = &looked.subject.text;
        match &looked.subject.form {
            Form::Text(index) => self.passages(text, index, subject, extent, units, fuel),
            Form::List(list) => {
                extent.units += list.len();
                extent.bytes += list.span.len();
                let Some(records) = &looked.records else { return Ok(()) };
                let mut candidates = Candidates::of(&self.matcher);
                records.each_candidate(&mut candidates, fuel, &mut |item, _, fuel| {
                    if let Some((hit, counts)) = self.in_record(text, &item, fuel)? {
                        let bytes = item.value.len();
                        units.push(Unit { subject, place: Place::Record(item, hit), bytes, counts });
                    }
                    Ok(())
                })?;
                self.values(&looked.values(), subject, extent, units, fuel)
            }
            Form::Object(_) => self.values(&looked.values(), subject, extent, units, fuel),
        }
    }

    fn passages(
        &mut self,
        text: &str,
        index: &Text,
        subject: usize,
        extent: &mut Extent,
        units: &mut Vec<Unit>,
        fuel: &mut Fuel,
    ) -> Result<(), FindError> {
        let paragraphs = matches!(index.chunker.name(), "prose" | "markdown");
        extent.units += if paragraphs {
            1 + memchr::memmem::find_iter(text.as_bytes(), "\n\n").count()
        } else {
            index.line_count()
        };
        extent.bytes += text.len();
        let (mut from, mut open): (usize, Option<Unit>) = (0, None);
        while let Some((word, found)) = self.next(text, from, fuel)? {
            from = found.end;
            let same = matches!(&open, Some(Unit { place: Place::Passage(range, _), .. }) if found.start < range.end);
            if !same {
                let range = text::unit(text, found.start, paragraphs);
                let (bytes, counts) = (range.len(), vec![0; self.words.len()]);
                let place = Place::Passage(range, found.start);
                units.extend(open.replace(Unit { subject, place, bytes, counts }));
            }
            if let Some(unit) = &mut open {
                unit.counts[word] = unit.counts[word].saturating_add(1);
            }
        }
        units.extend(open);
        Ok(())
    }

    /// The words in a record, and the first of them.
    fn in_record(
        &mut self,
        text: &str,
        item: &Item,
        fuel: &mut Fuel,
    ) -> Result<Option<(Hit, Vec<u16>)>, FindError> {
        let mut leaves = Leaves::of(text, item.value, &[]);
        let mut found: Option<(Hit, Vec<u16>)> = None;
        while let Some(token) = leaves.next() {
            let Token::Value(value) = token else { continue };
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
        extent: &mut Extent,
        units: &mut Vec<Unit>,
        fuel: &mut Fuel,
    ) -> Result<(), FindError> {
        let mut all = Ok(());
        values.each(&mut |value, write| {
            extent.units += 1;
            extent.bytes += value.len();
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
