//! Finds the list of chunks in a JSON value.

use std::ops::Range;
use std::sync::Arc;

use portion_json::scan::{JsonKind, is_json, unescape};

use super::fields::FieldNames;
use super::json;

/// Maximum objects around the list.
const MAX_LEVELS: usize = 4;
/// Maximum objects that are searched.
const MAX_OBJECTS: usize = 256;
/// Members that usually hold the chunks, the most common first.
const LIST_NAMES: &[&str] = &[
    "chunks",
    "results",
    "documents",
    "matches",
    "passages",
    "hits",
    "docs",
    "items",
    "records",
    "nodes",
    "points",
    "retrievalResults",
    "result",
    "data",
    "value",
    "output",
];

/// A JSON value in a text that may be shared by several.
#[derive(Clone, Debug)]
pub(super) struct Located {
    text: Arc<str>,
    span: Range<usize>,
}

/// Content of an array; the least is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Contents {
    /// At least one record with a text.
    Records,
    /// Nothing.
    Empty,
    /// Texts.
    Texts,
    /// Anything else.
    Other,
}

/// Chunks found in a JSON value.
#[derive(Debug)]
pub(super) enum Found {
    /// A list of chunks.
    List(Located),
    /// The value is one chunk, or wraps one.
    Record(Located),
    /// A list whose records have no text.
    WithoutText(Located),
    /// Neither.
    Nothing,
}

struct Candidate {
    contents: Contents,
    depth: usize,
    name_rank: usize,
    value: Located,
}

impl Located {
    pub(super) fn new(text: &str) -> Self {
        Self { span: 0..text.len(), text: text.into() }
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text[self.span.clone()]
    }

    /// Returns a part of this value as a value of its own.
    fn part(&self, part: &str) -> Self {
        let start = part.as_ptr() as usize - self.text.as_ptr() as usize;
        Self { text: Arc::clone(&self.text), span: start..start + part.len() }
    }

    /// Returns the container that this value is or, as a string, holds.
    fn into_container(self) -> Option<Self> {
        match JsonKind::of_value(self.as_str()) {
            JsonKind::Object | JsonKind::Array => Some(self),
            JsonKind::String => {
                let inner = unescape(self.as_str());
                let inner = inner.trim();
                (inner.starts_with(['{', '[']) && is_json(inner)).then(|| Self::new(inner))
            }
            _ => None,
        }
    }

    fn is_array(&self) -> bool {
        JsonKind::of_value(self.as_str()) == JsonKind::Array
    }
}

/// Finds the list of chunks: an array with records that have a text, the nearest to the root, by the usual names first.
pub(super) fn find(value: Located, names: &FieldNames) -> Found {
    let Some(root) = value.into_container() else { return Found::Nothing };
    if root.is_array() {
        return match contents(&root, names) {
            Contents::Other => Found::WithoutText(root),
            _ => Found::List(root),
        };
    }
    let (mut lists, record) = search(root, names);
    let usual = |candidate: &Candidate| candidate.name_rank < LIST_NAMES.len();
    let is_only = lists.len() == 1;
    let has_records = lists.iter().any(|list| list.contents == Contents::Records);
    let has_others = lists.iter().any(|list| list.contents == Contents::Other);
    lists.sort_by_key(|list| (list.contents, !usual(list), list.depth, list.name_rank));
    let without_text =
        lists.iter().find(|list| list.contents == Contents::Other).map(|list| list.value.clone());
    let best = lists.into_iter().find(|list| match list.contents {
        Contents::Records => true,
        Contents::Empty => usual(list) || is_only && record.is_none(),
        Contents::Texts => record.is_none() && (usual(list) || is_only && !has_others),
        Contents::Other => false,
    });
    match (best, record, without_text) {
        (Some(list), None, _) => Found::List(list.value),
        (Some(list), Some(_), _) if has_records || usual(&list) => Found::List(list.value),
        (_, Some(record), _) => Found::Record(record),
        (_, None, Some(list)) => Found::WithoutText(list),
        (None, None, None) => Found::Nothing,
    }
}

/// Returns the array at a path, which may lead through strings that hold JSON.
pub(super) fn at_path(value: &Located, path: &str) -> Option<Located> {
    let root = value.clone().into_container()?;
    let members = json::members(root.as_str())?;
    let found = json::at_path(&members, path).map(|found| root.part(found))?;
    found.into_container().filter(Located::is_array)
}

/// Visits the objects from the root down. Returns all arrays, and the first object that is a chunk itself.
fn search(root: Located, names: &FieldNames) -> (Vec<Candidate>, Option<Located>) {
    let (mut lists, mut record) = (Vec::new(), None);
    let mut level = vec![root];
    let mut visited = 0;
    for depth in 0..MAX_LEVELS {
        let mut next = Vec::new();
        for object in level {
            visited += 1;
            let Some(members) = json::members(object.as_str()) else { continue };
            if record.is_none() && names.text_of(&members).is_some_and(|text| !holds_json(&text)) {
                record = Some(object.clone());
            }
            for (name, value) in &members {
                let Some(value) = object.part(value).into_container() else { continue };
                if value.is_array() {
                    let name_rank =
                        LIST_NAMES.iter().position(|usual| usual == name).unwrap_or(LIST_NAMES.len());
                    lists.push(Candidate { contents: contents(&value, names), depth, name_rank, value });
                } else if visited + next.len() < MAX_OBJECTS {
                    next.push(value);
                }
            }
        }
        level = next;
    }
    (lists, record)
}

/// Returns true for a text such as `{"data": "[…]"}` has.
fn holds_json(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(['{', '[']) && is_json(text)
}

fn contents(array: &Located, names: &FieldNames) -> Contents {
    let items = json::items(array.as_str()).unwrap_or_default();
    let has_text = |item: &&str| json::members(item).is_some_and(|members| names.text_of(&members).is_some());
    if items.is_empty() {
        Contents::Empty
    } else if items.iter().any(has_text) {
        Contents::Records
    } else if items.iter().all(|item| JsonKind::of_value(item) == JsonKind::String) {
        Contents::Texts
    } else {
        Contents::Other
    }
}
