//! Finds the fields of records by name.

use std::collections::BTreeSet;

use portion_json::containers::{Member, items, members};
use portion_json::path::key_matches;
use portion_json::projection::{is_path_within, pointer_to_dotted, split_names};
use portion_json::scan::{JsonKind, unescape};
use portion_json::span::Span;
use portion_text::names::{closest_name, equivalent_name};

use super::{NestedObject, RequestedFields, Target, View, ViewError, section};
use crate::redact::is_redacted_field;
use crate::snapshot::{IndexedText, LIST_NAMES, Layout, List, ListProfile, Snapshot, Structure};

/// Returns true for an empty list, alone or in the response of an API. Any field may be named of its records.
fn has_no_records(subject: &IndexedText) -> bool {
    match &subject.structure {
        Structure::List(list) => list.is_empty(),
        Structure::Object(_) => {
            let text = &subject.text;
            let root = Span::new(text.len() - text.trim_start().len(), text.len());
            let is_empty_list = |member: Member| {
                let is_list = LIST_NAMES.iter().any(|name| key_matches(text, member.key, name));
                is_list
                    && JsonKind::of_value(member.value.slice(text)) == JsonKind::Array
                    && items(text, member.value).next().is_none()
            };
            members(text, root).any(is_empty_list)
        }
        Structure::Text(_) => false,
    }
}

/// Returns the named fields, each of which some record has.
pub(crate) fn select_fields(
    snapshot: &Snapshot,
    view: &View,
    names: &str,
) -> Result<RequestedFields, ViewError> {
    if matches!(names.trim(), "all" | "*") {
        return Ok(RequestedFields::All);
    }
    let subjects: Vec<&IndexedText> = match &view.target {
        Target::Value(value) => vec![&value.subject],
        Target::Everything => snapshot.parts().iter().filter_map(|part| part.indexed_text()).collect(),
    };
    let json: Vec<&IndexedText> = subjects.into_iter().filter(|subject| subject.is_json()).collect();
    if json.is_empty() {
        return Err(ViewError::TextHasNoFields);
    }
    let mut scopes: Vec<FieldScope<'_>> = json.iter().map(|subject| FieldScope::new(subject)).collect();
    let names = split_names(names, |name| scopes.iter().any(|scope| scope.path(name).is_some()));
    if let Some(error) = exclusion(&scopes, &names) {
        return Err(error);
    }
    scopes.iter_mut().for_each(|scope| scope.prefer_object_with(&names));
    let is_list = |name: &String| scopes.iter().any(|scope| scope.is_list(name));
    if names.iter().any(is_list) || json.iter().all(|subject| has_no_records(subject)) {
        return Ok(RequestedFields::Auto);
    }
    let mut paths = Vec::new();
    for name in names.iter().map(String::as_str) {
        let found: Vec<String> = scopes.iter().filter_map(|scope| scope.path(name)).collect();
        if found.is_empty() && name == "all" {
            return Err(ViewError::Conflict { one: "fields=all", other: "names of fields" });
        }
        if found.is_empty() {
            let available = available_names(&scopes);
            let equivalent = || equivalent_name(name, available.iter().map(String::as_str));
            if let Some(meant) = nearest_field(name, &available).or_else(equivalent) {
                paths.extend(scopes.iter().filter_map(|scope| scope.path(meant)));
                continue;
            }
            // A field of the queried records says nothing about an answer of other columns.
            if snapshot.answer().is_some_and(|answer| answer.has_known_fields) {
                return Ok(RequestedFields::Auto);
            }
            let given = pointer_to_dotted(name);
            if is_redacted_field(snapshot.redacted(), &given) {
                return Err(ViewError::RedactedField { given });
            }
            let nearest = closest_name(name, available.iter().map(String::as_str));
            return Err(ViewError::Field { given, nearest, available });
        }
        paths.extend(found);
    }
    Ok(RequestedFields::Only(paths.into_iter().collect()))
}

/// Returns the names of the fields of all values, each once.
fn available_names(scopes: &[FieldScope<'_>]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let names = scopes.iter().flat_map(FieldScope::names);
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// Characters before a name that say in other query languages that the field is left out.
const EXCLUSION_MARKS: [char; 3] = ['-', '!', '^'];

/// Returns the error for names that say which fields to leave out: `-note`. It names the fields that remain.
fn exclusion(scopes: &[FieldScope<'_>], names: &[String]) -> Option<ViewError> {
    if !names.iter().any(|name| name.starts_with(EXCLUSION_MARKS)) {
        return None;
    }
    let all = available_names(scopes);
    let find = |name: &str| scopes.iter().find_map(|scope| scope.path(name));
    let equivalent = |name: &str| equivalent_name(name, all.iter().map(String::as_str)).map(str::to_owned);
    let split = |name: &str| {
        let rest = name.strip_prefix(EXCLUSION_MARKS).map(str::trim).filter(|_| find(name).is_none());
        match rest.and_then(|rest| find(rest).or_else(|| equivalent(rest))) {
            Some(excluded) => Err(excluded),
            None => Ok(name.to_owned()),
        }
    };
    let (mut excluded, mut shown) = (Vec::new(), Vec::new());
    for name in names {
        match split(name) {
            Err(left_out) => excluded.push(left_out),
            Ok(name) => shown.push(name),
        }
    }
    if excluded.is_empty() {
        return None;
    }
    if shown.iter().all(|name| matches!(name.as_str(), "all" | "*")) {
        shown.clear();
        shown.extend(all);
    }
    let mut seen = BTreeSet::new();
    shown.retain(|name| !excluded.iter().any(|out| is_path_within(name, out)) && seen.insert(name.clone()));
    Some(ViewError::Exclusion { excluded, rest: shown })
}

/// The items and objects of a subject in which fields are looked up.
struct FieldScope<'a> {
    subject: &'a IndexedText,
    /// Dotted paths and texts of the objects, in the order of the search. Those of a list are around it.
    levels: Vec<(String, &'a str)>,
}

impl<'a> FieldScope<'a> {
    /// Creates the scope of a subject. An object is searched from its root inwards, but the content of an envelope before the
    /// envelope itself. The items of a list are searched before the objects around it.
    fn new(subject: &'a IndexedText) -> Self {
        let text: &str = &subject.text;
        let mut levels = match &subject.structure {
            Structure::Object(members) => section::nested_objects(text, members),
            Structure::List(list) => section::objects_around(text, list),
            Structure::Text(_) => Vec::new(),
        };
        let is_envelope = |level: &&NestedObject| section::wrapped_object(text, &level.members).is_some();
        let envelopes = levels.iter().take_while(is_envelope).count();
        levels[..envelopes].reverse();
        levels.rotate_left(envelopes);
        let level = |level: NestedObject| (level.path, level.members.span.slice(text));
        Self { subject, levels: levels.into_iter().map(level).collect() }
    }

    /// Searches the first object that has all of these fields before the others.
    fn prefer_object_with(&mut self, names: &[String]) {
        let has_all = |(_, object): &(String, &str)| {
            names.iter().all(|name| has_dotted(object, &pointer_to_dotted(name)))
        };
        if let Some(at) = self.levels.iter().position(&has_all) {
            self.levels[..=at].rotate_right(1);
        } else if let Some((outer, object)) = self.levels.first().map(|(outer, object)| (outer, *object)) {
            let level = |member: Member| {
                (join(outer, &unescape(member.key.slice(object))), member.value.slice(object))
            };
            let inside = members(object, Span::new(0, object.len())).map(level).find(has_all);
            self.levels.splice(0..0, inside);
        }
    }

    /// Returns the dotted path of a field that a caller names, if the subject has it. A JSON Pointer always begins at the root.
    fn path(&self, name: &str) -> Option<String> {
        let dotted = pointer_to_dotted(name);
        self.item_path(&dotted).or_else(|| self.object_path(name, &dotted))
    }

    /// Returns the path of a field of the items of a list.
    fn item_path(&self, dotted: &str) -> Option<String> {
        let Structure::List(list) = &self.subject.structure else { return None };
        let below = dotted.strip_prefix(&pointer_to_dotted(&list.pointer));
        let inside = below.and_then(|rest| rest.strip_prefix('.'));
        // Queries use `_key` for the key of a map entry.
        let has = |path: &&str| {
            list.layout == Layout::Map && *path == "_key"
                || section::subject_has_any(self.subject, &std::iter::once((*path).to_owned()).collect())
        };
        [Some(dotted), inside].into_iter().flatten().find(has).map(str::to_owned)
    }

    /// Returns the path of a field of the objects.
    fn object_path(&self, name: &str, dotted: &str) -> Option<String> {
        let is_searched = |outer: &str| outer.is_empty() || !name.starts_with('/');
        let mut levels = self.levels.iter().filter(|(outer, _)| is_searched(outer));
        let (outer, _) = levels.find(|(_, object)| has_dotted(object, dotted))?;
        Some(join(outer, dotted))
    }

    /// Returns true if a caller names the list, or an object around it.
    fn is_list(&self, name: &str) -> bool {
        let Structure::List(list) = &self.subject.structure else { return false };
        let dotted = pointer_to_dotted(name);
        self.item_path(&dotted).is_none()
            && self
                .object_path(name, &dotted)
                .is_some_and(|path| is_path_within(&pointer_to_dotted(&list.pointer), &path))
    }

    /// Returns the names of the fields, the highest-ranked first.
    fn names(&self) -> Vec<String> {
        match (&self.subject.structure, self.levels.first()) {
            (Structure::List(list), _) => list_field_names(list),
            (_, Some((_, object))) => {
                ListProfile::record_fields(object).into_iter().map(|field| field.path).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Joins dotted paths.
fn join(outer: &str, path: &str) -> String {
    if outer.is_empty() { path.to_owned() } else { format!("{outer}.{path}") }
}

/// Returns true if an object has a field at a dotted path.
fn has_dotted(object: &str, path: &str) -> bool {
    section::record_has_any(object, &std::iter::once(path.to_owned()).collect())
}

/// Returns the only path that leads to a field with a name in as few steps as possible.
fn nearest_field<'a>(name: &str, paths: &'a [String]) -> Option<&'a str> {
    let depth = |path: &str| path.split('.').count();
    let ends = |path: &&str| path.strip_suffix(name).is_some_and(|outer| outer.ends_with('.'));
    let found = || paths.iter().map(String::as_str).filter(ends);
    let min = found().map(depth).min()?;
    let mut nearest = found().filter(|path| depth(path) == min);
    nearest.next().filter(|_| nearest.next().is_none())
}

/// Returns the field names of a list's items, the highest-ranked first; for a table, its columns.
pub(crate) fn list_field_names(list: &List) -> Vec<String> {
    match &list.layout {
        Layout::Table { columns, .. } => columns.clone(),
        _ => list.profile.fields.iter().map(|field| field.path.clone()).collect(),
    }
}
