//! Runs the searches of a pattern over all targets, one after the other.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use portion_json::span::Span;
use portion_text::names::closest_name;
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation as _;

use super::candidates::{Candidates, NextPositions, first_escape};
use super::context::ContextSize;
use super::error::Fuel;
use super::hits::Hits;
use super::pattern::{Matcher, Pattern};
use super::record_search::{RecordSearch, ShownFields};
use super::text_search::TextPlace;
use super::value_search::ValueSearch;
use super::{FindError, SearchResult, key_search, text_search, word_search};
use crate::snapshot::{IndexedText, Layout, Structure};

/// Targets of a search, and its limits.
pub(super) struct SearchScope<'a> {
    pub targets: Vec<SearchTarget<'a>>,
    /// Requested lines of context.
    pub context_lines: Option<u32>,
    /// Largest number of matches listed.
    pub max_items: usize,
}

/// A text to search.
pub(super) struct SearchTarget<'a> {
    /// Path of the text.
    pub path: &'a str,
    /// Its name, if it is one of several.
    pub name: Option<&'a str>,
    pub indexed_text: &'a IndexedText,
    /// True if byte offsets are the same as in a raw reply.
    pub has_byte_offsets: bool,
    /// Its records, if it is a list.
    pub records: Option<RecordSearch<'a>>,
    /// Spans that are not searched value by value: the list, and the column names of a table.
    skipped: Vec<Span>,
    context_lines: Option<u32>,
    /// Offset of the first numeric escape.
    first_escape: OnceCell<usize>,
}

/// A matcher, with its first positions in each JSON text.
struct SearchPass {
    matcher: Matcher,
    next_positions: Vec<Option<NextPositions>>,
}

/// Part of JSON that is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchedPart {
    Values,
    Keys,
}

impl SearchScope<'_> {
    /// Runs the searches in turn until one has matches.
    pub(super) fn find(&self, pattern: &Pattern<'_>, fuel: &mut Fuel<'_>) -> Result<SearchResult, FindError> {
        let (text, regex) = ([("searched", "text".into())], [("searched", "regex".into())]);
        let mut exact = self.start_pass(pattern.literal(), fuel)?;
        if let Some(found) = self.search(&mut exact, SearchedPart::Values, &text, fuel)? {
            return Ok(self.with_key_matches(found, &mut exact, fuel));
        }
        if let Some(matcher) = pattern.regex() {
            let mut pass = self.start_pass(matcher?, fuel)?;
            return Ok(match self.search(&mut pass, SearchedPart::Values, &regex, fuel)? {
                Some(found) => self.with_key_matches(found, &mut pass, fuel),
                None => self
                    .search(&mut pass, SearchedPart::Keys, &regex, fuel)?
                    .unwrap_or_else(|| SearchResult::empty("regex")),
            });
        }
        let case = [("searched", "text".into()), ("ignoringCase", true.into())];
        let mut ignoring =
            pattern.ignoring_case().map(|matcher| self.start_pass(matcher, fuel)).transpose()?;
        if let Some(pass) = &mut ignoring
            && let Some(found) = self.search(pass, SearchedPart::Values, &case, fuel)?
        {
            return Ok(self.with_key_matches(found, pass, fuel));
        }
        if let Some(found) = self.search(&mut exact, SearchedPart::Keys, &text, fuel)? {
            return Ok(found);
        }
        if let Some(pass) = &mut ignoring
            && let Some(found) = self.search(pass, SearchedPart::Keys, &case, fuel)?
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
        let near = similar_words(self, pattern.text());
        if !near.is_empty() {
            nothing.extra_meta.insert("nearest".into(), near.into());
        }
        Ok(nothing)
    }

    /// Searches the names of members only.
    pub(super) fn find_keys(
        &self,
        pattern: &Pattern<'_>,
        fuel: &mut Fuel<'_>,
    ) -> Result<SearchResult, FindError> {
        let named = if pattern.regex().is_some() { "regex" } else { "text" };
        let given = match pattern.regex() {
            Some(matcher) => Some(matcher?),
            None => Some(pattern.literal()),
        };
        for (matcher, ignores_case) in [(given, false), (pattern.ignoring_case(), true)] {
            let Some(matcher) = matcher else { continue };
            let mut meta = vec![("searched", named.into())];
            meta.extend(ignores_case.then_some(("ignoringCase", true.into())));
            let mut pass = self.start_pass(matcher, fuel)?;
            if let Some(found) = self.search(&mut pass, SearchedPart::Keys, &meta, fuel)? {
                return Ok(found);
            }
        }
        let mut nothing = SearchResult::empty(named);
        nothing.extra_meta.insert("in".into(), "keys".into());
        Ok(nothing)
    }

    /// Adds how many names match as well. A search that becomes too costly is left out.
    fn with_key_matches(
        &self,
        mut found: SearchResult,
        pass: &mut SearchPass,
        fuel: &mut Fuel<'_>,
    ) -> SearchResult {
        if let Ok(Some(keys)) = self.search(pass, SearchedPart::Keys, &[], fuel) {
            found.extra_meta.insert("keyMatches".into(), keys.match_count.into());
        }
        found
    }

    /// Searches for text without matches as the regular expression that may have been meant, with its case
    /// first, then ignoring case.
    fn find_as_regex(
        &self,
        pattern: &Pattern<'_>,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<SearchResult>, FindError> {
        for ignoring in [false, true] {
            let Some(matcher) = pattern.implied_regex(ignoring) else { return Ok(None) };
            let mut meta = vec![("searched", "regex".into()), ("literalMatches", 0.into())];
            meta.extend(ignoring.then_some(("ignoringCase", true.into())));
            let mut pass = self.start_pass(matcher, fuel)?;
            for place in [SearchedPart::Values, SearchedPart::Keys] {
                if let Some(found) = self.search(&mut pass, place, &meta, fuel)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn start_pass(&self, matcher: Matcher, fuel: &mut Fuel<'_>) -> Result<SearchPass, FindError> {
        let nearest = |target: &SearchTarget<'_>| match target.indexed_text.structure {
            Structure::Text(_) => Ok(None),
            Structure::List(_) | Structure::Object(_) => {
                Candidates::first_positions(&matcher, &target.indexed_text.text, target.escape(), fuel)
            }
        };
        let nearest = self.targets.iter().map(nearest).collect::<Result<_, _>>()?;
        Ok(SearchPass { matcher, next_positions: nearest })
    }

    /// Runs one search, or returns `None` if nothing matches.
    fn search(
        &self,
        pass: &mut SearchPass,
        place: SearchedPart,
        meta: &[(&'static str, Value)],
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<SearchResult>, FindError> {
        let mut hits = Hits::new(self.max_items);
        let mut texts = Vec::new();
        let (mut occurrences, mut lines) = (0, 0);
        let SearchPass { matcher, next_positions: nearest } = pass;
        for (target, nearest) in self.targets.iter().zip(nearest) {
            let first = nearest.unwrap_or_default();
            let text: &str = &target.indexed_text.text;
            match (&target.indexed_text.structure, place) {
                (Structure::Text(index), SearchedPart::Values) => {
                    let places = text_search::find_matches(text, matcher, self.max_items, fuel)?;
                    occurrences += places.occurrence_count;
                    lines += places.match_count;
                    texts.push((target, index, places));
                }
                (Structure::Text(_), SearchedPart::Keys) => {}
                (Structure::List(_) | Structure::Object(_), _) if nearest.is_none() => {}
                (Structure::List(_) | Structure::Object(_), SearchedPart::Values) => {
                    if let Some(records) = &target.records {
                        records.search(matcher, first, &mut hits, fuel)?;
                    }
                    target.values_outside_records().search(matcher, first, &mut hits, fuel)?;
                }
                (Structure::List(list), SearchedPart::Keys) => {
                    if let Some(records) = &target.records {
                        key_search::search(text, list, records, matcher, first, &mut hits, fuel)?;
                    }
                    target.values_outside_records().search_keys(matcher, first, &mut hits, fuel)?;
                }
                (Structure::Object(_), SearchedPart::Keys) => {
                    target.values_outside_records().search_keys(matcher, first, &mut hits, fuel)?;
                }
            }
        }
        let matches = hits.match_count + lines;
        if matches == 0 {
            return Ok(None);
        }
        let around = ContextSize::new(self.context_lines, matches);
        let exact_count = hits.exact_match_count;
        let mut items = hits.into_items();
        for (target, index, places) in texts {
            items.extend(text_search::match_items(
                &target.indexed_text.text,
                index,
                &places,
                around,
                target.place(),
                target.has_byte_offsets,
            ));
        }
        items.truncate(self.max_items);
        // Adjacent matches share an excerpt.
        let excerpts = (items.len() < matches.min(self.max_items)).then_some(items.len());
        let mut found = SearchResult::new(&items, matches, meta);
        let mut add = |name: &str, value: Value| found.extra_meta.insert(name.into(), value);
        if place == SearchedPart::Keys {
            add("in", "keys".into());
        }
        if occurrences > lines && matcher.counts_occurrences() {
            add("occurrences", occurrences.into());
        }
        if exact_count > 0 && exact_count < matches {
            add("exact", exact_count.into());
        }
        if let Some(excerpts) = excerpts {
            add("excerpts", excerpts.into());
        }
        if matches > self.max_items {
            add("kept", self.max_items.into());
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
        let mut target = Self {
            path,
            name: None,
            indexed_text: subject,
            has_byte_offsets: byte,
            records: None,
            skipped: Vec::new(),
            context_lines: context,
            first_escape: OnceCell::new(),
        };
        if let Structure::List(list) = &subject.structure {
            target.records = Some(RecordSearch::new(&subject.text, list, path, show));
            target.skipped.push(list.span);
            if let (Layout::Table { header, .. }, Some(level)) = (&list.layout, list.enclosing_objects.last())
            {
                target.skipped.extend(level.members.get(*header).map(|member| member.value));
            }
        }
        target
    }

    /// Returns its place, for matches in it as a text.
    pub(super) fn place(&self) -> TextPlace<'_> {
        TextPlace { path: self.path, name: self.name }
    }

    fn escape(&self) -> usize {
        *self.first_escape.get_or_init(|| first_escape(&self.indexed_text.text))
    }

    /// Returns a search over the values outside the records.
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

/// Bytes read of each text: suggestions are a guess, not a search.
const MAX_SCANNED_BYTES: usize = 64 << 10;
/// Largest number of suggestions.
const MAX_SUGGESTIONS: usize = 3;
/// Lengths in characters of words with suggestions.
const WORD_LENGTHS: std::ops::RangeInclusive<usize> = 3..=40;

/// Returns words of the targets that are similar to a word without matches, the most similar first.
fn similar_words(scope: &SearchScope<'_>, word: &str) -> Vec<String> {
    let chars = word.chars().count();
    if !WORD_LENGTHS.contains(&chars) || word.contains(char::is_whitespace) {
        return Vec::new();
    }
    let mut present: BTreeSet<&str> = BTreeSet::new();
    for target in &scope.targets {
        let text: &str = &target.indexed_text.text;
        let start = &text[..text.floor_char_boundary(MAX_SCANNED_BYTES)];
        present.extend(start.unicode_words().filter(|own| {
            let len = own.chars().count();
            let close = WORD_LENGTHS.contains(&len) && len.abs_diff(chars) <= chars / 3 + 1;
            close && !own.eq_ignore_ascii_case(word)
        }));
    }
    let mut suggestions = Vec::new();
    while suggestions.len() < MAX_SUGGESTIONS
        && let Some(word) = closest_name(word, present.iter().copied())
    {
        present.remove(word.as_str());
        suggestions.push(word);
    }
    suggestions
}
