//! Finds the JSON in a text that is not JSON as it stands: after words, in a Markdown fence, behind a byte order mark, with
//! `NaN` and `Infinity`, or in a JSON string.
//!
//! The text itself is kept, so that `raw` has its bytes. The work is in proportion to the text: a few places are tried, and
//! each is read once.

mod held;
mod locate;

use std::sync::Arc;

use super::form::{Form, Subject};
use super::slice::Slice;
use crate::span::Span;
pub use held::Holder;
pub(crate) use locate::locate;

/// Characters of what stands before that are told.
const TOLD: usize = 60;

/// Where a part's JSON was found.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The text as the upstream wrote it.
    pub text: Slice,
    /// How the JSON stands in it, for the notice.
    pub told: String,
    /// Set where it stands in a JSON string.
    pub holder: Option<Holder>,
    /// Whether something in it is shown as another value than was written.
    pub replaced: bool,
    /// Where it begins in the text, and where `null` stands in it for a shorter `NaN`; of JSON in a string there is no
    /// such place.
    place: Option<(usize, Arc<[u32]>)>,
}

impl Origin {
    /// Heap bytes held, but for those of the subject.
    pub(super) fn heap_bytes(&self, subject: &Slice) -> usize {
        let text = if self.text.shares(subject) { 0 } else { self.text.heap_bytes() };
        let shorter = self.place.as_ref().map_or(0, |(_, shorter)| shorter.len() * size_of::<u32>());
        let holder = self.holder.as_ref().map_or(0, |holder| holder.pointer.capacity());
        self.told.capacity() + text + shorter + holder
    }

    /// The bytes that a value was written in; `None` where they are those of the value itself.
    pub fn written(&self, value: Span) -> Option<Slice> {
        let (start, shorter) = self.place.as_ref()?;
        let at = |byte: u32| start + byte as usize - shorter.partition_point(|null| *null < byte);
        Some(self.text.part(Span::new(at(value.start), at(value.end))))
    }
}

/// The JSON in a text that is not JSON, or is a string or an object that holds it as a string.
pub(super) fn of(text: &Slice, form: &Form) -> Option<(Subject, Origin)> {
    match form {
        Form::Text(_) => in_text(text).or_else(|| held::in_string(text)),
        Form::Object(members) => held::in_member(text, members),
        Form::List(_) => None,
    }
}

fn in_text(text: &Slice) -> Option<(Subject, Origin)> {
    let located = locate(text)?;
    let Span { start, end } = located.span;
    let (body, shorter) = located.with_nulls(text);
    let body = body.map_or_else(|| text.part(located.span), Slice::new);
    let subject = Subject::of_payload(body);
    let told = told(&text[..start as usize], &text[end as usize..], located.count());
    let place = Some((start as usize, shorter.into()));
    let origin = Origin { text: text.clone(), told, holder: None, replaced: located.count() > 0, place };
    subject.is_json().then_some((subject, origin))
}

/// What is said of JSON that has something around it.
fn told(before: &str, after: &str, replaced: usize) -> String {
    let mut told = String::from("the JSON in a text");
    if before.starts_with('\u{feff}') {
        told.push_str(" behind a byte order mark");
    }
    let (before, after) = (before.trim_matches(['\u{feff}', '\n', '\r', ' ']), after.trim());
    if !before.is_empty() {
        let shown: String = before.chars().take(TOLD).collect();
        let more = if shown.len() < before.len() { "…" } else { "" };
        told = format!("{told} after `{}{more}`", shown.replace(['\n', '\r'], " "));
    }
    if !after.is_empty() {
        told = format!("{told}, {} characters after it", after.chars().count());
    }
    format!("{told}{}; raw=true has all as it came", nulls(replaced))
}

/// What is said of numbers that JSON has no name for.
fn nulls(replaced: usize) -> String {
    match replaced {
        0 => String::new(),
        some => format!("; {some} NaN or Infinity, which JSON has not, shown as null"),
    }
}
