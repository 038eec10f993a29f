//! Named sections: of an object those that an operator made and its larger members, of a document its headings.

use super::ViewError;
use super::resolve::{record_has_any, subject_has_any};
use crate::chunk::outline::headings;
use crate::json_pointer::step_from_quoted;
use crate::policy;
use crate::projection::{FieldSelection, OmittedFields, is_path_within, pointer_to_dotted};
use crate::scan::{JsonKind, JsonReader, unescape};
use crate::snapshot::{IndexedText, Member, ObjectIndex, Structure, has_identity, key_matches};
use crate::span::Span;
use crate::spelling::closest_name;

/// One section of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// What it is asked for by.
    pub name: String,
    /// Where it is: a pointer to a value, or a stretch of text.
    pub target: SectionTarget,
    /// Its bytes in the subject.
    pub span: Span,
    /// What it is, where it is a value.
    pub kind: Option<JsonKind>,
}

/// Where a section is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SectionTarget {
    /// A value, by JSON Pointer.
    Value(String),
    /// A heading and what is under it.
    Heading,
    /// Some fields.
    Custom(CustomSection),
}

/// The sections of a subject, in order.
pub(crate) fn sections(subject: &IndexedText) -> Vec<Section> {
    let text: &str = &subject.text;
    match &subject.structure {
        Structure::Object(members) => {
            let (pointer, core) = core_object(text, members);
            member_sections(text, &pointer, &core.listed)
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
        Structure::Text(_) => headings(text)
            .into_iter()
            .map(|heading| Section {
                name: heading.title.to_owned(),
                target: SectionTarget::Heading,
                span: Span::new(heading.start, heading.end),
                kind: None,
            })
            .collect(),
    }
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

/// The object that an object is about: inside `{"status":"ok","result":{…}}` it is the result.
pub(crate) fn core_object(text: &str, members: &ObjectIndex) -> (String, ObjectIndex) {
    let mut pointer = String::new();
    let mut core = members.clone();
    for _ in 0..3 {
        let largest = core.listed.iter().max_by_key(|member| member.value.len());
        let most = largest.filter(|member| {
            let rest = core.span.len() - member.value.len();
            member.kind == JsonKind::Object && core.len() <= 8 && rest * 4 <= core.span.len()
        });
        let Some(member) = most.or_else(|| wrapped_object(text, &core)) else { break };
        let Ok(inner) = ObjectIndex::parse(&mut JsonReader::resume(text, member.value.start as usize)) else {
            break;
        };
        pointer = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
        core = inner;
    }
    (pointer, core)
}

/// Names of the member of an envelope that is what the envelope is about.
const WRAPPER_KEYS: [&str; 8] = ["result", "data", "response", "payload", "body", "item", "record", "object"];

/// What an envelope holds, however small: its only object, under a name that says so, beside bare values none of which
/// identifies the envelope itself.
fn wrapped_object<'a>(text: &str, envelope: &'a ObjectIndex) -> Option<&'a Member> {
    let mut objects = envelope.listed.iter().filter(|member| member.kind.is_container());
    let (only, None) = (objects.next()?, objects.next()) else { return None };
    let named = WRAPPER_KEYS.iter().any(|name| key_matches(text, only.key, name));
    let wraps = named && only.kind == JsonKind::Object && only.value.len() > 2 && envelope.len() <= 8;
    (wraps && !has_identity(text, envelope)).then_some(only)
}

impl Section {
    /// Whether it is but a part of one that an operator made, or bears its name.
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

/// A section that an operator made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CustomSection {
    /// What it is asked for by.
    pub name: String,
    /// What is in it.
    pub fields: FieldSelection,
    /// Of what.
    pub scope: SectionScope,
}

/// What the fields of a section are fields of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SectionScope {
    /// An object in the subject, by JSON Pointer.
    Object(String),
    /// Each item of a list.
    Items,
}

impl CustomSection {
    /// What is shown of an object in which they are, and of which that is the text.
    pub(crate) fn project(&self, text: &str) -> String {
        let mut written = String::new();
        self.fields.project_for_display(text, &mut written, &mut OmittedFields::new());
        written
    }
}

/// The sections that an operator made of which a subject has any field, in order.
///
/// They are of what an object is about, else of the object as a whole, whatever list is in it, else of each item of a
/// list.
pub(crate) fn custom_sections(subject: &IndexedText, given: &[policy::NamedSection]) -> Vec<CustomSection> {
    let text: &str = &subject.text;
    let inside = match &subject.structure {
        Structure::Object(members) if !given.is_empty() => Some(core_object(text, members)),
        _ => None,
    };
    let made = |section: &policy::NamedSection| {
        let fields: FieldSelection = section.fields.iter().map(|field| pointer_to_dotted(field)).collect();
        let core = inside.as_ref().filter(|(_, core)| record_has_any(core.span.slice(text), &fields));
        let of = match core {
            Some((pointer, _)) => SectionScope::Object(pointer.clone()),
            None if record_has_any(text, &fields) => SectionScope::Object(String::new()),
            None if subject_has_any(subject, &fields) => SectionScope::Items,
            None => return None,
        };
        Some(CustomSection { name: section.name.clone(), fields, scope: of })
    };
    given.iter().filter_map(made).collect()
}

/// The section of that name: as written, else ignoring case, else the only one that begins so.
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
    let all: Vec<Section> = made.chain(sections(subject)).collect();
    let wanted = name.trim().trim_start_matches('#').trim().to_lowercase();
    let lower = |section: &&Section| section.name.trim().to_lowercase();
    let exact = all.iter().find(|section| section.name == name);
    let same = || all.iter().find(|section| lower(section) == wanted);
    let only = || {
        let mut begin = all.iter().filter(|section| lower(section).starts_with(&wanted));
        begin.next().filter(|_| !wanted.is_empty() && begin.next().is_none())
    };
    exact.or_else(same).or_else(only).cloned().ok_or_else(|| ViewError::Section {
        given: name.to_owned(),
        nearest: closest_name(name, all.iter().map(|section| section.name.as_str())),
        available: all.into_iter().map(|section| section.name).collect(),
    })
}
