//! What is looked through, and in which ways, one after the other.

use std::cell::OnceCell;

use serde_json::Value;

use super::candidates::{Candidates, Nearest, first_escape};
use super::fuel::Fuel;
use super::hits::Hits;
use super::members::Values;
use super::neighbours::Around;
use super::pattern::{Matcher, Pattern};
use super::records::{Records, Show};
use super::{FindError, Found, keys, near, text, words};
use crate::snapshot::{Form, Layout, Subject};
use crate::span::Span;

/// What is looked through.
pub(super) struct Scope<'a> {
    pub looked: Vec<Looked<'a>>,
    /// Lines of neighbours that were asked for.
    pub context: Option<u32>,
    /// Matches that are told of.
    pub most: usize,
}

/// One text that is looked through.
pub(super) struct Looked<'a> {
    /// What leads to it.
    pub path: &'a str,
    pub subject: &'a Subject,
    /// Whether its bytes are those that a raw reply counts.
    pub byte: bool,
    /// Its records, where it is a list.
    pub records: Option<Records<'a>>,
    /// What values are not searched one by one: the list, and a table's names of columns.
    skips: Vec<Span>,
    context: Option<u32>,
    /// Where an escape by number is first.
    escape: OnceCell<usize>,
}

/// One way of looking, and what comes first of it in each text of JSON.
struct Way {
    matcher: Matcher,
    nearest: Vec<Option<Nearest>>,
}

/// What is looked through of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    Values,
    Keys,
}

impl Scope<'_> {
    /// Looks in one way after the other.
    pub(super) fn find(&self, pattern: &Pattern<'_>, fuel: &mut Fuel<'_>) -> Result<Found, FindError> {
        let (text, regex) = ([("searched", "text".into())], [("searched", "regex".into())]);
        let mut exact = self.way(pattern.literal(), fuel)?;
        if let Some(found) = self.search(&mut exact, In::Values, &text, fuel)? {
            return Ok(found);
        }
        if let Some(matcher) = pattern.regex() {
            let mut way = self.way(matcher?, fuel)?;
            return Ok(match self.search(&mut way, In::Values, &regex, fuel)? {
                Some(found) => found,
                None => {
                    self.search(&mut way, In::Keys, &regex, fuel)?.unwrap_or_else(|| Found::nothing("regex"))
                }
            });
        }
        let case = [("searched", "text".into()), ("ignoringCase", true.into())];
        let mut ignoring = pattern.ignoring_case().map(|matcher| self.way(matcher, fuel)).transpose()?;
        if let Some(way) = &mut ignoring
            && let Some(found) = self.search(way, In::Values, &case, fuel)?
        {
            return Ok(found);
        }
        if let Some(found) = self.search(&mut exact, In::Keys, &text, fuel)? {
            return Ok(found);
        }
        if let Some(way) = &mut ignoring
            && let Some(found) = self.search(way, In::Keys, &case, fuel)?
        {
            return Ok(found);
        }
        if let Some(found) = self.as_regex(pattern, fuel)? {
            return Ok(found);
        }
        let words = pattern.words();
        if words.len() > 1 {
            let ranked = words::ranked(self, &words, fuel)?;
            if ranked.matches > 0 {
                let holding = words.into_iter().zip(ranked.holding.into_iter().map(Value::from));
                let also = [("searched", "words".into()), ("words", Value::Object(holding.collect()))];
                let mut found = Found::of(&ranked.items, 0, &also);
                found.word_matches = ranked.matches;
                if ranked.items.len() < ranked.matches {
                    found.also.insert("kept".into(), ranked.items.len().into());
                }
                return Ok(found);
            }
        }
        let mut nothing = Found::nothing("text");
        let near = near::words(self, pattern.text());
        if !near.is_empty() {
            nothing.also.insert("nearest".into(), near.into());
        }
        Ok(nothing)
    }

    /// Looks for text that is nowhere as the regular expression that it may have been meant as, first in the case that it
    /// is written in.
    fn as_regex(&self, pattern: &Pattern<'_>, fuel: &mut Fuel<'_>) -> Result<Option<Found>, FindError> {
        for ignoring in [false, true] {
            let Some(matcher) = pattern.implied_regex(ignoring) else { return Ok(None) };
            let mut said = vec![("searched", "regex".into()), ("literalMatches", 0.into())];
            said.extend(ignoring.then_some(("ignoringCase", true.into())));
            let mut way = self.way(matcher, fuel)?;
            for place in [In::Values, In::Keys] {
                if let Some(found) = self.search(&mut way, place, &said, fuel)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn way(&self, matcher: Matcher, fuel: &mut Fuel<'_>) -> Result<Way, FindError> {
        let nearest = |looked: &Looked<'_>| match looked.subject.form {
            Form::Text(_) => Ok(None),
            Form::List(_) | Form::Object(_) => {
                Candidates::nearest(&matcher, &looked.subject.text, looked.escape(), fuel)
            }
        };
        let nearest = self.looked.iter().map(nearest).collect::<Result<_, _>>()?;
        Ok(Way { matcher, nearest })
    }

    /// Looks in one way; `None` where nothing is found.
    fn search(
        &self,
        way: &mut Way,
        place: In,
        said: &[(&'static str, Value)],
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Found>, FindError> {
        let mut hits = Hits::new(self.most);
        let mut texts = Vec::new();
        let (mut occurrences, mut lines) = (0, 0);
        let Way { matcher: sought, nearest } = way;
        for (looked, nearest) in self.looked.iter().zip(nearest) {
            let first = nearest.unwrap_or_default();
            let text: &str = &looked.subject.text;
            match (&looked.subject.form, place) {
                (Form::Text(index), In::Values) => {
                    let places = text::places(text, sought, self.most, fuel)?;
                    occurrences += places.occurrences;
                    lines += places.matches;
                    texts.push((looked, index, places));
                }
                (Form::Text(_), In::Keys) => {}
                (Form::List(_) | Form::Object(_), _) if nearest.is_none() => {}
                (Form::List(_) | Form::Object(_), In::Values) => {
                    if let Some(records) = &looked.records {
                        records.search(sought, first, &mut hits, fuel)?;
                    }
                    looked.values().search(sought, first, &mut hits, fuel)?;
                }
                (Form::List(list), In::Keys) => {
                    if let Some(records) = &looked.records {
                        keys::search(text, list, records, sought, first, &mut hits, fuel)?;
                    }
                    looked.values().search_keys(sought, first, &mut hits, fuel)?;
                }
                (Form::Object(_), In::Keys) => looked.values().search_keys(sought, first, &mut hits, fuel)?,
            }
        }
        let matches = hits.matches + lines;
        if matches == 0 {
            return Ok(None);
        }
        let around = Around::of(self.context, matches);
        let mut items = hits.exact;
        items.extend(hits.rest);
        for (looked, index, places) in texts {
            items.extend(text::items(&looked.subject.text, index, &places, around, looked.path, looked.byte));
        }
        items.truncate(self.most);
        let mut found = Found::of(&items, matches, said);
        let mut tell = |name: &str, value: Value| found.also.insert(name.into(), value);
        if place == In::Keys {
            tell("in", "keys".into());
        }
        if occurrences > lines && sought.counts_occurrences() {
            tell("occurrences", occurrences.into());
        }
        if hits.exact_matches > 0 && hits.exact_matches < matches {
            tell("exact", hits.exact_matches.into());
        }
        if matches > self.most {
            tell("kept", self.most.into());
        }
        Ok(Some(found))
    }
}

impl<'a> Looked<'a> {
    pub(super) fn of(
        path: &'a str,
        subject: &'a Subject,
        byte: bool,
        show: &'a Show,
        context: Option<u32>,
    ) -> Self {
        let mut looked =
            Self { path, subject, byte, records: None, skips: Vec::new(), context, escape: OnceCell::new() };
        if let Form::List(list) = &subject.form {
            looked.records = Some(Records::of(&subject.text, list, path, show));
            looked.skips.push(list.span);
            if let (Layout::Table { header, .. }, Some(level)) = (&list.layout, list.levels.last()) {
                looked.skips.extend(level.members.get(*header).map(|member| member.value));
            }
        }
        looked
    }

    fn escape(&self) -> usize {
        *self.escape.get_or_init(|| first_escape(&self.subject.text))
    }

    /// Its values that are in no record.
    pub(super) fn values(&self) -> Values<'_> {
        let lines = matches!(&self.subject.form, Form::List(list) if list.layout == Layout::Lines);
        let span = if lines { Span::default() } else { self.subject.span() };
        Values { text: &self.subject.text, span, skips: &self.skips, path: self.path, context: self.context }
    }
}
