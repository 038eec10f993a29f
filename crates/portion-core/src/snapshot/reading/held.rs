//! JSON in a JSON string, which stays one: it is read as a view of the string.

use super::locate::{SHARE, locate};
use super::{Origin, nulls};
use crate::pointer::step;
use crate::scan::{Kind, Reader, decoded, quote};
use crate::snapshot::{Members, Slice, Subject};
use crate::span::Span;

/// Bytes around the string, at most: they stand in every reply.
const BESIDE: usize = 1 << 10;
/// Objects around the string that are looked through.
const LEVELS: usize = 4;

/// The string in which JSON stands.
#[derive(Clone, Debug)]
pub struct Holder {
    /// Its pointer.
    pub pointer: String,
    /// From where to where it stands in the text, quotes included.
    pub value: Span,
}

impl Origin {
    /// What a reply shows of the JSON, in the string that it was found in.
    pub fn around(&self, shown: &str) -> Option<String> {
        let Span { start, end } = self.holder.as_ref()?.value;
        let (before, after) = (&self.text[..start as usize], &self.text[end as usize..]);
        Some(format!("{before}{}{after}", quote(shown)))
    }
}

/// JSON in a text that is a JSON string.
pub(super) fn in_string(text: &Slice) -> Option<(Subject, Origin)> {
    let mut reader = Reader::new(text);
    let value = if reader.peek() == Ok(Kind::String) { reader.skip().ok()? } else { return None };
    reader.end().ok()?;
    held(text, value, String::new())
}

/// JSON in a string that makes up most of an object, or of an object in it.
pub(super) fn in_member(text: &Slice, members: &Members) -> Option<(Subject, Origin)> {
    if members.span.len() != text.trim().len() {
        return None;
    }
    let mut inner;
    let (mut members, mut pointer) = (members, String::new());
    for _ in 0..LEVELS {
        let member = *members.list.iter().max_by_key(|member| member.value.len())?;
        pointer = format!("{pointer}/{}", step(member.key.of(text)));
        match member.kind {
            Kind::String => return held(text, member.value, pointer),
            Kind::Object if is_most(text, member.value) => {
                inner = Members::read(&mut Reader::resume(text, member.value.start as usize)).ok()?;
                members = &inner;
            }
            _ => return None,
        }
    }
    None
}

fn is_most(text: &str, value: Span) -> bool {
    value.len() * 100 >= text.len() * SHARE && text.len() - value.len() <= BESIDE
}

fn held(text: &Slice, value: Span, pointer: String) -> Option<(Subject, Origin)> {
    if !is_most(text, value) || !value.of(text).contains(['[', '{']) {
        return None;
    }
    let inside = decoded(value.of(text));
    let mut replaced = 0;
    let mut subject = Subject::of_payload(Slice::new(inside));
    if !subject.is_json() {
        let located = locate(&subject.text)?;
        replaced = located.count();
        let json = located.with_nulls(&subject.text).0;
        subject = Subject::of_payload(json.map_or_else(|| subject.text.part(located.span), Slice::new));
    }
    let place =
        if pointer.is_empty() { "a JSON string".to_owned() } else { format!("the string at {pointer}") };
    let told = format!("the JSON in {place}{}; raw=true has all as it came", nulls(replaced));
    let holder = Some(Holder { pointer, value });
    let origin = || Origin { text: text.clone(), told, holder, replaced: replaced > 0, place: None };
    subject.is_json().then(|| (subject, origin()))
}
