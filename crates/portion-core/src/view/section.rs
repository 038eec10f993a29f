//! Named sections: members and operator-defined sections of an object, and headings of a document.

use portion_json::path::{key_matches, step_from_quoted};
use portion_json::projection::{FieldSelection, OmittedFields, is_path_within, pointer_to_dotted};
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;
use portion_text::names::closest_name;

use super::ViewError;
use crate::policy;
use crate::snapshot::{IndexedText, Layout, List, Member, ObjectIndex, Structure, has_identity, sole_object};

/// One section of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// Name by which it is requested.
    pub name: String,
    /// A pointer to a value, or a range of text.
    pub target: SectionTarget,
    /// Its bytes in the subject.
    pub span: Span,
    /// Type of its value, if it is one.
    pub kind: Option<JsonKind>,
}

/// Target of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SectionTarget {
    /// A value, by JSON Pointer.
    Value(String),
    /// A heading and the text below it.
    Heading,
    /// A selection of fields.
    Custom(CustomSection),
}

/// Returns the sections of a subject, in order.
pub(crate) fn sections(subject: &IndexedText) -> Vec<Section> {
    let text: &str = &subject.text;
    match &subject.structure {
        Structure::Object(members) => {
            let core = core_object(text, members);
            member_sections(text, &core.pointer, &core.members.listed)
        }
        Structure::List(list) => {
            let mut pointer = String::new();
            let mut found = Vec::new();
            for level in &list.enclosing_objects {
                found.extend(member_sections(text, &pointer, &level.members));
                pointer = format!(
                    "{pointer}/{}",
                    step_from_quoted(level.members[level.list_member].key.slice(text))
                );
            }
            found
        }
        Structure::Text(index) => index
            .headings(text)
            .into_iter()
            .map(|heading| Section {
                name: heading.title.into_owned(),
                target: SectionTarget::Heading,
                span: Span::new(heading.start, heading.end),
                kind: None,
            })
            .collect(),
    }
}

/// Returns the members of the objects around and inside the core object.
fn other_sections(subject: &IndexedText) -> Vec<Section> {
    let Structure::Object(members) = &subject.structure else { return Vec::new() };
    let (text, core) = (&subject.text, core_object(&subject.text, members).pointer);
    let levels = nested_objects(text, members).into_iter().filter(|level| level.pointer != core);
    levels.flat_map(|level| member_sections(text, &level.pointer, &level.members.listed)).collect()
}

fn member_sections(text: &str, pointer: &str, members: &[Member]) -> Vec<Section> {
    members
        .iter()
        .map(|member| Section {
            name: unescape(member.key.slice(text)),
            target: SectionTarget::Value(format!("{pointer}/{}", step_from_quoted(member.key.slice(text)))),
            span: member.value,
            kind: Some(member.kind),
        })
        .collect()
}

/// An object inside an object that stands for it.
pub(crate) struct NestedObject {
    /// JSON Pointer: `/runs/0`.
    pub pointer: String,
    /// Dotted path of its fields, without the steps of arrays: `runs`.
    pub path: String,
    /// Its members.
    pub members: ObjectIndex,
}

/// Returns the core object of an object: in `{"status":"ok","result":{…}}` it is the result. An object with an identity is a
/// record, even if one of its members makes up most of it.
pub(crate) fn core_object(text: &str, members: &ObjectIndex) -> NestedObject {
    let mut levels = nested_objects(text, members);
    let is_envelope = |at: usize| {
        let inner = levels.get(at + 1).and_then(|level| level.path.rsplit('.').next());
        inner.is_some_and(|name| WRAPPER_KEYS.contains(&name) || !has_identity(text, &levels[at].members))
    };
    let core = (0..levels.len()).find(|at| !is_envelope(*at)).unwrap_or_default();
    levels.swap_remove(core)
}

/// Returns an object and those that make up most of the one before them, outermost first.
pub(super) fn nested_objects(text: &str, members: &ObjectIndex) -> Vec<NestedObject> {
    let whole = NestedObject { pointer: String::new(), path: String::new(), members: members.clone() };
    let mut levels = vec![whole];
    while levels.len() <= MAX_NESTED
        && let Some(outer) = levels.last()
        && let Some(member) = main_member(text, &outer.members)
        && let Some(value) = sole_object(text, member)
        && let Ok(members) = ObjectIndex::parse(&mut JsonReader::resume(text, value.start as usize))
    {
        let step = step_from_quoted(member.key.slice(text));
        let index = if value == member.value { "" } else { "/0" };
        let dot = if outer.path.is_empty() { "" } else { "." };
        let path = format!("{}{dot}{}", outer.path, unescape(member.key.slice(text)));
        levels.push(NestedObject { pointer: format!("{}/{step}{index}", outer.pointer), path, members });
    }
    levels
}

/// Returns the objects around a list, outermost first.
pub(super) fn objects_around(text: &str, list: &List) -> Vec<NestedObject> {
    let (mut pointer, mut start) = (String::new(), text.len() - text.trim_start().len());
    let mut levels = Vec::new();
    for level in &list.enclosing_objects {
        let Ok(members) = ObjectIndex::parse(&mut JsonReader::resume(text, start)) else { break };
        let inner = level.members[level.list_member];
        start = inner.value.start as usize;
        let inside = format!("{pointer}/{}", step_from_quoted(inner.key.slice(text)));
        levels.push(NestedObject { path: pointer_to_dotted(&pointer), pointer, members });
        pointer = inside;
    }
    levels
}

/// Most objects that are opened inside an object.
const MAX_NESTED: usize = 3;

/// Returns the member that makes up most of an object, or that it is an envelope of.
fn main_member<'a>(text: &str, object: &'a ObjectIndex) -> Option<&'a Member> {
    let largest = object.listed.iter().max_by_key(|member| member.value.len())?;
    let rest = object.span.len() - largest.value.len();
    let is_most = largest.kind.is_container() && object.len() <= MAX_MEMBERS && rest * 4 <= object.span.len();
    if is_most { Some(largest) } else { wrapped_object(text, object) }
}

/// Most members of an object that stands for one of them.
const MAX_MEMBERS: usize = 8;

/// Names of the member of an envelope that holds its content.
const WRAPPER_KEYS: [&str; 8] = ["result", "data", "response", "payload", "body", "item", "record", "object"];

/// Returns the content of an envelope, whatever its size: its only container, an object under a wrapper name,
/// if no other member identifies the envelope itself.
pub(super) fn wrapped_object<'a>(text: &str, envelope: &'a ObjectIndex) -> Option<&'a Member> {
    let mut objects = envelope.listed.iter().filter(|member| member.kind.is_container());
    let (only, None) = (objects.next()?, objects.next()) else { return None };
    let named = WRAPPER_KEYS.iter().any(|name| key_matches(text, only.key, name));
    let wraps =
        named && only.kind == JsonKind::Object && only.value.len() > 2 && envelope.len() <= MAX_MEMBERS;
    (wraps && !has_identity(text, envelope)).then_some(only)
}

impl Section {
    /// Returns the dotted path of its value, if it is one.
    pub(crate) fn path(&self) -> Option<String> {
        match &self.target {
            SectionTarget::Value(pointer) => Some(pointer_to_dotted(pointer)),
            SectionTarget::Heading | SectionTarget::Custom(_) => None,
        }
    }

    /// Returns true if it is contained in an operator-defined section, or has the same name.
    pub(crate) fn is_covered_by(&self, made: &CustomSection) -> bool {
        let (SectionTarget::Value(pointer), SectionScope::Object(within)) = (&self.target, &made.scope)
        else {
            return false;
        };
        let path = pointer.strip_prefix(within.as_str()).map(pointer_to_dotted);
        self.name == made.name
            || path.is_some_and(|path| made.fields.paths().iter().any(|field| is_path_within(&path, field)))
    }
}

/// A section defined by an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CustomSection {
    /// Name by which it is requested.
    pub name: String,
    /// Fields in it.
    pub fields: FieldSelection,
    /// Scope of the fields.
    pub scope: SectionScope,
}

/// Scope of the fields of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SectionScope {
    /// An object in the subject, by JSON Pointer.
    Object(String),
    /// Each item of a list.
    Items,
}

impl CustomSection {
    /// Projects the text of an object to the section's fields.
    pub(crate) fn project(&self, text: &str) -> String {
        let mut written = String::new();
        self.fields.project_for_display(text, &mut written, &mut OmittedFields::new());
        written
    }
}

/// Returns the operator-defined sections of which a subject has any field, in order.
///
/// They apply to the core object, otherwise to the object as a whole, even if it contains a list, otherwise
/// to each item of a list.
pub(crate) fn custom_sections(subject: &IndexedText, given: &[policy::NamedSection]) -> Vec<CustomSection> {
    let text: &str = &subject.text;
    let inside = match &subject.structure {
        Structure::Object(members) if !given.is_empty() => Some(core_object(text, members)),
        _ => None,
    };
    let made = |section: &policy::NamedSection| {
        let fields: FieldSelection = section.fields.iter().map(|field| pointer_to_dotted(field)).collect();
        let core = inside.as_ref().filter(|core| record_has_any(core.members.span.slice(text), &fields));
        let of = match core {
            Some(core) => SectionScope::Object(core.pointer.clone()),
            None if record_has_any(text, &fields) => SectionScope::Object(String::new()),
            None if subject_has_any(subject, &fields) => SectionScope::Items,
            None => return None,
        };
        Some(CustomSection { name: section.name.clone(), fields, scope: of })
    };
    given.iter().filter_map(made).collect()
}

/// Finds a heading below others, given as `usage/overview` or `usage > overview` in lower case. A heading alone may occur
/// several times in a text.
fn nested_section<'a>(all: &'a [Section], wanted: &str) -> Option<&'a Section> {
    let steps: Vec<&str> = wanted.split(['/', '>']).map(str::trim).collect();
    let (last, parents) = steps.split_last().filter(|(_, parents)| !parents.is_empty())?;
    // Headings around the next one, the innermost last: name and end.
    let mut around: Vec<(String, u32)> = Vec::new();
    all.iter().filter(|section| matches!(section.target, SectionTarget::Heading)).find(|section| {
        while around.pop_if(|(_, end)| *end <= section.span.start).is_some() {}
        let name = section.name.trim().to_lowercase();
        let mut outward = around.iter().rev();
        let is_found =
            name == *last && parents.iter().rev().all(|parent| outward.any(|(name, _)| name == parent));
        around.push((name, section.span.end));
        is_found
    })
}

/// Returns the other headings of a text that have the same words as the one with a span, below the headings around them and
/// with their lines: `Usage/Overview, line 12`.
pub(crate) fn same_headings(subject: &IndexedText, span: Span) -> Vec<String> {
    let headings = sections(subject);
    let Structure::Text(index) = &subject.structure else { return Vec::new() };
    let Some(own) = headings.iter().find(|heading| heading.span == span) else { return Vec::new() };
    let wanted = own.name.trim().to_lowercase();
    let mut around: Vec<&Section> = Vec::new();
    let mut found = Vec::new();
    for heading in &headings {
        while around.pop_if(|above| above.span.end <= heading.span.start).is_some() {}
        if heading.span != span && heading.name.trim().to_lowercase() == wanted {
            let above = around.last().map_or_else(String::new, |above| format!("{}/", above.name));
            let line = index.line_at(&subject.text, heading.span.start as usize) + 1;
            found.push(format!("{above}{}, line {line}", heading.name));
        }
        around.push(heading);
    }
    found
}

/// Returns the section with a name: an exact match, otherwise a match without case, otherwise a heading below others, otherwise
/// the only section with that prefix.
pub(super) fn find_section(
    subject: &IndexedText,
    name: &str,
    given: &[policy::NamedSection],
) -> Result<Section, ViewError> {
    let made = custom_sections(subject, given).into_iter().map(|made| Section {
        name: made.name.clone(),
        target: SectionTarget::Custom(made),
        span: Span::default(),
        kind: None,
    });
    let all: Vec<Section> = made.chain(sections(subject)).chain(other_sections(subject)).collect();
    let wanted = name.trim().trim_start_matches('#').trim().to_lowercase();
    let lower = |section: &&Section| section.name.trim().to_lowercase();
    let exact = all.iter().find(|section| section.name == name);
    let same = || all.iter().find(|section| lower(section) == wanted);
    let only = || {
        let mut begin = all.iter().filter(|section| lower(section).starts_with(&wanted));
        begin.next().filter(|_| !wanted.is_empty() && begin.next().is_none())
    };
    let nested = || nested_section(&all, &wanted);
    let is_text = matches!(subject.structure, Structure::Text(_));
    let last_step = name.rsplit(['/', '>']).next().filter(|_| is_text).map_or(name, str::trim);
    exact.or_else(same).or_else(nested).or_else(only).cloned().ok_or_else(|| ViewError::Section {
        given: name.to_owned(),
        nearest: closest_name(last_step, all.iter().map(|section| section.name.as_str())),
        available: all.into_iter().map(|section| section.name).collect(),
        is_text,
    })
}

/// Returns true if a record is an object that has any of these fields.
pub(crate) fn record_has_any(record: &str, fields: &FieldSelection) -> bool {
    record.trim_start().starts_with('{')
        && fields.project(record, &mut String::new(), &mut OmittedFields::new())
}

/// Returns true if any record of a subject has any of these fields.
pub(crate) fn subject_has_any(subject: &IndexedText, fields: &FieldSelection) -> bool {
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

#[cfg(test)]
mod tests {
    use super::{same_headings, sections};
    use crate::snapshot::{IndexedText, Slice};

    #[test]
    fn other_headings_with_the_same_words_are_named_below_their_parents() {
        let text =
            "# Setup\n\n## Overview\n\nA.\n\n# Usage\n\n## overview\n\nB.\n\n## Rest\n\n# Overview\n\nC.\n";
        let subject = IndexedText::from_payload(Slice::new(text.to_owned()));
        let check = |at: usize, expect: &[&str]| {
            let span = sections(&subject)[at].span;
            assert_eq!(same_headings(&subject, span), expect, "{at}");
        };
        check(1, &["Usage/overview, line 9", "Overview, line 15"]);
        check(5, &["Setup/Overview, line 3", "Usage/overview, line 9"]);
        check(4, &[]);
    }
}
