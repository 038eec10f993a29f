//! Finds `structuredContent` that repeats the text of a result: the text is for models,
//! `structuredContent` for programs.
//!
//! Servers repeat in different ways. The text may be the whole JSON, or the value under its sole key:
//! Python servers put any value that is not an object under `result`, others under `content`. A list may
//! be one text block, or one block per item. Tools that return content blocks repeat the blocks themselves.

use portion_json::containers::{Member, items, members};
use portion_json::path::value_at;
use portion_json::scan::{JsonReader, is_equivalent_json, is_json, unescape};
use portion_json::span::Span;

use super::table_layouts::record_blocks;
use super::{DuplicateForm, IndexedText, JsonOrigin, Part, PartBody, Slice, Structure, StructuredDuplicate};
use crate::payload::BlockLabel;
use crate::snapshot::cell_spans;

/// Number of blocks from which records in blocks are a list.
const MIN_RECORD_BLOCKS: usize = 5;

/// Finds the text part that `structuredContent` repeats, if there is one.
pub(super) fn find(parts: &[Part], structured: usize) -> Option<StructuredDuplicate> {
    let whole = parts[structured].text();
    let sole = sole_member(whole);
    let mut others = parts.iter().enumerate().filter(|(i, _)| *i != structured);
    let one = others.find_map(|(of, part)| {
        let subject = part.indexed_text()?;
        let text = part.text();
        let is_json = part.json_origin.as_ref().is_none_or(|origin| origin.enclosing_string.is_some())
            && !matches!(subject.structure, Structure::Text(_));
        if is_json && is_equivalent_json(text, whole) {
            return Some(StructuredDuplicate { part: of, form: DuplicateForm::Whole });
        }
        let (key, value) = sole?;
        let value = value.slice(whole);
        let as_string = value.starts_with('"');
        let alike = if as_string { encodes(value, text) } else { is_json && is_equivalent_json(text, value) };
        alike.then_some(StructuredDuplicate { part: of, form: DuplicateForm::UnderKey { key, as_string } })
    });
    one.or_else(|| find_blocks(parts, structured))
}

/// Returns true if a JSON value is the string of a text. It is never shorter than the text, which is cheap to check.
fn encodes(json: &str, text: &str) -> bool {
    json.len() >= text.len() + 2 && json.starts_with('"') && unescape(json) == text
}

/// Finds the content blocks in `structuredContent`: in an array, or a single one. Beside them it holds no data.
fn find_blocks(parts: &[Part], structured: usize) -> Option<StructuredDuplicate> {
    let json = parts[structured].text();
    let is_block = |part: &Part| {
        block_place(&part.address).is_some() && !matches!(part.body, PartBody::Atomic { aside: true, .. })
    };
    let blocks: Vec<usize> = (0..parts.len()).filter(|at| is_block(&parts[*at])).collect();
    let texts = blocks.iter().copied().filter(|at| parts[*at].indexed_text().is_some());
    let part = texts.max_by_key(|at| parts[*at].text_len())?;
    let repeats = |value: Span| {
        let single = Some(value).filter(|value| value.slice(json).trim_start().starts_with('{'));
        let mut objects = items(json, value).chain(single);
        let mut is_next =
            |at: &usize| objects.next().is_some_and(|object| repeats_block(&parts[*at], json, object));
        blocks.iter().all(&mut is_next) && objects.next().is_none()
    };
    let root = Span::new(0, json.len());
    let has_data =
        |member: &Member| !matches!(member.value.slice(json), "null" | "true" | "false" | "{}" | "[]");
    let span = if repeats(root) {
        root
    } else {
        let mut data = members(json, root).filter(has_data);
        data.next().filter(|member| data.next().is_none() && repeats(member.value))?.value
    };
    Some(StructuredDuplicate { part, form: DuplicateForm::Blocks(span) })
}

/// Returns true if an object has the type and the content of a block. It may have more members.
fn repeats_block(block: &Part, json: &str, object: Span) -> bool {
    let value = |path: &str| value_at(json, object, path).map(|value| value.slice(json));
    let Some((_, path)) = block_place(&block.address).filter(|_| value("type").is_some()) else {
        return false;
    };
    match &block.body {
        PartBody::Indexed(_) => value(&path).is_some_and(|value| encodes(value, block.text())),
        PartBody::Atomic { json: own, .. } => members(own, Span::new(0, own.len())).all(|member| {
            let other = value(&unescape(member.key.slice(own)));
            other.is_some_and(|other| is_equivalent_json(member.value.slice(own), other))
        }),
    }
}

/// Returns the number of the content block that an address belongs to, and the dotted path of the text in it.
pub(crate) fn block_place(address: &str) -> Option<(usize, String)> {
    let place = address.strip_prefix("/content/")?;
    let (number, path) = place.split_once('/').unwrap_or((place, ""));
    Some((number.parse().ok()?, path.replace('/', ".")))
}

/// Restores the original text of parts in which JSON was found, except of a part that `structuredContent`
/// repeats with that JSON in a string: there programs would otherwise be shown another value than the
/// text.
pub(super) fn restore_texts(parts: &mut [Part], structured: usize) {
    let duplicate = parts[structured].duplicate;
    for (at, part) in parts.iter_mut().enumerate() {
        let repeats = duplicate.filter(|duplicate| duplicate.part == at);
        let stays = |origin: &JsonOrigin| {
            repeats.is_some_and(|duplicate| duplicate.form.is_string() || origin.enclosing_string.is_some())
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
        duplicate: Some(StructuredDuplicate {
            part: 0,
            form: DuplicateForm::UnderKey { key, as_string: false },
        }),
        ..last
    });
}

/// Replaces text blocks that are the records of one table, and nothing else, by one part: the list.
pub(super) fn merge_record_blocks(parts: &mut Vec<Part>) {
    let is_plain = |part: &Part| {
        part.json_origin.is_none()
            && part.label == parts[0].label
            && block_place(&part.address).is_some_and(|(_, path)| path == "text")
    };
    let blocks = record_blocks(parts.iter().filter_map(Part::indexed_text));
    if blocks.len() < MIN_RECORD_BLOCKS || blocks.len() != parts.len() || !parts.iter().all(is_plain) {
        return;
    }
    let records: Vec<&str> = blocks.iter().map(|block| block.text.trim()).collect();
    let list = IndexedText::from_payload(Slice::new(format!("[{}]", records.join(","))));
    *parts = vec![list_of_blocks(list, parts)];
}

/// Returns the part of a list whose items were these blocks.
fn list_of_blocks(list: IndexedText, blocks: &[Part]) -> Part {
    let frame_bytes = blocks.iter().map(|part| part.label.frame_bytes).max().unwrap_or(0);
    Part {
        address: "/content".into(),
        body: PartBody::Indexed(list),
        duplicate: None,
        label: BlockLabel { frame_bytes, ..BlockLabel::default() },
        json_origin: None,
        item_blocks: true,
    }
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
    Some((list_of_blocks(IndexedText::from_payload(Slice::subslice(&whole.text, list)), parts), key))
}

/// Returns the key and the value of an object with exactly one member.
fn sole_member(json: &str) -> Option<(Span, Span)> {
    let mut reader = JsonReader::new(json);
    reader.enter_object().ok()?;
    let key = reader.next_key().ok()??;
    let value = reader.skip().ok()?;
    reader.next_key().ok()?.is_none().then_some((key, value))
}
