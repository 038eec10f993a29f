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
/// Most places that an error names.
const MAX_PLACES: usize = 20;
/// Longest path of an object in an error, in characters.
const MAX_PATH: usize = 200;
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
    /// Chunks in several places of equal rank: their paths.
    Several(Vec<String>),
    /// None of these.
    Nothing,
}

/// An object or array inside the value that is searched.
#[derive(Clone)]
struct Place {
    /// Path of the object around it.
    parent: Arc<str>,
    name: String,
    /// Number of objects around it.
    depth: usize,
    value: Located,
}

/// A list of chunks, or what may be one.
struct Candidate {
    contents: Contents,
    place: Place,
    /// The chunks, if the place is an object that holds them by key.
    by_key: Option<Located>,
}

/// Lists and chunks inside a value.
#[derive(Default)]
struct Places {
    lists: Vec<Candidate>,
    /// Objects that are chunks themselves, the nearest to the root.
    records: Vec<Place>,
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

    /// Returns true if this value is a part of another.
    fn is_inside(&self, outer: &Self) -> bool {
        Arc::ptr_eq(&self.text, &outer.text)
            && outer.span.start < self.span.start
            && self.span.end <= outer.span.end
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) && self.span == other.span
    }

    fn is_array(&self) -> bool {
        JsonKind::of_value(self.as_str()) == JsonKind::Array
    }
}

impl Place {
    fn name_rank(&self) -> usize {
        LIST_NAMES.iter().position(|usual| *usual == self.name).unwrap_or(LIST_NAMES.len())
    }

    fn has_usual_name(&self) -> bool {
        self.name_rank() < LIST_NAMES.len()
    }

    fn path(&self) -> String {
        if self.parent.is_empty() { self.name.clone() } else { format!("{}.{}", self.parent, self.name) }
    }
}

impl Candidate {
    /// Returns the preference of this list; the least is preferred.
    fn rank(&self) -> (Contents, bool, usize, usize) {
        (self.contents, !self.place.has_usual_name(), self.place.depth, self.place.name_rank())
    }

    fn list(&self) -> Located {
        self.by_key.as_ref().unwrap_or(&self.place.value).clone()
    }
}

impl Places {
    /// Visits the objects from the root down, and collects all lists.
    fn search(root: Located, names: &FieldNames) -> Self {
        let mut found = Self::default();
        let mut level = vec![Place { parent: "".into(), name: String::new(), depth: 0, value: root }];
        let mut visited = 0;
        for _ in 0..MAX_LEVELS {
            let mut next = Vec::new();
            for object in level {
                visited += 1;
                let Some(members) = json::distinct_members(object.value.as_str()) else { continue };
                let path: Arc<str> = object.path().chars().take(MAX_PATH).collect::<String>().into();
                for (name, value) in &members {
                    let Some(value) = object.value.part(value).into_container() else { continue };
                    let (parent, name, depth) = (Arc::clone(&path), name.clone(), object.depth + 1);
                    let place = Place { parent, name, depth, value };
                    if place.value.is_array() {
                        let contents = contents(&place.value, names);
                        found.lists.push(Candidate { contents, place, by_key: None });
                    } else if visited + next.len() < MAX_OBJECTS {
                        next.push(place);
                    }
                }
                if is_chunk(&members, names) {
                    if found.records.first().is_none_or(|first| first.depth == object.depth) {
                        found.records.push(object);
                    }
                } else if let Some(list) = chunks_by_key(&members, names, 2) {
                    let contents = Contents::Records;
                    found.lists.push(Candidate { contents, place: object, by_key: Some(list) });
                }
            }
            level = next;
        }
        found.choose_between_nested_lists();
        found
    }

    /// Decides between an object with chunks by key and what is inside it. The object is only an envelope if it has a list of
    /// a usual name inside, and no usual name itself.
    fn choose_between_nested_lists(&mut self) {
        let objects = self.lists.iter().filter(|list| list.by_key.is_some());
        let objects: Vec<Place> = objects.map(|list| list.place.clone()).collect();
        for object in objects {
            let is_inner_list = |list: &Candidate| {
                list.contents == Contents::Records
                    && list.place.has_usual_name()
                    && list.place.value.is_inside(&object.value)
            };
            if !object.has_usual_name() && self.lists.iter().any(is_inner_list) {
                self.lists.retain(|list| !list.place.value.is_same(&object.value));
            } else {
                self.lists.retain(|list| !list.place.value.is_inside(&object.value));
                self.records.retain(|record| !record.value.is_inside(&object.value));
            }
        }
    }
}

/// Finds the list of chunks: an array with records that have a text, or an object that holds such records by key, the nearest to
/// the root, by the usual names first.
pub(super) fn find(value: Located, names: &FieldNames) -> Found {
    let Some(root) = value.into_container() else { return Found::Nothing };
    if root.is_array() {
        return match contents(&root, names) {
            Contents::Other => Found::WithoutText(root),
            _ => Found::List(root),
        };
    }
    let Places { mut lists, records } = Places::search(root, names);
    let is_only = lists.len() == 1;
    let has_records = lists.iter().any(|list| list.contents == Contents::Records);
    let has_others = lists.iter().any(|list| list.contents == Contents::Other);
    lists.sort_by_key(Candidate::rank);
    let best = lists.iter().find(|list| match list.contents {
        Contents::Records => true,
        Contents::Empty => list.place.has_usual_name() || is_only && records.is_empty(),
        Contents::Texts => records.is_empty() && (list.place.has_usual_name() || is_only && !has_others),
        Contents::Other => false,
    });
    if let Some(best) = best
        && (records.is_empty() || has_records || best.place.has_usual_name())
    {
        let equal = lists.iter().filter(|list| list.rank() == best.rank());
        let paths: Vec<String> = equal.take(MAX_PLACES).map(|list| list.place.path()).collect();
        let is_clear = paths.len() == 1 || best.contents == Contents::Empty;
        return if is_clear { Found::List(best.list()) } else { Found::Several(paths) };
    }
    let without_text = lists.iter().find(|list| list.contents == Contents::Other);
    match (records.as_slice(), without_text) {
        ([], Some(list)) => Found::WithoutText(list.list()),
        ([], None) => Found::Nothing,
        ([record], _) => Found::Record(record.value.clone()),
        (several, _) => Found::Several(several.iter().map(Place::path).collect()),
    }
}

/// Returns the list at a path, which may lead through strings that hold JSON: an array, or the values of an object of objects.
pub(super) fn at_path(value: &Located, path: &str, names: &FieldNames) -> Option<Located> {
    let root = value.clone().into_container()?;
    let members = json::members(root.as_str())?;
    let found = json::at_path(&members, path).map(|found| root.part(found))?.into_container()?;
    if found.is_array() {
        return Some(found);
    }
    let members = json::distinct_members(found.as_str())?;
    if is_chunk(&members, names) { None } else { chunks_by_key(&members, names, 0) }
}

/// Returns the values of an object as an array, if all are objects and at least some are chunks.
fn chunks_by_key(members: &[(String, &str)], names: &FieldNames, min: usize) -> Option<Located> {
    let is_object = |value: &str| JsonKind::of_value(value) == JsonKind::Object;
    if members.is_empty() || !members.iter().all(|(_, value)| is_object(value)) {
        return None;
    }
    let has_chunk = |value: &str| json::members(value).is_some_and(|members| is_chunk(&members, names));
    if members.iter().filter(|(_, value)| has_chunk(value)).count() < min {
        return None;
    }
    let values: Vec<&str> = members.iter().map(|(_, value)| *value).collect();
    Some(Located::new(&format!("[{}]", values.join(","))))
}

/// Returns true for the members of a record that has a text.
fn is_chunk(members: &[(String, &str)], names: &FieldNames) -> bool {
    names.text_of(members).is_some_and(|text| !holds_json(&text))
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
