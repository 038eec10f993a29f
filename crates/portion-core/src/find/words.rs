//! Passages and records by how much they say of some words, where the words do not stand together anywhere.

use std::ops::Range;

use super::FindError;
use super::ahead::{Ahead, any_of};
use super::bm25::{Place, Unit, Units};
use super::candidates::Candidates;
use super::engine::Engine;
use super::fuel::Fuel;
use super::leaves::{Leaves, Token};
use super::literal::is_unspaced;
use super::members::Values;
use super::scope::{Looked, Scope};
use super::text;
use super::value::{Hit, said};
use crate::snapshot::{Form, Item, Text};

/// What was found of some words.
pub(super) struct Ranked {
    /// Items, the best first.
    pub items: Vec<String>,
    /// How many units hold any of the words.
    pub matches: usize,
    /// How many units hold each word.
    pub holding: Vec<usize>,
}

/// Looks for words, of which there are some.
pub(super) fn ranked(scope: &Scope<'_>, words: &[String], fuel: &mut Fuel<'_>) -> Result<Ranked, FindError> {
    let mut search = Search::new(words)?;
    let mut units = Units::of_words(words.len());
    for (at, looked) in scope.looked.iter().enumerate() {
        search.through(at, looked, &mut units, fuel)?;
    }
    let items = units.best().take(scope.most).map(|unit| item(scope, unit)).collect();
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
    /// Any of them.
    engine: Engine,
}

impl<'a> Search<'a> {
    fn new(words: &'a [String]) -> Result<Self, FindError> {
        Ok(Self { words, engine: Engine::new(&any_of(words), true)? })
    }

    /// Which of the words stands at a place, if any does as a whole.
    fn at(&self, text: &str, found: &Range<usize>) -> Option<usize> {
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

    /// How often each word is in a text, and where the first is; `None` where there is none.
    fn counts(&mut self, text: &str, fuel: &mut Fuel<'_>) -> Result<Option<Counted>, FindError> {
        let (mut counts, mut first, mut from) = (vec![0_u16; self.words.len()], None, 0);
        while let Some(found) = self.engine.find(text, from, fuel)? {
            from = found.end.max(from + 1);
            if let Some(word) = self.at(text, &found) {
                counts[word] = counts[word].saturating_add(1);
                first.get_or_insert(found);
            }
        }
        Ok(first.map(|first| (counts, first)))
    }

    fn through(
        &mut self,
        subject: usize,
        looked: &Looked<'_>,
        units: &mut Units,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        let text: &str = &looked.subject.text;
        match &looked.subject.form {
            Form::Text(index) => self.passages(text, index, subject, units, fuel),
            Form::List(list) => {
                units.all += list.len();
                units.bytes += list.span.len();
                let Some(records) = &looked.records else { return Ok(()) };
                let mut candidates = Candidates::of_words(self.words)?;
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
        &self,
        text: &str,
        index: &Text,
        subject: usize,
        units: &mut Units,
        fuel: &mut Fuel<'_>,
    ) -> Result<(), FindError> {
        let paragraphs = matches!(index.chunker.name(), "prose" | "markdown");
        units.all += if paragraphs {
            1 + memchr::memmem::find_iter(text.as_bytes(), "\n\n").count()
        } else {
            index.line_count()
        };
        units.bytes += text.len();
        let mut ahead = Ahead::of(self.words)?;
        let (mut from, mut open): (usize, Option<Unit>) = (0, None);
        while let Some(found) = ahead.find(text, from, fuel)? {
            from = found.end.max(from + 1);
            let Some(word) = self.at(text, &found) else { continue };
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
        fuel: &mut Fuel<'_>,
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
        fuel: &mut Fuel<'_>,
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
