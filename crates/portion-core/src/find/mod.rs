//! Searches the subjects of a view, and reports locations and counts of matches.
//!
//! A pattern is text, or a regular expression between slashes. These searches are tried in turn until one has
//! matches: as written; ignoring case; in the names of members; as a regular expression, if the text looks
//! like one; for each word. The result names the search that was used. All matches are counted, even if few
//! are listed, and each has a position for further reading: a line, a path or a byte. Matches of single words
//! are counted separately.
//!
//! ```
//! use portion_core::find::{SearchQuery, find};
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::snapshot::capture;
//! use portion_core::view::View;
//!
//! let text = Content::Text("one\ntwo\nthree\n".to_owned());
//! let snapshot = capture(Payload { blocks: vec![Block::new("/content/0/text", text)], ..Payload::default() });
//! let result = find(&snapshot, &View::root(), &SearchQuery::new("two"))?;
//! assert_eq!(result.match_count, 1);
//! # Ok::<(), portion_core::find::FindError>(())
//! ```

mod candidates;
mod context;
mod error;
mod hits;
mod key_search;
mod leaf_tokens;
mod literal;
mod pattern;
mod record_search;
mod regex_engine;
mod scope;
mod text_search;
mod value_search;
mod word_search;

pub use error::FindError;

use std::sync::atomic::AtomicBool;

use portion_json::projection::{FieldSelection, quote_name};
use serde_json::{Map, Value};

use crate::render::FollowUpCall;
use crate::snapshot::{IndexedText, Part, Snapshot, Structure};
use crate::view::{RequestedFields, View, ViewError, select_fields, target_at_path};
use error::Fuel;
use pattern::{Names, Pattern, syntax_hint};
use record_search::ShownFields;
use scope::{SearchScope, SearchTarget};

/// Default for the number of matches listed.
const DEFAULT_MAX_ITEMS: usize = 10_000;

/// Pattern of a search, and what to show of its matches.
#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'a> {
    /// Text, or `/regex/`, optionally followed by `i` to ignore case. White space in text matches any run of
    /// white space.
    pub pattern: &'a str,
    /// Requested lines of context on each side of a match in text.
    pub context_lines: Option<u32>,
    /// Fields of records to show, separated by commas, as in [`FieldSelection`]; `all` for all fields.
    pub fields: Option<&'a str>,
    /// True to search the names of members, and not their values.
    pub keys_only: bool,
    /// Number of matches listed; all are counted.
    pub max_items: usize,
    /// Set by another thread to end the search with [`FindError::TooCostly`].
    pub stop_flag: Option<&'a AtomicBool>,
    /// The request for a follow-up, for the advice after a search without matches.
    pub read_call: FollowUpCall<'a>,
}

impl<'a> SearchQuery<'a> {
    /// Creates a query for a pattern with defaults.
    pub fn new(pattern: &'a str) -> Self {
        Self {
            pattern,
            context_lines: None,
            fields: None,
            keys_only: false,
            max_items: DEFAULT_MAX_ITEMS,
            stop_flag: None,
            read_call: FollowUpCall::Tool("portion_read"),
        }
    }
}

impl Default for SearchQuery<'_> {
    /// Creates a query without a pattern.
    fn default() -> Self {
        Self::new("")
    }
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// JSON array without white space, with one object per match.
    ///
    /// In text: `{"path"?,"name"?,"line","startLine"?,"endLine"?,"byte"?,"text"}`. Lines count from 1, `path` is
    /// present if there are several texts, and `byte` if the line was cut. In a list, one object per
    /// record, and for each element of a list in it: `{"path","in"?,"text"?,"item"?,"within"?}`, where `in` is the field and
    /// `within` is the nested object in the record that contains it. In other JSON, one object per value:
    /// `{"path","text","item"?,"of"?}`, where `of` has the identity fields of the records around that of the value, the
    /// outermost first.
    /// For a member name: `{"path","in"?,"text" or "holds","count"?}`.
    pub items_json: String,
    /// Number of matches, listed or not: lines, records, values or names.
    pub match_count: usize,
    /// Number of lines, records and values that contain some of the words, if no text contains all of them
    /// together.
    pub word_match_count: usize,
    /// Further metadata: `searched` (`text`, `regex` or `words`), `literalMatches` if text without matches
    /// was tried as a regular expression, `ignoringCase`, `in` (`keys`), `occurrences` if lines have several, `excerpts` if
    /// adjacent matches share one,
    /// `keyMatches` for the number of matches in names if values match, `hint` if the pattern is a member or a path,
    /// `exact` for the number of values that are the whole pattern, `words` with the number of units that
    /// contain each word, `kept` if not all matches are listed, `nearest` with words similar to one without
    /// matches.
    pub extra_meta: Map<String, Value>,
}

/// Searches the subjects of a view.
///
/// # Errors
/// Returns an error if the pattern is malformed or too costly, or if no record has the requested fields.
pub fn find(snapshot: &Snapshot, view: &View, ask: &SearchQuery<'_>) -> Result<SearchResult, FindError> {
    let pattern = Pattern::parse(ask.pattern)?;
    let mut subjects = view.subjects(snapshot);
    // A match in one of several texts says in which one.
    if subjects.len() > 1
        && let Some(main) = snapshot.main_part().and_then(|main| snapshot.parts().get(main))
    {
        let texts = subjects
            .iter_mut()
            .filter(|(path, subject)| path.is_empty() && matches!(subject.structure, Structure::Text(_)));
        texts.for_each(|(path, _)| path.clone_from(&main.address));
    }
    let show = match ask.fields.map(|names| select_fields(snapshot, view, names)).transpose() {
        Ok(None | Some(RequestedFields::Auto)) => ShownFields::Identity,
        Ok(Some(RequestedFields::All)) => ShownFields::All,
        Ok(Some(RequestedFields::Only(fields))) => ShownFields::Selected(fields),
        // A field that no record has may belong to nested objects.
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
    let parts = snapshot.parts_at(subjects.iter().map(|(path, _)| path.as_str()));
    let targets = subjects.iter().zip(parts).map(|((path, subject), part)| {
        let mut target = SearchTarget::new(path, subject, byte, &show, ask.context_lines);
        target.name = part.filter(|_| subjects.len() > 1).and_then(Part::name);
        target
    });
    let scope = SearchScope {
        targets: targets.collect(),
        context_lines: ask.context_lines,
        max_items: ask.max_items,
    };
    if ask.keys_only {
        return scope.find_keys(&pattern, &mut fuel);
    }
    let mut result = scope.find(&pattern, &mut fuel)?;
    if result.match_count == 0 {
        // What is around data, and how they are written, is in no subject.
        let hint = syntax_hint(pattern.text(), &SearchedNames { snapshot, view }, ask.read_call);
        // A quote is none of a value, or it is escaped there.
        let is_of_json = hint.is_none() && ask.pattern.contains('"');
        let originals = original_texts(snapshot, &subjects, is_of_json);
        let targets = originals
            .iter()
            .map(|(path, text)| SearchTarget::new(path, text, false, &show, ask.context_lines))
            .collect();
        let bytes = originals.iter().map(|(_, original)| original.text.len()).sum();
        let mut fuel = Fuel::for_bytes(bytes).with_stop_flag(ask.stop_flag);
        let found = SearchScope { targets, ..scope }.find(&pattern, &mut fuel)?;
        if found.match_count > 0 {
            let hint = "these are lines of the original text: raw=true returns it".into();
            let extra_meta = found.extra_meta.into_iter().chain([("hint".to_owned(), hint)]).collect();
            return Ok(SearchResult { extra_meta, ..found });
        }
        let has_lines = subjects.iter().any(|(_, subject)| matches!(subject.structure, Structure::Text(_)));
        let crosses_lines = || {
            let is_regex = result.extra_meta.get("searched").is_some_and(|searched| searched == "regex");
            let has_dot = [".*", ".+", ".{"].iter().any(|dot| ask.pattern.contains(dot));
            (is_regex && has_dot && has_lines && !ask.pattern.contains("(?s"))
                .then(|| "a dot ends at the end of its line: (?s) lets it cross lines".to_owned())
        };
        if let Some(hint) = hint.or_else(crosses_lines) {
            // The single words are not what such a pattern means.
            if result.word_match_count > 0 {
                result = SearchResult::empty("text");
            }
            result.extra_meta.insert("hint".to_owned(), hint.into());
        }
    }
    Ok(result)
}

/// Returns the texts of subjects that are read as data, as they were received, with the paths of the subjects. `with_json`: true
/// for those that are JSON, too.
fn original_texts(
    snapshot: &Snapshot,
    subjects: &[(String, &IndexedText)],
    with_json: bool,
) -> Vec<(String, IndexedText)> {
    let parts = snapshot.parts_at(subjects.iter().map(|(path, _)| path.as_str()));
    let original = |((path, subject), part): (&(String, &IndexedText), Option<&Part>)| {
        let part = part.filter(|part| {
            // What is in a string has its escapes there.
            let is_whole = part.indexed_text().is_some_and(|text| text.text.len() == subject.text.len());
            is_whole
                && part.enclosing_string().is_none()
                && (part.json_origin.is_some() || with_json && subject.is_json())
        })?;
        Some((path.clone(), IndexedText::from_text(part.source().clone())))
    };
    subjects.iter().zip(parts).filter_map(original).collect()
}

/// The names in the subjects of a search.
struct SearchedNames<'a> {
    snapshot: &'a Snapshot,
    view: &'a View,
}

impl Names for SearchedNames<'_> {
    fn has_key(&self, name: &str) -> bool {
        self.view.subjects(self.snapshot).iter().any(|(_, subject)| contains_key(subject, name))
    }

    fn has_path(&self, path: &str) -> bool {
        // The cursor may be that of another view, so the path has to lead there from the whole payload, too.
        let leads = |view: &View| target_at_path(self.snapshot, view, path).is_ok();
        leads(&View::root()) && leads(self.view)
    }

    fn has_field(&self, name: &str) -> bool {
        select_fields(self.snapshot, self.view, &quote_name(name)).is_ok()
    }
}

/// Returns true if some key in the JSON is the first step of a dotted name.
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
