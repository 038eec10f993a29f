//! Finds JSON inside a JSON string. The string stays a string; the JSON is read as a view of it.

use portion_json::json_pointer::step_from_quoted;
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;
use portion_text::notation;

use super::locate::{MIN_SHARE_PERCENT, locate_json};
use super::{JsonOrigin, describe_nulls};
use crate::snapshot::{IndexedText, ObjectIndex, Slice, Structure};

/// Maximum bytes around the string, because they are repeated in every reply.
const MAX_SURROUNDING_BYTES: usize = 1 << 10;
/// Smallest string that is described as a text, in bytes.
const MIN_TEXT_BYTES: usize = 2 << 10;
/// Maximum enclosing objects that are searched.
const MAX_LEVELS: usize = 4;

/// The string that contains the JSON.
#[derive(Clone, Debug)]
pub struct EnclosingString {
    /// JSON Pointer of the string.
    pub pointer: String,
    /// Span of the string in the text, quotes included.
    pub span: Span,
}

impl JsonOrigin {
    /// Returns the original text with `shown` in place of the string's content.
    pub fn with_replaced_string(&self, shown: &str) -> Option<String> {
        let Span { start, end } = self.enclosing_string.as_ref()?.span;
        let (before, after) = (&self.text[..start as usize], &self.text[end as usize..]);
        Some(format!("{before}{}{after}", quote(shown)))
    }
}

/// Finds JSON in a text that is a JSON string.
pub(super) fn find_in_string(text: &Slice) -> Option<(IndexedText, JsonOrigin)> {
    let mut reader = JsonReader::new(text);
    let value = if reader.peek() == Ok(JsonKind::String) { reader.skip().ok()? } else { return None };
    reader.expect_end().ok()?;
    parse_string(text, value, String::new())
}

/// Finds JSON in a string that makes up most of an object, or of an object nested in it.
pub(super) fn find_in_member(text: &Slice, members: &ObjectIndex) -> Option<(IndexedText, JsonOrigin)> {
    let (pointer, value) = main_string(text, members)?;
    parse_string(text, value, pointer)
}

/// Finds the text in a string that makes up most of an object: its pointer, and the text. Short ones are not looked at.
pub(crate) fn main_text(text: &str, members: &ObjectIndex) -> Option<(String, IndexedText)> {
    let (pointer, value) = main_string(text, members).filter(|(_, value)| value.len() >= MIN_TEXT_BYTES)?;
    let subject = IndexedText::from_payload(Slice::new(unescape(value.slice(text))));
    (is_majority(text, value) && matches!(subject.structure, Structure::Text(_)))
        .then_some((pointer, subject))
}

/// Returns the pointer and the span of the largest member of an object, or of the object that makes up most of it, if that is a
/// string.
fn main_string(text: &str, members: &ObjectIndex) -> Option<(String, Span)> {
    if members.span.len() != text.trim().len() {
        return None;
    }
    let mut inner;
    let (mut members, mut pointer) = (members, String::new());
    for _ in 0..MAX_LEVELS {
        let member = *members.listed.iter().max_by_key(|member| member.value.len())?;
        pointer = format!("{pointer}/{}", step_from_quoted(member.key.slice(text)));
        match member.kind {
            JsonKind::String => return Some((pointer, member.value)),
            JsonKind::Object if is_majority(text, member.value) => {
                inner =
                    ObjectIndex::parse(&mut JsonReader::resume(text, member.value.start as usize)).ok()?;
                members = &inner;
            }
            _ => return None,
        }
    }
    None
}

fn is_majority(text: &str, value: Span) -> bool {
    value.len() * 100 >= text.len() * MIN_SHARE_PERCENT && text.len() - value.len() <= MAX_SURROUNDING_BYTES
}

fn parse_string(text: &Slice, value: Span, pointer: String) -> Option<(IndexedText, JsonOrigin)> {
    if !is_majority(text, value) {
        return None;
    }
    let inside = unescape(value.slice(text));
    let (mut replaced, mut name) = (0, "JSON");
    let mut subject = IndexedText::from_payload(Slice::new(inside));
    if !subject.is_json() {
        let json = if let Some(located) = locate_json(&subject.text) {
            replaced = located.non_finite_count();
            located
                .with_nulls(&subject.text)
                .0
                .map_or_else(|| subject.text.subslice(located.span), Slice::new)
        } else {
            let found = notation::read(&subject.text)?;
            name = found.notation;
            Slice::new(found.json)
        };
        subject = IndexedText::from_payload(json);
    }
    let location =
        if pointer.is_empty() { "a JSON string".to_owned() } else { format!("the string at {pointer}") };
    let description =
        format!("{name} in {location}{}; raw=true returns the original", describe_nulls(replaced));
    let short_description = format!("{name} in a string{}", describe_nulls(replaced));
    let holder = Some(EnclosingString { pointer, span: value });
    let origin = || JsonOrigin {
        text: text.clone(),
        description,
        short_description,
        enclosing_string: holder,
        has_replacements: replaced > 0 || name != "JSON",
        offset_map: None,
    };
    subject.is_json().then(|| (subject, origin()))
}
