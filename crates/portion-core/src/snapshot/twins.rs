//! Results that say the same twice: once as text, for models, and once as `structuredContent`, for programs.
//!
//! Servers differ in how. The text may be the whole JSON, or what stands under a sole key: Python servers put whatever is
//! no object under `result`, others name it `content`. A list may be one text block, or a block an item.

use super::{Form, Origin, Part, PartBody, Slice, Subject, Twin};
use crate::payload::Label;
use crate::scan::{Reader, decoded, same_json};
use crate::snapshot::cells;
use crate::span::Span;

/// The text part that `structuredContent` repeats, if one does.
pub(super) fn find(parts: &[Part], structured: usize) -> Option<Twin> {
    let whole = parts[structured].text();
    let sole = sole_member(whole);
    parts.iter().enumerate().filter(|(i, _)| *i != structured).find_map(|(of, part)| {
        let subject = part.subject()?;
        let text = part.text();
        let is_json = part.origin.as_ref().is_none_or(|origin| origin.holder.is_some())
            && !matches!(subject.form, Form::Text(_));
        if is_json && same_json(text, whole) {
            return Some(Twin { of, under: None, as_string: false });
        }
        let (key, value) = sole?;
        let value = value.of(whole);
        let as_string = value.starts_with('"');
        let alike = if as_string {
            // The string is never shorter than the text it stands for.
            value.len() >= text.len() + 2 && decoded(value) == text
        } else {
            is_json && same_json(text, value)
        };
        alike.then_some(Twin { of, under: Some(key), as_string })
    })
}

/// Takes texts in which JSON was found as they are, unless `structuredContent` repeats one so that what is shown of the JSON
/// stands in a string there: what programs are shown would be another value than the text.
pub(super) fn leave_text(parts: &mut [Part], structured: usize) {
    let twin = parts[structured].twin;
    for (at, part) in parts.iter_mut().enumerate() {
        let repeats = twin.filter(|twin| twin.of == at);
        let stays = |origin: &Origin| repeats.is_some_and(|twin| twin.as_string || origin.holder.is_some());
        if let Some(origin) = part.origin.take_if(|origin| !stays(origin)) {
            part.body = PartBody::Readable(Subject::of_payload(origin.text));
        }
    }
}

/// Where every item of the list under a sole key is a text block of its own as well, puts one part in place of those
/// blocks: the list.
pub(super) fn gather_items(parts: &mut Vec<Part>, structured: usize) {
    let Some((gathered, key)) = items_as_blocks(parts, structured) else { return };
    let last = parts.remove(structured);
    parts.clear();
    parts.push(gathered);
    parts.push(Part { twin: Some(Twin { of: 0, under: Some(key), as_string: false }), ..last });
}

fn items_as_blocks(parts: &[Part], structured: usize) -> Option<(Part, Span)> {
    let blocks: Vec<&str> =
        parts.iter().enumerate().filter(|(i, _)| *i != structured).map(|(_, p)| p.text()).collect();
    let all_text = parts.iter().all(|part| part.subject().is_some());
    let whole = parts[structured].subject()?;
    let (key, list) = sole_member(&whole.text).filter(|(_, value)| value.of(&whole.text).starts_with('['))?;
    let json = list.of(&whole.text);
    let items = cells(json);
    let alike = |(block, item): (&&str, &Span)| {
        let item = item.of(json);
        if item.starts_with('"') {
            decoded(item) == **block
        } else {
            is_json(block) && same_json(block, item)
        }
    };
    let same = all_text && blocks.len() > 1 && blocks.len() == items.len();
    if !same || !blocks.iter().zip(&items).all(alike) {
        return None;
    }
    let body = PartBody::Readable(Subject::of_payload(Slice::part(&whole.text, list)));
    let frame = parts.iter().map(|part| part.label.frame).max().unwrap_or(0);
    let label = Label { frame, ..Label::default() };
    Some((Part { address: "/content".into(), body, twin: None, label, origin: None, item_blocks: true }, key))
}

fn is_json(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.skip().and_then(|_| reader.end()).is_ok()
}

/// The key and the value of an object that has but one member.
fn sole_member(json: &str) -> Option<(Span, Span)> {
    let mut reader = Reader::new(json);
    reader.enter_object().ok()?;
    let key = reader.next_key().ok()??;
    let value = reader.skip().ok()?;
    reader.next_key().ok()?.is_none().then_some((key, value))
}
