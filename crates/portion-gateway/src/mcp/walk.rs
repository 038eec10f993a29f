//! Finding things in JSON that has been validated: members, items, names.

use portion_core::scan::{JsonKind, JsonReader, unescape, unescape_into};
use portion_core::span::Span;

/// The members of an object or the items of an array, where they lie.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// The object or array itself, brackets included.
    pub span: Span,
    /// What is in it. A member reaches from its key to the end of its value.
    pub items: Vec<Span>,
}

/// One member of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Quotes included.
    pub key: Span,
    pub value: Span,
}

impl Member {
    /// Key and value.
    pub(super) fn span(self) -> Span {
        Span { start: self.key.start, end: self.value.end }
    }
}

/// What begins at a span.
pub(super) fn kind(text: &str, span: Span) -> JsonKind {
    JsonKind::of_value(span.slice(text))
}

/// The members of the object at a span, in order; none where there is no object.
pub(super) fn members(text: &str, object: Span) -> Vec<Member> {
    let mut all = Vec::new();
    let mut reader = JsonReader::resume(text, object.start as usize);
    if !object.is_empty() && reader.enter_object().is_ok() {
        while let Ok(Some(key)) = reader.next_key() {
            let Ok(value) = reader.skip() else { break };
            all.push(Member { key, value });
        }
    }
    all
}

/// The items of the array at a span, in order; none where there is no array.
pub(super) fn items(text: &str, array: Span) -> Vec<Span> {
    let mut all = Vec::new();
    let mut reader = JsonReader::resume(text, array.start as usize);
    if !array.is_empty() && reader.enter_array().is_ok() {
        while let Ok(true) = reader.next_item() {
            let Ok(item) = reader.skip() else { break };
            all.push(item);
        }
    }
    all
}

/// The member of that name. Of several the last, for that is the one which JSON parsers keep.
pub(super) fn find_member(text: &str, members: &[Member], name: &str) -> Option<Member> {
    members.iter().rev().find(|member| string_equals(member.key.slice(text), name)).copied()
}

/// The value of the object's member of that name.
pub(super) fn member_value(text: &str, object: Span, name: &str) -> Option<Span> {
    find_member(text, &members(text, object), name).map(|member| member.value)
}

/// The value that a path of names leads to.
pub(super) fn value_at(text: &str, object: Span, path: &[&str]) -> Option<Span> {
    path.iter().try_fold(object, |object, name| member_value(text, object, name))
}

/// The text of the object's member of that name, where it is a string.
pub(super) fn string_member(text: &str, object: Span, name: &str) -> Option<String> {
    let value = member_value(text, object, name)?;
    (kind(text, value) == JsonKind::String).then(|| unescape(value.slice(text)))
}

/// Whether a JSON string, quotes included, says `name`.
pub(super) fn string_equals(quoted: &str, name: &str) -> bool {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    inner == name || (inner.contains('\\') && unescape(quoted) == name)
}

/// What a JSON string says, as one step of a JSON Pointer.
pub(super) fn pointer_step(quoted: &str) -> String {
    let mut name = String::new();
    unescape_into(quoted, &mut name);
    name.replace('~', "~0").replace('/', "~1")
}

/// The span of everything.
pub(super) fn document_span(text: &str) -> Span {
    let space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let start = text.len() - text.trim_start_matches(space).len();
    Span::new(start, text.trim_end_matches(space).len().max(start))
}

/// The key of a member, quotes included.
pub(super) fn member_key(text: &str, member: Span) -> &str {
    let mut reader = JsonReader::resume(text, member.start as usize);
    reader.skip_string().map(|key| reader.text(key)).unwrap_or_default()
}
