//! Finds the fields of records by name.

use std::collections::BTreeSet;

use portion_json::containers::{Member, items, members};
use portion_json::name_list::split_names;
use portion_json::path::key_matches;
use portion_json::projection::{FieldSelection, OmittedFields, is_path_within, pointer_to_dotted};
use portion_json::scan::JsonKind;
use portion_json::span::Span;
use portion_text::spelling::{closest_name, equivalent_name};

use super::{RequestedFields, Target, View, ViewError, section};
use crate::redact::is_redacted_field;
use crate::snapshot::{IndexedText, Layout, List, Snapshot, Structure};

/// Names of the list in the response of an API.
const LIST_NAMES: [&str; 8] = ["data", "entries", "hits", "items", "records", "result", "results", "rows"];

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
    let fields = FieldSelection::parse(names);
    if matches!(names.trim(), "all" | "*") {
        return Ok(RequestedFields::All);
    }
    let subjects: Vec<&IndexedText> = match &view.target {
        Target::Value(node) => vec![&node.subject],
        Target::Everything => snapshot.parts().iter().filter_map(|part| part.indexed_text()).collect(),
    };
    let json: Vec<&IndexedText> = subjects.into_iter().filter(|subject| subject.is_json()).collect();
    if json.is_empty() {
        return Err(ViewError::TextHasNoFields);
    }
    if snapshot.answer().is_some_and(|answer| answer.has_known_fields) {
        return Ok(RequestedFields::Only(fields));
    }
    let names = split_names(names, |name| json.iter().any(|subject| field_path(subject, name).is_some()));
    if let Some(error) = exclusion(&json, &names) {
        return Err(error);
    }
    if json.iter().all(|subject| has_no_records(subject)) {
        return Ok(RequestedFields::Auto);
    }
    let mut paths = Vec::new();
    for name in names.iter().map(String::as_str) {
        let found: Vec<String> = json.iter().filter_map(|subject| field_path(subject, name)).collect();
        if found.is_empty() && name == "all" {
            return Err(ViewError::Conflict { one: "fields=all", other: "names of fields" });
        }
        if found.is_empty() {
            let available = available_names(&json);
            if let Some(meant) = equivalent_name(name, available.iter().map(String::as_str)) {
                paths.extend(json.iter().filter_map(|subject| field_path(subject, meant)));
                continue;
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
fn available_names(json: &[&IndexedText]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let names = json.iter().flat_map(|subject| field_names(subject));
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// Characters before a name that say in other query languages that the field is left out.
const EXCLUSION_MARKS: [char; 3] = ['-', '!', '^'];

/// Returns the error for names that say which fields to leave out: `-note`. It names the fields that remain.
fn exclusion(json: &[&IndexedText], names: &[String]) -> Option<ViewError> {
    if !names.iter().any(|name| name.starts_with(EXCLUSION_MARKS)) {
        return None;
    }
    let all = available_names(json);
    let find = |name: &str| json.iter().find_map(|subject| field_path(subject, name));
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

/// Returns the dotted path of a field that a caller names, if a subject has it. The core object comes before
/// the root. A JSON Pointer always begins at the root.
fn field_path(subject: &IndexedText, name: &str) -> Option<String> {
    let dotted = pointer_to_dotted(name);
    if let (Structure::Object(members), false) = (&subject.structure, name.starts_with('/')) {
        let (pointer, inner) = section::core_object(&subject.text, members);
        let own: FieldSelection = std::iter::once(dotted.clone()).collect();
        if !pointer.is_empty() && record_has_any(inner.span.slice(&subject.text), &own) {
            return Some(format!("{}.{dotted}", pointer_to_dotted(&pointer)));
        }
    }
    has_field(subject, &dotted).then_some(dotted)
}

/// Returns true if any record of a subject has a field.
fn has_field(subject: &IndexedText, name: &str) -> bool {
    // Queries use this name for the key of a map entry.
    let is_map = matches!(&subject.structure, Structure::List(list) if list.layout == Layout::Map);
    is_map && name == "_key" || subject_has_any(subject, &std::iter::once(name.to_owned()).collect())
}

/// Returns true if a record is an object that has any of these fields.
pub(super) fn record_has_any(record: &str, fields: &FieldSelection) -> bool {
    record.trim_start().starts_with('{')
        && fields.project(record, &mut String::new(), &mut OmittedFields::new())
}

/// Returns true if any record of a subject has any of these fields.
pub(super) fn subject_has_any(subject: &IndexedText, fields: &FieldSelection) -> bool {
    let text: &str = &subject.text;
    match &subject.structure {
        Structure::Object(_) => record_has_any(text, fields),
        Structure::Text(_) => false,
        Structure::List(list) => match &list.layout {
            Layout::Table { columns, .. } => columns.iter().any(|column| fields.selects(column)),
            _ => {
                list.profile.fields.iter().any(|field| fields.selects(&field.path))
                    || list.iter_from(text, 0).any(|item| record_has_any(item.value.slice(text), fields))
            }
        },
    }
}

/// Returns the names of a subject's fields, the highest-ranked first.
pub(crate) fn field_names(subject: &IndexedText) -> Vec<String> {
    match &subject.structure {
        Structure::List(list) => list_field_names(list),
        Structure::Object(members) => {
            // Fields of the core object are named as top-level fields.
            let (_, inner) = section::core_object(&subject.text, members);
            let fields = crate::snapshot::ListProfile::record_fields(inner.span.slice(&subject.text));
            fields.into_iter().map(|field| field.path).collect()
        }
        Structure::Text(_) => Vec::new(),
    }
}

/// Returns the field names of a list's items, the highest-ranked first; for a table, its columns.
pub(crate) fn list_field_names(list: &List) -> Vec<String> {
    match &list.layout {
        Layout::Table { columns, .. } => columns.clone(),
        _ => list.profile.fields.iter().map(|field| field.path.clone()).collect(),
    }
}
