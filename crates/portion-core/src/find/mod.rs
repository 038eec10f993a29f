//! Search over what a cursor looks at: where something is said, and how often.
//!
//! What is looked for is text, or a regular expression between slashes. It is looked for as it is written; where that
//! is nowhere, ignoring case; then in the names of members; then word by word. The answer says which of these it was. Matches are
//! counted exactly, however few of them are told of, and each comes with the place that reads on from it: a line, a path,
//! a byte.

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
mod pattern;
mod records;
mod text;
mod value;
mod words;

pub use error::FindError;

use serde_json::{Map, Value};

use crate::snapshot::{Form, Layout, Snapshot, Subject};
use crate::span::Span;
use crate::view::{View, Wanted, wanted};
use fuel::Fuel;
use hits::Hits;
use members::Values;
use pattern::{Matcher, Pattern};
use records::{Records, Show};
use text::Around;

/// Matches that are told of, where nothing else is said.
const MOST: usize = 10_000;

/// What is looked for, and what is shown of it.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// Text, or `/regex/` with `i` after it to ignore case. White space in text stands for any run of it.
    pub pattern: &'a str,
    /// Lines of neighbours on each side of a match in text, where they were asked for.
    pub context: Option<u32>,
    /// Fields of records to show, separated by commas, as [`Fields`](crate::projection::Fields) takes them; `all` for every one.
    pub fields: Option<&'a str>,
    /// How many matches are told of; all are counted.
    pub most: usize,
}

impl<'a> Ask<'a> {
    /// Looks for a pattern, as best fits.
    pub fn new(pattern: &'a str) -> Self {
        Self { pattern, context: None, fields: None, most: MOST }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// A JSON array without white space, an object for each match.
    ///
    /// In text: `{"path"?,"line","startLine"?,"endLine"?,"byte"?,"text"}`, lines from 1, `path` where the text is not the
    /// main part, `byte` where the line was cut. In a list, a record each:
    /// `{"path","in"?,"text"?,"item"?}`, `in` being the field. In other JSON, a value each: `{"path","text","item"?}`.
    /// For a name of a member `{"path","in"?,"text" or "holds","count"?}`.
    pub json: String,
    /// How many matches there are, told of or not: lines, records, values, names.
    pub matches: usize,
    /// What else is to be told: `searched` (`text`, `regex`, `words`), `ignoringCase`, `in` (`keys`), `occurrences` where
    /// lines hold several, `exact` for how many values are the pattern and nothing else, `words` with how many units hold
    /// each, `kept` where not all matches are told of.
    pub also: Map<String, Value>,
}

/// Looks for something in what a view looks at.
///
/// # Errors
/// Where the pattern is malformed or too costly, or where no record has the fields asked for.
pub fn find(snapshot: &Snapshot, view: &View, ask: &Ask<'_>) -> Result<Found, FindError> {
    let pattern = Pattern::parse(ask.pattern)?;
    let show = match ask.fields.map(|names| wanted(snapshot, view, names)).transpose()? {
        None | Some(Wanted::Best) => Show::Identity,
        Some(Wanted::All) => Show::All,
        Some(Wanted::Some(fields)) => Show::Some(fields),
    };
    let subjects = view.subjects(snapshot);
    let mut fuel = Fuel::for_bytes(subjects.iter().map(|(_, subject)| subject.text.len()).sum());
    let byte = view.tells_bytes();
    let looked = subjects.iter().map(|(path, subject)| Looked::of(path, subject, byte, &show, ask.context));
    let scope = Scope { looked: looked.collect(), context: ask.context, most: ask.most };
    scope.find(&pattern, &mut fuel)
}

/// What is looked through.
struct Scope<'a> {
    looked: Vec<Looked<'a>>,
    context: Option<u32>,
    most: usize,
}

/// One text that is looked through.
struct Looked<'a> {
    /// What leads to it.
    path: &'a str,
    subject: &'a Subject,
    /// Whether its bytes are those that a raw reply counts.
    byte: bool,
    /// Its records, where it is a list.
    records: Option<Records<'a>>,
    /// What values are not searched one by one: the list, and a table's names of columns.
    skips: Vec<Span>,
    context: Option<u32>,
}

/// What is looked through of JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum In {
    Values,
    Keys,
}

impl Scope<'_> {
    /// Looks in one way after the other.
    fn find(&self, pattern: &Pattern<'_>, fuel: &mut Fuel) -> Result<Found, FindError> {
        let (text, regex) = ([("searched", "text".into())], [("searched", "regex".into())]);
        if let Some(found) = self.search(&mut pattern.literal(), In::Values, &text, fuel)? {
            return Ok(found);
        }
        if let Some(matcher) = pattern.regex() {
            let mut matcher = matcher?;
            return Ok(match self.search(&mut matcher, In::Values, &regex, fuel)? {
                Some(found) => found,
                None => self
                    .search(&mut matcher, In::Keys, &regex, fuel)?
                    .unwrap_or_else(|| Found::nothing("regex")),
            });
        }
        let case = [("searched", "text".into()), ("ignoringCase", true.into())];
        let mut ignoring = pattern.ignoring_case();
        if let Some(matcher) = &mut ignoring
            && let Some(found) = self.search(matcher, In::Values, &case, fuel)?
        {
            return Ok(found);
        }
        if let Some(found) = self.search(&mut pattern.literal(), In::Keys, &text, fuel)? {
            return Ok(found);
        }
        if let Some(matcher) = &mut ignoring
            && let Some(found) = self.search(matcher, In::Keys, &case, fuel)?
        {
            return Ok(found);
        }
        let words = pattern.words();
        if words.len() > 1 {
            let ranked = words::ranked(self, &words, fuel)?;
            if ranked.matches > 0 {
                let holding = words.into_iter().zip(ranked.holding.into_iter().map(Value::from));
                let also = [("searched", "words".into()), ("words", Value::Object(holding.collect()))];
                let mut found = Found::of(&ranked.items, ranked.matches, &also);
                if ranked.items.len() < ranked.matches {
                    found.also.insert("kept".into(), ranked.items.len().into());
                }
                return Ok(found);
            }
        }
        Ok(Found::nothing("text"))
    }

    /// Looks in one way; `None` where nothing is found.
    fn search(
        &self,
        sought: &mut Matcher,
        place: In,
        said: &[(&'static str, Value)],
        fuel: &mut Fuel,
    ) -> Result<Option<Found>, FindError> {
        let mut hits = Hits::new(self.most);
        let mut texts = Vec::new();
        let (mut occurrences, mut lines) = (0, 0);
        for looked in &self.looked {
            let text: &str = &looked.subject.text;
            match (&looked.subject.form, place) {
                (Form::Text(index), In::Values) => {
                    let places = text::places(text, sought, self.most, fuel)?;
                    occurrences += places.occurrences;
                    lines += places.matches;
                    texts.push((looked, index, places));
                }
                (Form::Text(_), In::Keys) => {}
                (Form::List(_) | Form::Object(_), In::Values) => {
                    if let Some(records) = &looked.records {
                        records.search(sought, &mut hits, fuel)?;
                    }
                    looked.values().search(sought, &mut hits, fuel)?;
                }
                (Form::List(list), In::Keys) => {
                    if let Some(records) = &looked.records {
                        keys::search(text, list, records, sought, &mut hits, fuel)?;
                    }
                    looked.values().search_keys(sought, &mut hits, fuel)?;
                }
                (Form::Object(_), In::Keys) => looked.values().search_keys(sought, &mut hits, fuel)?,
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
    fn of(path: &'a str, subject: &'a Subject, byte: bool, show: &'a Show, context: Option<u32>) -> Self {
        let mut looked = Self { path, subject, byte, records: None, skips: Vec::new(), context };
        if let Form::List(list) = &subject.form {
            looked.records = Some(Records::of(&subject.text, list, path, show));
            looked.skips.push(list.span);
            if let (Layout::Table { header, .. }, Some(level)) = (&list.layout, list.levels.last()) {
                looked.skips.extend(level.members.get(*header).map(|member| member.value));
            }
        }
        looked
    }

    /// Its values that are in no record.
    fn values(&self) -> Values<'_> {
        let lines = matches!(&self.subject.form, Form::List(list) if list.layout == Layout::Lines);
        let span = if lines { Span::default() } else { self.subject.span() };
        Values { text: &self.subject.text, span, skips: &self.skips, path: self.path, context: self.context }
    }
}

impl Found {
    fn of(items: &[String], matches: usize, also: &[(&'static str, Value)]) -> Self {
        let json = format!("[{}]", items.join(","));
        let also = also.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Self { json, matches, also }
    }

    fn nothing(searched: &'static str) -> Self {
        Self::of(&[], 0, &[("searched", searched.into())])
    }
}
