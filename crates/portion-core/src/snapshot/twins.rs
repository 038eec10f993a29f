//! Results that say the same twice: once as text, for models, and once as `structuredContent`, for programs.
//!
//! Servers differ in how. The text may be the whole JSON, or what stands under the sole key `result`, where Python
//! servers put whatever is no object; a list may be one text block, or a block an item.

use super::{Form, Part, PartBody, Slice, Subject, Twin};
use crate::scan::{Reader, decoded, same_json};
use crate::snapshot::cells;
use crate::span::Span;

/// The text part that `structuredContent` repeats, if one does.
pub(super) fn find(parts: &[Part], structured: usize) -> Option<Twin> {
    let whole = parts[structured].text();
    let result = sole_result(whole).map(|span| span.of(whole));
    parts.iter().enumerate().filter(|(i, _)| *i != structured).find_map(|(of, part)| {
        let subject = part.subject()?;
        let text: &str = &subject.text;
        if matches!(subject.form, Form::Text(_)) {
            // Text that is no JSON can only be the string under `result`.
            let string = result.filter(|json| json.starts_with('"'))?;
            let alike = string.len() >= text.len() + 2 && decoded(string) == text;
            return alike.then_some(Twin { of, under_result: true });
        }
        if same_json(text, whole) {
            return Some(Twin { of, under_result: false });
        }
        result.filter(|json| same_json(text, json)).map(|_| Twin { of, under_result: true })
    })
}

/// Where every item of the list under `result` is a text block of its own as well, puts one part in place of those
/// blocks: the list.
pub(super) fn gather_items(parts: &mut Vec<Part>, structured: usize) {
    let Some(gathered) = items_as_blocks(parts, structured) else { return };
    let last = parts.remove(structured);
    parts.clear();
    parts.push(gathered);
    parts.push(Part { twin: Some(Twin { of: 0, under_result: true }), ..last });
}

fn items_as_blocks(parts: &[Part], structured: usize) -> Option<Part> {
    let blocks: Vec<&str> =
        parts.iter().enumerate().filter(|(i, _)| *i != structured).map(|(_, p)| p.text()).collect();
    let all_text = parts.iter().all(|part| part.subject().is_some());
    let whole = parts[structured].subject()?;
    let list = sole_result(&whole.text).filter(|span| span.of(&whole.text).starts_with('['))?;
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
    Some(Part { address: "/content".into(), body, twin: None, item_blocks: true })
}

fn is_json(text: &str) -> bool {
    let mut reader = Reader::new(text);
    reader.skip().and_then(|_| reader.end()).is_ok()
}

/// The value of an object's only key, where that is `result`.
fn sole_result(json: &str) -> Option<Span> {
    let mut reader = Reader::new(json);
    reader.enter_object().ok()?;
    let key = reader.next_key().ok()??;
    let value = reader.skip().ok()?;
    let sole = reader.text(key) == "\"result\"" && reader.next_key().ok()?.is_none();
    sole.then_some(value)
}
