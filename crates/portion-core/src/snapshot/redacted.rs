//! Redacts the parts of a payload: texts, JSON, and blocks with binary data, whose data may be a text, too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use portion_json::scan::{JsonKind, JsonReader, quote, unescape};
use portion_json::span::Span;

use crate::base64_text::{Base64Text, decode_text};
use crate::payload::{BinaryInfo, Content, NextPage, Redact, TransportPage};

/// Redacts a part and adds the names of the redacted fields to `redacted_fields`, each once.
pub(super) fn redact_content(
    redact: &dyn Redact,
    mut content: Content,
    redacted_fields: &mut Vec<String>,
) -> Content {
    if redact.hides_nothing() {
        return content;
    }
    match &mut content {
        Content::Text(text) | Content::Structured(text) | Content::Extra(text) => {
            redact_text(redact, text, redacted_fields);
        }
        Content::Atomic { json, binary: Some(binary) } => {
            redact_binary(redact, json, binary, redacted_fields);
        }
        Content::Atomic { json, binary: None } => {
            redact_text(redact, json, redacted_fields);
        }
    }
    content
}

/// Redacts a text about the payload: the URI of a resource, and the reason for which a list is not complete, which may repeat an
/// error of the upstream.
pub(super) fn redact_about(redact: Option<&dyn Redact>, text: &mut Option<String>) {
    if let (Some(redact), Some(text)) = (redact, text)
        && let Some((without, _)) = redact.redact(text)
    {
        *text = without;
    }
}

/// Redacts the upstream's next page: a URL or a call may contain a credential.
pub(super) fn redact_next(redact: Option<&dyn Redact>, mut page: TransportPage) -> TransportPage {
    if let (Some(redact), Some(NextPage::Link(next) | NextPage::Call(next))) = (redact, &mut page.next)
        && let Some((without, _)) = redact.redact(next)
    {
        *next = without.into();
    }
    page
}

/// Redacts a text in place. Returns true if something was hidden.
fn redact_text(redact: &dyn Redact, text: &mut String, redacted_fields: &mut Vec<String>) -> bool {
    let Some((without, names)) = redact.redact(text) else { return false };
    *text = without;
    for name in names {
        if !redacted_fields.contains(&name) {
            redacted_fields.push(name);
        }
    }
    true
}

/// Redacts a block around its base64, which has no field names, and the base64 of a text.
fn redact_binary(
    redact: &dyn Redact,
    json: &mut String,
    binary: &mut BinaryInfo,
    redacted_fields: &mut Vec<String>,
) {
    let Some(data) = string_at(json, binary.data_pointer) else {
        redact_text(redact, json, redacted_fields);
        return;
    };
    let (before, after) = (&json[..data.start as usize], &json[data.end as usize..]);
    let mut block = format!("{before}\"\"{after}");
    let is_hidden = redact_text(redact, &mut block, redacted_fields);
    let decoded =
        if binary.is_media { None } else { decode_text(&unescape(data.slice(json)), &binary.mime_type) };
    let text = decoded.and_then(|Base64Text { mut text, .. }| {
        redact_text(redact, &mut text, redacted_fields).then_some(text)
    });
    if let Some(text) = &text {
        binary.decoded_bytes = text.len();
    }
    if !is_hidden && text.is_none() {
        return;
    }
    if let Some(empty) = string_at(&block, binary.data_pointer) {
        let encoded = text.map(|text| quote(&STANDARD.encode(text.as_bytes())));
        let data = encoded.as_deref().unwrap_or(data.slice(json));
        block.replace_range(empty.start as usize..empty.end as usize, data);
    }
    *json = block;
}

/// Returns the span of the string at a JSON Pointer of plain names, the last one of equal names.
pub(crate) fn string_at(json: &str, pointer: &str) -> Option<Span> {
    let mut found = None;
    for step in pointer.split('/').skip(1) {
        let mut reader = found.map_or_else(
            || JsonReader::new(json),
            |(_, at): (_, Span)| JsonReader::resume(json, at.start as usize),
        );
        found = None;
        reader.enter_object().ok()?;
        while let Some(key) = reader.next_key().ok()? {
            let (kind, value) = (reader.peek().ok()?, reader.skip().ok()?);
            if unescape(key.slice(json)) == step {
                found = Some((kind, value));
            }
        }
        found?;
    }
    found.filter(|(kind, _)| *kind == JsonKind::String).map(|(_, value)| value)
}
