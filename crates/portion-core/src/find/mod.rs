//! Search over what a cursor looks at: where something is said, and how often.
//!
//! What is looked for is text, or a regular expression between slashes. It is looked for as it is written; where that
//! is nowhere, ignoring case; then in the names of members; then, where it reads as one, as a regular expression; then word
//! by word. The answer says which of these it was. Matches are counted exactly, however few of them are told of, and each
//! comes with the place that reads on from it: a line, a path, a byte. Hits of single words are counted apart.

mod bm25;
mod candidates;
mod context;
mod enclosing_object;
mod error;
mod excerpt;
mod fuel;
mod hits;
mod identity_walk;
mod json_object;
mod key_search;
mod leaf_tokens;
mod literal;
mod pattern;
mod record_match;
mod record_search;
mod regex_engine;
mod scope;
mod similar_words;
mod text_search;
mod value_search;
mod word_scanner;
mod word_search;

pub use error::FindError;

use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value};

use crate::projection::FieldSelection;
use crate::snapshot::{IndexedText, Snapshot};
use crate::view::{RequestedFields, View, ViewError, select_fields};
use fuel::Fuel;
use pattern::Pattern;
use record_search::ShownFields;
use scope::{SearchScope, SearchTarget};

/// Matches that are told of, where nothing else is said.
const DEFAULT_MAX_ITEMS: usize = 10_000;

/// What is looked for, and what is shown of it.
#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'a> {
    /// Text, or `/regex/` with `i` after it to ignore case. White space in text stands for any run of it.
    pub pattern: &'a str,
    /// Lines of neighbours on each side of a match in text, where they were asked for.
    pub context_lines: Option<u32>,
    /// Fields of records to show, separated by commas, as [`FieldSelection`] takes them; `all` for every one.
    pub fields: Option<&'a str>,
    /// How many matches are told of; all are counted.
    pub max_items: usize,
    /// Set by another thread to end the search, which then is [`FindError::TooCostly`].
    pub stop_flag: Option<&'a AtomicBool>,
}

impl<'a> SearchQuery<'a> {
    /// Looks for a pattern, as best fits.
    pub fn new(pattern: &'a str) -> Self {
        Self { pattern, context_lines: None, fields: None, max_items: DEFAULT_MAX_ITEMS, stop_flag: None }
    }
}

impl Default for SearchQuery<'_> {
    /// Nothing, as best fits.
    fn default() -> Self {
        Self::new("")
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// A JSON array without white space, an object for each match.
    ///
    /// In text: `{"path"?,"line","startLine"?,"endLine"?,"byte"?,"text"}`, lines from 1, `path` where the text is not the
    /// main part, `byte` where the line was cut. In a list, a record each:
    /// `{"path","in"?,"text"?,"item"?,"within"?}`, `in` being the field, `within` the object in the record that holds it. In other JSON, a value each: `{"path","text","item"?}`.
    /// For a name of a member `{"path","in"?,"text" or "holds","count"?}`.
    pub items_json: String,
    /// How many matches there are, told of or not: lines, records, values, names.
    pub match_count: usize,
    /// How many lines, records and values hold some of the words, where the words are nowhere together.
    pub word_match_count: usize,
    /// What else is to be told: `searched` (`text`, `regex`, `words`), `literalMatches` where text was tried as a regular
    /// expression for want of any, `ignoringCase`, `in` (`keys`), `occurrences` where
    /// lines hold several, `exact` for how many values are the pattern and nothing else, `words` with how many units hold
    /// each, `kept` where not all matches are told of, `nearest` with words much like one that is nowhere.
    pub extra_meta: Map<String, Value>,
}

/// Looks for something in what a view looks at.
///
/// # Errors
/// Where the pattern is malformed or too costly, or where no record has the fields asked for.
pub fn find(snapshot: &Snapshot, view: &View, ask: &SearchQuery<'_>) -> Result<SearchResult, FindError> {
    let pattern = Pattern::parse(ask.pattern)?;
    let subjects = view.subjects(snapshot);
    let show = match ask.fields.map(|names| select_fields(snapshot, view, names)).transpose() {
        Ok(None | Some(RequestedFields::Auto)) => ShownFields::Identity,
        Ok(Some(RequestedFields::All)) => ShownFields::All,
        Ok(Some(RequestedFields::Only(fields))) => ShownFields::Selected(fields),
        // What no record has may be a field of what is in them.
        Err(ViewError::Field { given, .. })
            if subjects.iter().any(|(_, subject)| contains_key(subject, &given)) =>
        {
            ShownFields::Selected(FieldSelection::parse(ask.fields.unwrap_or_default()))
        }
        Err(unknown) => return Err(unknown.into()),
    };
    let bytes = subjects.iter().map(|(_, subject)| subject.text.len()).sum();
    let mut fuel = Fuel::for_bytes(bytes).with_stop_flag(ask.stop_flag);
    let byte = view.has_payload_bytes();
    let looked = subjects
        .iter()
        .map(|(path, subject)| SearchTarget::new(path, subject, byte, &show, ask.context_lines));
    let scope =
        SearchScope { targets: looked.collect(), context_lines: ask.context_lines, max_items: ask.max_items };
    scope.find(&pattern, &mut fuel)
}

/// Whether a key of JSON begins a dotted name, somewhere.
fn contains_key(subject: &IndexedText, name: &str) -> bool {
    let first = name.split('.').next().unwrap_or_default();
    subject.is_json()
        && memchr::memmem::find(subject.text.as_bytes(), format!("\"{first}\"").as_bytes()).is_some()
}

impl SearchResult {
    fn new(items: &[String], matches: usize, also: &[(&'static str, Value)]) -> Self {
        let json = format!("[{}]", items.join(","));
        let also = also.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { items_json: json, match_count: matches, word_match_count: 0, extra_meta: also }
    }

    fn empty(searched: &'static str) -> Self {
        Self::new(&[], 0, &[("searched", searched.into())])
    }
}
