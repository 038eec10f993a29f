//! Finds the arrays and maps in an object that are tables.

use std::sync::Arc;

use portion_core::snapshot::{IndexedText, Layout, List, Slice, Structure, joined_records, main_lists};
use portion_json::containers::{Member, items, members};
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;

use super::last_step;

/// Maximum number of tables.
pub(super) const MAX_TABLES: usize = 100;
/// Maximum levels of objects that are searched for arrays of objects.
pub(super) const MAX_DEPTH: usize = 8;

/// An array in an object, or a map that is treated as one.
#[derive(Clone, Debug)]
pub(super) struct ArrayLocation {
    pub(super) name: String,
    /// Path from the searched object: `owner.pets`.
    pub(super) path: String,
    pub(super) span: Span,
    /// Kind of the first item.
    pub(super) first_kind: Option<JsonKind>,
    /// Set for a map of similar objects, which is treated as a list.
    pub(super) map_list: Option<(Slice, Arc<List>)>,
}

impl ArrayLocation {
    /// Returns true for an array of records, and for one without elements that is no member of another object.
    pub(super) fn is_table(&self) -> bool {
        match self.first_kind {
            Some(kind) => kind == JsonKind::Object,
            None => self.name == self.path,
        }
    }
}

/// Returns the other arrays of objects around a list.
pub(super) fn sibling_arrays(text: &Slice, list: &List) -> Vec<ArrayLocation> {
    let mut found = Vec::new();
    for (at, level) in list.enclosing_objects.iter().enumerate() {
        let innermost = at + 1 == list.enclosing_objects.len();
        for (place, member) in level.members.iter().enumerate() {
            let header = matches!(list.layout, Layout::Table { header, .. } if innermost && header == place);
            if place != level.list_member && !header {
                let name = unescape(member.key.slice(text));
                add_array(text, member.value, (name.clone(), name), MAX_DEPTH, &mut found);
            }
        }
    }
    found.retain(ArrayLocation::is_table);
    found
}

/// Collects the arrays, and the maps of similar objects, in an object; recursion is bounded by `depth`.
pub(super) fn collect_arrays(
    text: &Slice,
    object: Span,
    path: &str,
    depth: usize,
    found: &mut Vec<ArrayLocation>,
) {
    for member in members(text, object) {
        if found.len() >= MAX_TABLES {
            return;
        }
        let name = unescape(member.key.slice(text));
        let path = path_to(path, &name);
        add_array(text, member.value, (name, path), depth, found);
    }
}

fn path_to(object: &str, name: &str) -> String {
    if object.is_empty() { name.to_owned() } else { format!("{object}.{name}") }
}

/// Adds an array or a map of similar objects, or those in another object.
fn add_array(
    text: &Slice,
    value: Span,
    (name, path): (String, String),
    depth: usize,
    found: &mut Vec<ArrayLocation>,
) {
    match JsonKind::of_value(value.slice(text)) {
        JsonKind::Array => {
            let first_kind = items(text, value).next().map(|first| JsonKind::of_value(first.slice(text)));
            found.push(ArrayLocation { name, path, span: value, first_kind, map_list: None });
        }
        JsonKind::Object if depth > 1 => match map_list(text, value) {
            None => collect_arrays(text, value, &path, depth - 1, found),
            map_list => {
                let first_kind = Some(JsonKind::Object);
                found.push(ArrayLocation { name, path, span: value, first_kind, map_list });
            }
        },
        _ => {}
    }
}

/// Returns the list of an object that is a map of similar objects.
fn map_list(text: &Slice, object: Span) -> Option<(Slice, Arc<List>)> {
    members(text, object).next().filter(|first| first.value.slice(text).starts_with('{'))?;
    let subject = IndexedText::from_value(&text.subslice(object));
    let Structure::List(list) = subject.structure else { return None };
    (list.layout == Layout::Map && list.enclosing_objects.is_empty()).then_some((subject.text, list))
}

/// Names of lists in the objects that APIs put around them.
const LIST_NAMES: [&str; 12] = [
    "data", "entries", "hits", "items", "list", "nodes", "objects", "records", "result", "results", "rows",
    "values",
];
/// Parts of the names of numbers that count a list.
const COUNT_WORDS: [&str; 4] = ["total", "count", "matches", "found"];

/// Returns the empty list of an object that has no other array: it has a name of lists, is alone, or is counted as 0.
/// `arrays`: those of the object.
pub(super) fn empty_list(text: &Slice, span: Span, arrays: &[ArrayLocation]) -> Option<ArrayLocation> {
    let [only] = arrays else { return None };
    let members: Vec<Member> = members(text, span).collect();
    let is_count = |member: &Member| {
        let name = unescape(member.key.slice(text)).to_lowercase();
        member.value.slice(text) == "0" && COUNT_WORDS.iter().any(|word| name.contains(word))
    };
    let is_list =
        LIST_NAMES.contains(&only.name.as_str()) || members.len() == 1 || members.iter().any(is_count);
    (only.first_kind.is_none() && is_list).then(|| only.clone())
}

/// Returns the members of an object, and theirs, that are objects of objects, however different: the `paths` of
/// an `OpenAPI` document. Their members are rows.
pub(super) fn maps_of_objects(text: &Slice, span: Span) -> Vec<ArrayLocation> {
    let mut found = Vec::new();
    let mut open = vec![(span, String::new())];
    while let Some((object, above)) = open.pop() {
        for member in members(text, object).filter(|member| member.value.slice(text).starts_with('{')) {
            let (name, span) = (unescape(member.key.slice(text)), member.value);
            let path = path_to(&above, &name);
            if above.is_empty() {
                open.push((span, path.clone()));
            }
            if found.len() < MAX_TABLES && is_object_of_objects(text, span) {
                let first_kind = Some(JsonKind::Object);
                found.push(ArrayLocation { name, path, span, first_kind, map_list: None });
            }
        }
    }
    found
}

/// Returns the name and the records of the main list of an object that is a map, or several lists at places that are alike, none
/// of them in another list. `arrays`: the arrays of records in the object.
pub(super) fn joined_main(
    text: &str,
    span: Span,
    arrays: &[ArrayLocation],
) -> Option<(Option<String>, String)> {
    let lists = main_lists(text, span).into_iter().next()?;
    let (outer, _) = lists.pattern.split_once("/*").unwrap_or((&lists.pattern, ""));
    // An object of lists or records is one record.
    if outer.is_empty() {
        return None;
    }
    let path = outer.trim_start_matches('/').replace('/', ".");
    let is_listed = arrays.iter().any(|array| array.path == path || array.map_list.is_some());
    if lists.byte_count * 2 <= span.len() || is_listed {
        return None;
    }
    let records = joined_records(text, span, &lists.pattern)?;
    Some((last_step(&lists.pattern).filter(|name| name != "*"), records))
}

/// Returns true if an object has at least two members, all of them objects.
pub(super) fn is_object_of_objects(text: &str, object: Span) -> bool {
    let mut count = 0;
    members(text, object).all(|member| {
        count += 1;
        member.value.slice(text).starts_with('{')
    }) && count >= 2
}
