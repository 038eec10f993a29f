//! What is looked through, and in which ways, one after the other.

use std::cell::OnceCell;

use serde_json::Value;

use super::candidates::{Candidates, NextPositions, first_escape};
use super::context::ContextSize;
use super::fuel::Fuel;
use super::hits::Hits;
use super::pattern::{Matcher, Pattern};
use super::record_search::{RecordSearch, ShownFields};
use super::value_search::ValueSearch;
use super::{FindError, SearchResult, key_search, similar_words, text_search, word_search};
use crate::snapshot::{IndexedText, Layout, Structure};
use crate::span::Span;

/// What is looked through.
pub(super) struct SearchScope<'a> {
    pub targets: Vec<SearchTarget<'a>>,
    /// Lines of neighbours that were asked for.
    pub context_lines: Option<u32>,
    /// Matches that are told of.
    pub max_items: usize,
}

/// One text that is looked through.
pub(super) struct SearchTarget<'a> {
    /// What leads to it.
    pub path: &'a str,
    pub indexed_text: &'a IndexedText,
    /// Whether its bytes are those that a raw reply counts.
    pub has_byte_offsets: bool,
    /// Its records, where it is a list.
    pub records: Option<RecordSearch<'a>>,
    /// What values are not searched one by one: the list, and a table's names of columns.
    skipped: Vec<Span>,
    context_lines: Option<u32>,
    /// Where an escape by number is first.
    first_escape: OnceCell<usize>,
}

/// One way of looking, and what comes first of it in each text of JSON.
struct SearchPass {
    matcher: Matcher,
    next_positions: Vec<Option<NextPositions>>,
}

/// What is looked through of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchedPart {
    Values,
    Keys,
}

impl SearchScope<'_> {
    /// Looks in one way after the other.
    pub(super) fn find(&self, pattern: &Pattern<'_>, fuel: &mut Fuel<'_>) -> Result<SearchResult, FindError> {
        let (text, regex) = ([("searched", "text".into())], [("searched", "regex".into())]);
        let mut exact = self.start_pass(pattern.literal(), fuel)?;
        if let Some(found) = self.search(&mut exact, SearchedPart::Values, &text, fuel)? {
            return Ok(found);
        }
        if let Some(matcher) = pattern.regex() {
            let mut way = self.start_pass(matcher?, fuel)?;
            return Ok(match self.search(&mut way, SearchedPart::Values, &regex, fuel)? {
                Some(found) => found,
                None => self
                    .search(&mut way, SearchedPart::Keys, &regex, fuel)?
                    .unwrap_or_else(|| SearchResult::empty("regex")),
            });
        }
        let case = [("searched", "text".into()), ("ignoringCase", true.into())];
        let mut ignoring =
            pattern.ignoring_case().map(|matcher| self.start_pass(matcher, fuel)).transpose()?;
        if let Some(way) = &mut ignoring
            && let Some(found) = self.search(way, SearchedPart::Values, &case, fuel)?
        {
            return Ok(found);
        }
        if let Some(found) = self.search(&mut exact, SearchedPart::Keys, &text, fuel)? {
            return Ok(found);
        }
        if let Some(way) = &mut ignoring
            && let Some(found) = self.search(way, SearchedPart::Keys, &case, fuel)?
        {
            return Ok(found);
        }
        if let Some(found) = self.find_as_regex(pattern, fuel)? {
            return Ok(found);
        }
        let words = pattern.words();
        if words.len() > 1 {
            let ranked = word_search::search(self, &words, fuel)?;
            if ranked.match_count > 0 {
                let holding = words.into_iter().zip(ranked.document_frequencies.into_iter().map(Value::from));
                let also = [("searched", "words".into()), ("words", Value::Object(holding.collect()))];
                let mut found = SearchResult::new(&ranked.items, 0, &also);
                found.word_match_count = ranked.match_count;
                if ranked.items.len() < ranked.match_count {
                    found.extra_meta.insert("kept".into(), ranked.items.len().into());
                }
                return Ok(found);
            }
        }
        let mut nothing = SearchResult::empty("text");
        let near = similar_words::similar_words(self, pattern.text());
        if !near.is_empty() {
            nothing.extra_meta.insert("nearest".into(), near.into());
        }
        Ok(nothing)
    }

    /// Looks for text that is nowhere as the regular expression that it may have been meant as, first in the case that it
    /// is written in.
    fn find_as_regex(
        &self,
        pattern: &Pattern<'_>,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<SearchResult>, FindError> {
        for ignoring in [false, true] {
            let Some(matcher) = pattern.implied_regex(ignoring) else { return Ok(None) };
            let mut said = vec![("searched", "regex".into()), ("literalMatches", 0.into())];
            said.extend(ignoring.then_some(("ignoringCase", true.into())));
            let mut way = self.start_pass(matcher, fuel)?;
            for place in [SearchedPart::Values, SearchedPart::Keys] {
                if let Some(found) = self.search(&mut way, place, &said, fuel)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn start_pass(&self, matcher: Matcher, fuel: &mut Fuel<'_>) -> Result<SearchPass, FindError> {
        let nearest = |looked: &SearchTarget<'_>| match looked.indexed_text.structure {
            Structure::Text(_) => Ok(None),
            Structure::List(_) | Structure::Object(_) => {
                Candidates::first_positions(&matcher, &looked.indexed_text.text, looked.escape(), fuel)
            }
        };
        let nearest = self.targets.iter().map(nearest).collect::<Result<_, _>>()?;
        Ok(SearchPass { matcher, next_positions: nearest })
    }

    /// Looks in one way; `None` where nothing is found.
    fn search(
        &self,
        way: &mut SearchPass,
        place: SearchedPart,
        said: &[(&'static str, Value)],
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<SearchResult>, FindError> {
        let mut hits = Hits::new(self.max_items);
        let mut texts = Vec::new();
        let (mut occurrences, mut lines) = (0, 0);
        let SearchPass { matcher: sought, next_positions: nearest } = way;
        for (looked, nearest) in self.targets.iter().zip(nearest) {
            let first = nearest.unwrap_or_default();
            let text: &str = &looked.indexed_text.text;
            match (&looked.indexed_text.structure, place) {
                (Structure::Text(index), SearchedPart::Values) => {
                    let places = text_search::find_matches(text, sought, self.max_items, fuel)?;
                    occurrences += places.occurrence_count;
                    lines += places.match_count;
                    texts.push((looked, index, places));
                }
                (Structure::Text(_), SearchedPart::Keys) => {}
                (Structure::List(_) | Structure::Object(_), _) if nearest.is_none() => {}
                (Structure::List(_) | Structure::Object(_), SearchedPart::Values) => {
                    if let Some(records) = &looked.records {
                        records.search(sought, first, &mut hits, fuel)?;
                    }
                    looked.values_outside_records().search(sought, first, &mut hits, fuel)?;
                }
                (Structure::List(list), SearchedPart::Keys) => {
                    if let Some(records) = &looked.records {
                        key_search::search(text, list, records, sought, first, &mut hits, fuel)?;
                    }
                    looked.values_outside_records().search_keys(sought, first, &mut hits, fuel)?;
                }
                (Structure::Object(_), SearchedPart::Keys) => {
                    looked.values_outside_records().search_keys(sought, first, &mut hits, fuel)?
                }
            }
        }
        let matches = hits.match_count + lines;
        if matches == 0 {
            return Ok(None);
        }
        let around = ContextSize::new(self.context_lines, matches);
        let mut items = hits.exact;
        items.extend(hits.partial);
        for (looked, index, places) in texts {
            items.extend(text_search::match_items(
                &looked.indexed_text.text,
                index,
                &places,
                around,
                looked.path,
                looked.has_byte_offsets,
            ));
        }
        items.truncate(self.max_items);
        let mut found = SearchResult::new(&items, matches, said);
        let mut tell = |name: &str, value: Value| found.extra_meta.insert(name.into(), value);
        if place == SearchedPart::Keys {
            tell("in", "keys".into());
        }
        if occurrences > lines && sought.counts_occurrences() {
            tell("occurrences", occurrences.into());
        }
        if hits.exact_match_count > 0 && hits.exact_match_count < matches {
            tell("exact", hits.exact_match_count.into());
        }
        if matches > self.max_items {
            tell("kept", self.max_items.into());
        }
        Ok(Some(found))
    }
}

impl<'a> SearchTarget<'a> {
    pub(super) fn new(
        path: &'a str,
        subject: &'a IndexedText,
        byte: bool,
        show: &'a ShownFields,
        context: Option<u32>,
    ) -> Self {
        let mut looked = Self {
            path,
            indexed_text: subject,
            has_byte_offsets: byte,
            records: None,
            skipped: Vec::new(),
            context_lines: context,
            first_escape: OnceCell::new(),
        };
        if let Structure::List(list) = &subject.structure {
            looked.records = Some(RecordSearch::new(&subject.text, list, path, show));
            looked.skipped.push(list.span);
            if let (Layout::Table { header, .. }, Some(level)) = (&list.layout, list.enclosing_objects.last())
            {
                looked.skipped.extend(level.members.get(*header).map(|member| member.value));
            }
        }
        looked
    }

    fn escape(&self) -> usize {
        *self.first_escape.get_or_init(|| first_escape(&self.indexed_text.text))
    }

    /// Its values that are in no record.
    pub(super) fn values_outside_records(&self) -> ValueSearch<'_> {
        let lines =
            matches!(&self.indexed_text.structure, Structure::List(list) if list.layout == Layout::Lines);
        let span = if lines { Span::default() } else { self.indexed_text.span() };
        ValueSearch {
            text: &self.indexed_text.text,
            span,
            skipped: &self.skipped,
            base_path: self.path,
            context_lines: self.context_lines,
        }
    }
}
