//! Finds `structuredContent` that repeats the text of a result: the text is for models,
//! `structuredContent` for programs.
//!
//! Servers repeat in different ways. The text may be the whole JSON, or the value under its sole key:
//! Python servers put any value that is not an object under `result`, others under `content`. A list may
//! be one text block, or one block per item.

use portion_json::scan::{JsonReader, is_equivalent_json, is_json, unescape};
use portion_json::span::Span;

use super::{IndexedText, JsonOrigin, Part, PartBody, Slice, Structure, StructuredDuplicate};
use crate::payload::BlockLabel;
use crate::snapshot::cell_spans;

/// Finds the text part that `structuredContent` repeats, if there is one.
pub(super) fn find(parts: &[Part], structured: usize) -> Option<StructuredDuplicate> {
    let whole = parts[structured].text();
    let sole = sole_member(whole);
    parts.iter().enumerate().filter(|(i, _)| *i != structured).find_map(|(of, part)| {
        let subject = part.indexed_text()?;
        let text = part.text();
        let is_json = part.json_origin.as_ref().is_none_or(|origin| origin.enclosing_string.is_some())
            && !matches!(subject.structure, Structure::Text(_));
        if is_json && is_equivalent_json(text, whole) {
            return Some(StructuredDuplicate { part: of, wrapper_key: None, as_string: false });
        }
        let (key, value) = sole?;
        let value = value.slice(whole);
        let as_string = value.starts_with('"');
        let alike = if as_string {
            // The string is never shorter than the text it stands for, which is a cheap check before
            // decoding.
            value.len() >= text.len() + 2 && unescape(value) == text
        } else {
            is_json && is_equivalent_json(text, value)
        };
        alike.then_some(StructuredDuplicate { part: of, wrapper_key: Some(key), as_string })
    })
}

/// Restores the original text of parts in which JSON was found, except of a part that `structuredContent`
/// repeats with that JSON in a string: there programs would otherwise be shown another value than the
/// text.
pub(super) fn restore_texts(parts: &mut [Part], structured: usize) {
    let duplicate = parts[structured].duplicate;
    for (at, part) in parts.iter_mut().enumerate() {
        let repeats = duplicate.filter(|duplicate| duplicate.part == at);
        let stays = |origin: &JsonOrigin| {
            repeats.is_some_and(|duplicate| duplicate.as_string || origin.enclosing_string.is_some())
        };
        if let Some(origin) = part.json_origin.take_if(|origin| !stays(origin)) {
            part.body = PartBody::Indexed(IndexedText::from_payload(origin.text));
        }
    }
}

/// Replaces text blocks that are exactly the items of the list under a sole key by one part: the list.
pub(super) fn merge_item_blocks(parts: &mut Vec<Part>, structured: usize) {
    let Some((gathered, key)) = merged_item_blocks(parts, structured) else { return };
    let last = parts.remove(structured);
    parts.clear();
    parts.push(gathered);
    parts.push(Part {
        duplicate: Some(StructuredDuplicate { part: 0, wrapper_key: Some(key), as_string: false }),
        ..last
    });
}

fn merged_item_blocks(parts: &[Part], structured: usize) -> Option<(Part, Span)> {
    let blocks: Vec<&str> =
        parts.iter().enumerate().filter(|(i, _)| *i != structured).map(|(_, p)| p.text()).collect();
    let all_text = parts.iter().all(|part| part.indexed_text().is_some());
    let whole = parts[structured].indexed_text()?;
    let (key, list) =
        sole_member(&whole.text).filter(|(_, value)| value.slice(&whole.text).starts_with('['))?;
    let json = list.slice(&whole.text);
    let items = cell_spans(json);
    let alike = |(block, item): (&&str, &Span)| {
        let item = item.slice(json);
        if item.starts_with('"') {
            unescape(item) == **block
        } else {
            is_json(block) && is_equivalent_json(block, item)
        }
    };
    let same = all_text && blocks.len() > 1 && blocks.len() == items.len();
    if !same || !blocks.iter().zip(&items).all(alike) {
        return None;
    }
    let body = PartBody::Indexed(IndexedText::from_payload(Slice::subslice(&whole.text, list)));
    let frame = parts.iter().map(|part| part.label.frame_bytes).max().unwrap_or(0);
    let label = BlockLabel { frame_bytes: frame, ..BlockLabel::default() };
    Some((
        Part {
            address: "/content".into(),
            body,
            duplicate: None,
            label,
            json_origin: None,
            item_blocks: true,
        },
        key,
    ))
}

/// Returns the key and the value of an object with exactly one member.
fn sole_member(json: &str) -> Option<(Span, Span)> {
    let mut reader = JsonReader::new(json);
    reader.enter_object().ok()?;
    let key = reader.next_key().ok()??;
    let value = reader.skip().ok()?;
    reader.next_key().ok()?.is_none().then_some((key, value))
}
