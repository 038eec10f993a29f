//! Named sections: of an object those that an operator made and its larger members, of a document its headings.

use super::ViewError;
use super::resolve::{has, has_any};
use crate::chunk::outline::headings;
use crate::nearest::nearest;
use crate::pointer::step;
use crate::policy;
use crate::projection::{Fields, LeftOut, is_within, pointer_to_dotted};
use crate::scan::{Kind, Reader, decoded};
use crate::snapshot::{Form, Member, Members, Subject, has_identity, is_key};
use crate::span::Span;

/// One section of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// What it is asked for by.
    pub name: String,
    /// Where it is: a pointer to a value, or a stretch of text.
    pub place: SectionPlace,
    /// Its bytes in the subject.
    pub span: Span,
    /// What it is, where it is a value.
    pub kind: Option<Kind>,
}

/// Where a section is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SectionPlace {
    /// A value, by JSON Pointer.
    Value(String),
    /// A heading and what is under it.
    Text,
    /// Some fields.
    Made(Made),
}

/// The sections of a subject, in order.
pub(crate) fn sections(subject: &Subject) -> Vec<Section> {
    let text: &str = &subject.text;
    match &subject.form {
        Form::Object(members) => {
            let (pointer, core) = core(text, members);
            of_members(text, &pointer, &core.list)
        }
        Form::List(list) => {
            let mut pointer = String::new();
            let mut found = Vec::new();
            for level in &list.levels {
                found.extend(of_members(text, &pointer, &level.members));
                pointer = format!("{pointer}/{}", step(level.members[level.inner].key.of(text)));
            }
            found
        }
        Form::Text(_) => headings(text)
            .into_iter()
            .map(|heading| Section {
                name: heading.title.to_owned(),
                place: SectionPlace::Text,
                span: Span::new(heading.start, heading.end),
                kind: None,
            })
            .collect(),
    }
}

fn of_members(text: &str, pointer: &str, members: &[Member]) -> Vec<Section> {
    members
        .iter()
        .map(|member| Section {
            name: decoded(member.key.of(text)),
            place: SectionPlace::Value(format!("{pointer}/{}", step(member.key.of(text)))),
            span: member.value,
            kind: Some(member.kind),
        })
        .collect()
}

/// The object that an object is about: inside `{"status":"ok","result":{…}}` it is the result.
pub(crate) fn core(text: &str, members: &Members) -> (String, Members) {
    let mut pointer = String::new();
    let mut core = members.clone();
    for _ in 0..3 {
        let largest = core.list.iter().max_by_key(|member| member.value.len());
        let most = largest.filter(|member| {
            let rest = core.span.len() - member.value.len();
            member.kind == Kind::Object && core.len() <= 8 && rest * 4 <= core.span.len()
        });
        let Some(member) = most.or_else(|| wrapped(text, &core)) else { break };
        let Ok(inner) = Members::read(&mut Reader::resume(text, member.value.start as usize)) else { break };
        pointer = format!("{pointer}/{}", step(member.key.of(text)));
        core = inner;
    }
    (pointer, core)
}

/// Names of the member of an envelope that is what the envelope is about.
const WRAPPED: [&str; 8] = ["result", "data", "response", "payload", "body", "item", "record", "object"];

/// What an envelope holds, however small: its only object, under a name that says so, beside bare values none of which
/// identifies the envelope itself.
fn wrapped<'a>(text: &str, envelope: &'a Members) -> Option<&'a Member> {
    let mut objects = envelope.list.iter().filter(|member| member.kind.is_container());
    let (only, None) = (objects.next()?, objects.next()) else { return None };
    let named = WRAPPED.iter().any(|name| is_key(text, only.key, name));
    let wraps = named && only.kind == Kind::Object && only.value.len() > 2 && envelope.len() <= 8;
    (wraps && !has_identity(text, envelope)).then_some(only)
}

impl Section {
    /// Whether it is but a part of one that an operator made, or bears its name.
    pub(crate) fn is_in(&self, made: &Made) -> bool {
        let (SectionPlace::Value(pointer), Of::Object(within)) = (&self.place, &made.of) else {
            return false;
        };
        let path = pointer.strip_prefix(within.as_str()).map(pointer_to_dotted);
        self.name == made.name
            || path.is_some_and(|path| made.fields.paths().iter().any(|field| is_within(&path, field)))
    }
}

/// A section that an operator made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    /// What it is asked for by.
    pub name: String,
    /// What is in it.
    pub fields: Fields,
    /// Of what.
    pub of: Of,
}

/// What the fields of a section are fields of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// An object in the subject, by JSON Pointer.
    Object(String),
    /// Each item of a list.
    Items,
}

impl Made {
    /// What is shown of an object in which they are, and of which that is the text.
    pub(crate) fn of_object(&self, text: &str) -> String {
        let mut written = String::new();
        self.fields.show(text, &mut written, &mut LeftOut::new());
        written
    }
}

/// The sections that an operator made of which a subject has any field, in order.
///
/// They are of what an object is about, else of the object as a whole, whatever list is in it, else of each item of a
/// list.
pub(crate) fn made(subject: &Subject, given: &[policy::Section]) -> Vec<Made> {
    let text: &str = &subject.text;
    let inside = match &subject.form {
        Form::Object(members) if !given.is_empty() => Some(core(text, members)),
        _ => None,
    };
    let made = |section: &policy::Section| {
        let fields: Fields = section.fields.iter().map(|field| pointer_to_dotted(field)).collect();
        let core = inside.as_ref().filter(|(_, core)| has(core.span.of(text), &fields));
        let of = match core {
            Some((pointer, _)) => Of::Object(pointer.clone()),
            None if has(text, &fields) => Of::Object(String::new()),
            None if has_any(subject, &fields) => Of::Items,
            None => return None,
        };
        Some(Made { name: section.name.clone(), fields, of })
    };
    given.iter().filter_map(made).collect()
}

/// The section of that name: as written, else ignoring case, else the only one that begins so.
pub(super) fn find(subject: &Subject, name: &str, given: &[policy::Section]) -> Result<Section, ViewError> {
    let made = made(subject, given).into_iter().map(|made| Section {
        name: made.name.clone(),
        place: SectionPlace::Made(made),
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
        nearest: nearest(name, all.iter().map(|section| section.name.as_str())),
        available: all.into_iter().map(|section| section.name).collect(),
    })
}
