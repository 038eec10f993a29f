//! Search over what a cursor looks at: where something is said, and how often.
//!
//! What is looked for is text, or a regular expression between slashes. It is looked for as it is written; where that
//! is nowhere, ignoring case; then in the names of members; then, where it reads as one, as a regular expression; then word
//! by word. The answer says which of these it was. Matches are counted exactly, however few of them are told of, and each
//! comes with the place that reads on from it: a line, a path, a byte. Hits of single words are counted apart.

mod ahead;
mod bm25;
mod candidates;
mod engine;
mod error;
mod excerpt;
mod fuel;
mod hits;
mod item;
mod keys;
mod leaves;
mod literal;
mod members;
mod near;
mod neighbours;
mod pattern;
mod records;
mod scope;
mod text;
mod value;
mod walk;
mod within;
mod words;

pub use error::FindError;

use std::sync::atomic::AtomicBool;

use serde_json::{Map, Value};

use crate::projection::Fields;
use crate::snapshot::{Snapshot, Subject};
use crate::view::{View, ViewError, Wanted, wanted};
use fuel::Fuel;
use pattern::Pattern;
use records::Show;
use scope::{Looked, Scope};

/// Matches that are told of, where nothing else is said.
const MOST: usize = 10_000;

/// What is looked for, and what is shown of it.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Text, or `/regex/` with `i` after it to ignore case. White space in text stands for any run of it.
    pub pattern: &'a str,
    /// Lines of neighbours on each side of a match in text, where they were asked for.
    pub context: Option<u32>,
    /// Fields of records to show, separated by commas, as [`Fields`] takes them; `all` for every one.
    pub fields: Option<&'a str>,
    /// How many matches are told of; all are counted.
    pub most: usize,
    /// Set by another thread to end the search, which then is [`FindError::TooCostly`].
    pub stop: Option<&'a AtomicBool>,
}

impl<'a> Ask<'a> {
    /// Looks for a pattern, as best fits.
    pub fn new(pattern: &'a str) -> Self {
        Self { pattern, context: None, fields: None, most: MOST, stop: None }
    }
}

impl Default for Ask<'_> {
    /// Nothing, as best fits.
    fn default() -> Self {
        Self::new("")
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// A JSON array without white space, an object for each match.
    ///
    /// In text: `{"path"?,"line","startLine"?,"endLine"?,"byte"?,"text"}`, lines from 1, `path` where the text is not the
    /// main part, `byte` where the line was cut. In a list, a record each:
    /// `{"path","in"?,"text"?,"item"?,"within"?}`, `in` being the field, `within` the object in the record that holds it. In other JSON, a value each: `{"path","text","item"?}`.
    /// For a name of a member `{"path","in"?,"text" or "holds","count"?}`.
    pub json: String,
    /// How many matches there are, told of or not: lines, records, values, names.
    pub matches: usize,
    /// How many lines, records and values hold some of the words, where the words are nowhere together.
    pub word_matches: usize,
    /// What else is to be told: `searched` (`text`, `regex`, `words`), `literalMatches` where text was tried as a regular
    /// expression for want of any, `ignoringCase`, `in` (`keys`), `occurrences` where
    /// lines hold several, `exact` for how many values are the pattern and nothing else, `words` with how many units hold
    /// each, `kept` where not all matches are told of, `nearest` with words much like one that is nowhere.
    pub also: Map<String, Value>,
}

/// Looks for something in what a view looks at.
///
/// # Errors
/// Where the pattern is malformed or too costly, or where no record has the fields asked for.
pub fn find(snapshot: &Snapshot, view: &View, ask: &Ask<'_>) -> Result<Found, FindError> {
    let pattern = Pattern::parse(ask.pattern)?;
    let subjects = view.subjects(snapshot);
    let show = match ask.fields.map(|names| wanted(snapshot, view, names)).transpose() {
        Ok(None | Some(Wanted::Best)) => Show::Identity,
        Ok(Some(Wanted::All)) => Show::All,
        Ok(Some(Wanted::Some(fields))) => Show::Some(fields),
        // What no record has may be a field of what is in them.
        Err(ViewError::Field { given, .. })
            if subjects.iter().any(|(_, subject)| names_key(subject, &given)) =>
        {
            Show::Some(Fields::parse(ask.fields.unwrap_or_default()))
        }
        Err(unknown) => return Err(unknown.into()),
    };
    let bytes = subjects.iter().map(|(_, subject)| subject.text.len()).sum();
    let mut fuel = Fuel::for_bytes(bytes).until(ask.stop);
    let byte = view.tells_bytes();
    let looked = subjects.iter().map(|(path, subject)| Looked::of(path, subject, byte, &show, ask.context));
    let scope = Scope { looked: looked.collect(), context: ask.context, most: ask.most };
    scope.find(&pattern, &mut fuel)
}

/// Whether a key of JSON begins a dotted name, somewhere.
fn names_key(subject: &Subject, name: &str) -> bool {
    let first = name.split('.').next().unwrap_or_default();
    subject.is_json()
        && memchr::memmem::find(subject.text.as_bytes(), format!("\"{first}\"").as_bytes()).is_some()
}

impl Found {
    fn of(items: &[String], matches: usize, also: &[(&'static str, Value)]) -> Self {
        let json = format!("[{}]", items.join(","));
        let also = also.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { json, matches, word_matches: 0, also }
    }

    fn nothing(searched: &'static str) -> Self {
        Self::of(&[], 0, &[("searched", searched.into())])
    }
}
