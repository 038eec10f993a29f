//! Finds members and items in validated JSON.

use portion_json::containers;
pub(super) use portion_json::containers::Member;
use portion_json::path;
pub(super) use portion_json::path::step_from_quoted;
use portion_json::path::unescape_step;
use portion_json::scan::{JsonKind, JsonReader, unescape};
use portion_json::span::Span;

/// Spans of the members of an object or of the items of an array.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sequence {
    /// Span of the object or array, brackets included.
    pub span: Span,
    /// Spans of the members or items. A member spans from its key to the end of its value.
    pub items: Vec<Span>,
}

/// Returns the kind of the value at a span.
pub(super) fn kind(text: &str, span: Span) -> JsonKind {
    JsonKind::of_value(span.slice(text))
}

/// Returns the members of the object at a span, in order; empty if it is not an object.
pub(super) fn members(text: &str, object: Span) -> Vec<Member> {
    containers::members(text, object).collect()
}

/// Returns the target of a reference within a JSON Schema, such as `#/$defs/Name`. `root` spans the schema.
pub(super) fn resolve_reference(text: &str, root: Span, reference: Span) -> Option<Span> {
    let reference = unescape(reference.slice(text));
    let mut path = reference.strip_prefix("#/")?.split('/');
    let (holder, name) = (path.next()?, path.next()?);
    let name = unescape_step(name);
    let holder = member_value(text, root, holder)?;
    if path.next().is_some() { None } else { member_value(text, holder, &name) }
}

/// Returns the members of the object at a span, except those with these names.
pub(super) fn members_except(text: &str, object: Span, names: &[&str]) -> Vec<Member> {
    let has_name = |member: &Member| names.iter().any(|name| string_equals(member.key.slice(text), name));
    containers::members(text, object).filter(|member| !has_name(member)).collect()
}

/// Returns the items of the array at a span, in order; empty if it is not an array.
pub(super) fn items(text: &str, array: Span) -> Vec<Span> {
    containers::items(text, array).collect()
}

/// Finds a member by name. Of duplicates the last one counts, as in most JSON parsers.
pub(super) fn find_member(text: &str, members: &[Member], name: &str) -> Option<Member> {
    members.iter().rev().find(|member| string_equals(member.key.slice(text), name)).copied()
}

/// Returns the value of a member of an object.
pub(super) fn member_value(text: &str, object: Span, name: &str) -> Option<Span> {
    find_member(text, &members(text, object), name).map(|member| member.value)
}

/// Returns the value at a path of member names.
pub(super) fn value_at(text: &str, object: Span, path: &[&str]) -> Option<Span> {
    path.iter().try_fold(object, |object, name| member_value(text, object, name))
}

/// Returns the decoded string value of a member.
pub(super) fn string_member(text: &str, object: Span, name: &str) -> Option<String> {
    let value = member_value(text, object, name)?;
    (kind(text, value) == JsonKind::String).then(|| unescape(value.slice(text)))
}

/// Returns true if a JSON string, quotes included, equals `name`.
pub(super) fn string_equals(quoted: &str, name: &str) -> bool {
    path::key_matches(quoted, Span::new(0, quoted.len()), name)
}

/// Returns the span of the whole document, without surrounding whitespace.
pub(super) fn document_span(text: &str) -> Span {
    let space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let start = text.len() - text.trim_start_matches(space).len();
    Span::new(start, text.trim_end_matches(space).len().max(start))
}

/// Returns the key of a member, quotes included.
pub(super) fn member_key(text: &str, member: Span) -> &str {
    let mut reader = JsonReader::resume(text, member.start as usize);
    reader.skip_string().map(|key| reader.text(key)).unwrap_or_default()
}
