//! Finds the arrays and maps in an object that are tables.

use std::sync::Arc;

use portion_core::snapshot::{IndexedText, Layout, List, Slice, Structure, joined_records, main_lists};
use portion_json::containers::{Member, members};
use portion_json::scan::{JsonKind, JsonReader, unescape};
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

/// Returns the other arrays of objects around a list.
pub(super) fn sibling_arrays(text: &Slice, list: &List) -> Vec<ArrayLocation> {
    let mut found = Vec::new();
    for (at, level) in list.enclosing_objects.iter().enumerate() {
        let innermost = at + 1 == list.enclosing_objects.len();
        for (place, member) in level.members.iter().enumerate() {
            let header = matches!(list.layout, Layout::Table { header, .. } if innermost && header == place);
            if place != level.list_member && !header {
                let mut reader = JsonReader::resume(text, member.value.start as usize);
                let name = unescape(member.key.slice(text));
                match member.kind {
                    JsonKind::Array => found.extend(read_array(&mut reader, name.clone(), name)),
                    JsonKind::Object => match read_map(text, &reader, name.clone(), name.clone()) {
                        Some(map) => found.push(map),
                        None => collect_arrays(text, &mut reader, &name, MAX_DEPTH - 1, &mut found),
                    },
                    _ => {}
                }
            }
        }
    }
    found.retain(|array| array.first_kind == Some(JsonKind::Object));
    found
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

/// Reads the array at the reader and moves past it.
fn read_array(reader: &mut JsonReader<'_>, name: String, path: String) -> Option<ArrayLocation> {
    let mut inside = reader.clone();
    let some = inside.enter_array().is_ok() && inside.next_item() == Ok(true);
    let first = if some { inside.peek().ok() } else { None };
    let span = reader.skip().ok()?;
    Some(ArrayLocation { name, path, span, first_kind: first, map_list: None })
}

/// Reads the object at the reader if it is a map of similar objects.
fn read_map(text: &Slice, reader: &JsonReader<'_>, name: String, path: String) -> Option<ArrayLocation> {
    let mut inside = reader.clone();
    inside.enter_object().ok()?;
    inside.next_key().ok()??;
    let first = inside.peek().ok().filter(|kind| *kind == JsonKind::Object)?;
    let span = reader.clone().skip().ok()?;
    let subject = IndexedText::from_value(&text.subslice(span));
    let Structure::List(list) = subject.structure else { return None };
    let map =
        (list.layout == Layout::Map && list.enclosing_objects.is_empty()).then_some((subject.text, list))?;
    Some(ArrayLocation { name, path, span, first_kind: Some(first), map_list: Some(map) })
}

/// Returns the members of an object, and theirs, that are objects of objects, however different: the `paths` of
/// an `OpenAPI` document. Their members are rows.
pub(super) fn maps_of_objects(text: &Slice, span: Span) -> Vec<ArrayLocation> {
    let mut found = Vec::new();
    let mut open = vec![(JsonReader::resume(text, span.start as usize), String::new())];
    while let Some((mut reader, path)) = open.pop() {
        if reader.enter_object().is_err() {
            continue;
        }
        while let Ok(Some(key)) = reader.next_key() {
            let name = unescape(reader.text(key));
            let inner = reader.clone();
            let is_object = reader.peek() == Ok(JsonKind::Object);
            let Ok(span) = reader.skip() else { break };
            if !is_object || found.len() >= MAX_TABLES {
                continue;
            }
            let full = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            if is_object_of_objects(inner.clone()) {
                let first_kind = Some(JsonKind::Object);
                found.push(ArrayLocation { name, path: full.clone(), span, first_kind, map_list: None });
            }
            if path.is_empty() {
                open.push((inner, full));
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

/// Returns true if the object at the reader has at least two members, all of them objects.
pub(super) fn is_object_of_objects(mut reader: JsonReader<'_>) -> bool {
    let mut count = 0;
    if reader.enter_object().is_err() {
        return false;
    }
    while let Ok(Some(_)) = reader.next_key() {
        if reader.peek() != Ok(JsonKind::Object) || reader.skip().is_err() {
            return false;
        }
        count += 1;
    }
    count >= 2
}

/// Collects the arrays, and the maps of similar objects, in the object at the reader; recursion is
/// bounded by `depth`.
pub(super) fn collect_arrays(
    text: &Slice,
    reader: &mut JsonReader<'_>,
    path: &str,
    depth: usize,
    found: &mut Vec<ArrayLocation>,
) {
    if reader.enter_object().is_err() {
        return;
    }
    while let Ok(Some(key)) = reader.next_key() {
        let Ok(kind) = reader.peek() else { return };
        if !kind.is_container() || found.len() >= MAX_TABLES || (kind == JsonKind::Object && depth <= 1) {
            if reader.skip().is_err() {
                return;
            }
            continue;
        }
        let name = unescape(reader.text(key));
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let map_location =
            (kind == JsonKind::Object).then(|| read_map(text, reader, name.clone(), path.clone())).flatten();
        if let Some(map) = map_location {
            found.push(map);
            if reader.skip().is_err() {
                return;
            }
        } else if kind == JsonKind::Object {
            collect_arrays(text, reader, &path, depth - 1, found);
        } else if let Some(array) = read_array(reader, name, path) {
            found.push(array);
        } else {
            return;
        }
    }
}
