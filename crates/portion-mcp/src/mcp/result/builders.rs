//! Builds results without an upstream result: responses to read URIs, entries that are added to a server's contents, and results
//! that do not match their method, as text.

use portion_core::payload::{Block, Content, Payload};
use portion_core::render::{Piece, PieceBody, Portion};
use portion_gateway::call::Fault;
use portion_json::scan::{JsonKind, is_json, quote, unescape_into};
use portion_json::span::Span;

use super::super::walk::replace_lone_surrogates;
use super::READ_URI_PREFIX;
use super::outline::ResultShape;
use super::write::PortionContent;
use crate::mcp::walk;

/// Form of `structuredContent` in a result that is built without an upstream result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StructuredForm {
    /// There is none: the tool is the gateway's own.
    None,
    /// There is what was rendered.
    AsRendered,
    /// The tool has an `outputSchema`, so that clients refuse results without one. The answer to a query, which is text,
    /// becomes an object with a notice, without its rows if the result would have more bytes than this.
    Required { max_bytes: usize },
}

/// Builds a tool result from a portion. `is_stateless`: the request has a revision whose results have a `resultType`.
pub(crate) fn tool_result(portion: &Portion, structured: StructuredForm, is_stateless: bool) -> String {
    let content = PortionContent::from(portion);
    let build = |structured: Option<&str>| build_tool_result(content, structured, is_stateless);
    match (structured, content.structured) {
        (StructuredForm::None, _) => build(None),
        (StructuredForm::AsRendered, rendered) | (_, rendered @ Some(_)) => build(rendered),
        (StructuredForm::Required { max_bytes }, None) => {
            let whole = build(Some(&object_with_items(content)));
            if whole.len() <= max_bytes { whole } else { build(Some(content.notice)) }
        }
    }
}

/// Returns the text of a portion as an object with its notice.
fn object_with_items(content: PortionContent<'_>) -> String {
    let text = content.pieces.first().map_or("[]", |piece| piece.body.as_str());
    match (content.text_notice, content.notice.strip_prefix('{')) {
        (Some(_), Some(members)) if is_json(text) => format!("{{\"items\":{text},{members}"),
        (Some(_), Some(members)) => format!("{{\"text\":{},{members}", quote(text)),
        _ => text.to_owned(),
    }
}

fn build_tool_result(content: PortionContent<'_>, structured: Option<&str>, is_stateless: bool) -> String {
    let mut blocks: Vec<String> = content.pieces.iter().map(|piece| content_block(&piece.body)).collect();
    blocks.extend(content.text_notice.map(text_block));
    let meta = format!("\"_meta\":{{{}}}", content.meta_members());
    let structured = structured
        .map(|json| format!("\"structuredContent\":{},", replace_lone_surrogates(json)))
        .unwrap_or_default();
    format!(
        "{{\"content\":[{}],{structured}{meta}{}}}",
        blocks.join(","),
        completion_members(is_stateless, false)
    )
}

/// Builds a tool result from a text.
pub(crate) fn text_result(text: &str, is_stateless: bool) -> String {
    format!("{{\"content\":[{}]{}}}", text_block(text), completion_members(is_stateless, false))
}

/// Builds a tool result from a fault.
pub(crate) fn fault_result(fault: &Fault, is_stateless: bool) -> String {
    let block = text_block(&fault.to_json());
    format!("{{\"content\":[{block}],\"isError\":true{}}}", completion_members(is_stateless, false))
}

/// Returns the result members that 2026-07-28 requires and earlier revisions do not have. `cached`: clients
/// cache the result.
pub(crate) fn completion_members(is_stateless: bool, cached: bool) -> &'static str {
    match (is_stateless, cached) {
        (true, true) => ",\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"",
        (true, false) => ",\"resultType\":\"complete\"",
        (false, _) => "",
    }
}

/// Returns a content block with a text.
pub(super) fn text_block(text: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", quote(text))
}

/// Returns a piece as a content block, whatever its origin.
pub(super) fn content_block(body: &PieceBody) -> String {
    let PieceBody::Block(json) = body else { return text_block(body.as_str()) };
    let all: Span = walk::document_span(json);
    if walk::string_member(json, all, "type").is_some() {
        json.clone()
    } else if walk::string_member(json, all, "uri").is_some() {
        format!("{{\"type\":\"resource\",\"resource\":{json}}}")
    } else {
        text_block(json)
    }
}

/// Builds the result for a read URI from a portion.
pub(crate) fn resource_result(portion: &Portion, is_stateless: bool) -> String {
    let base_uri = portion
        .start_cursor()
        .map_or("portion://part".to_owned(), |cursor| format!("{READ_URI_PREFIX}{cursor}"));
    // Each entry needs a URI of its own.
    let uri = |i: usize| if i == 0 { quote(&base_uri) } else { quote(&format!("{base_uri}#{i}")) };
    let mut entries: Vec<String> =
        portion.pieces().iter().enumerate().map(|(i, piece)| piece_entry(&uri(i), piece)).collect();
    entries.extend(portion.separate_notice().map(|notice| notice_entry(portion.into(), notice)));
    let meta = format!("\"_meta\":{{{}}}", PortionContent::from(portion).meta_members());
    format!("{{\"contents\":[{}],{meta}{}}}", entries.join(","), completion_members(is_stateless, true))
}

/// Returns the notice as an entry. Its URI is that of the next page: always a new one, because clients cache
/// by URI.
pub(super) fn notice_entry(content: PortionContent<'_>, notice: &str) -> String {
    let uri =
        content.cursor.map_or("portion://notice".to_owned(), |cursor| format!("{READ_URI_PREFIX}{cursor}"));
    text_entry(&quote(&uri), "application/json", notice)
}

/// Returns a text entry. `uri` is JSON.
pub(super) fn text_entry(uri: &str, mime: &str, text: &str) -> String {
    format!("{{\"uri\":{uri},\"mimeType\":{},\"text\":{}}}", quote(mime), quote(text))
}

/// Returns a piece as an entry. `uri` is JSON.
fn piece_entry(uri: &str, piece: &Piece) -> String {
    match &piece.body {
        PieceBody::Text(text) => text_entry(uri, piece.mime.as_deref().unwrap_or("text/plain"), text),
        PieceBody::Base64(blob) => {
            let mime = piece.mime.as_deref().unwrap_or("application/octet-stream");
            format!("{{\"uri\":{uri},\"mimeType\":{},\"blob\":{}}}", quote(mime), quote(blob))
        }
        PieceBody::Block(json) => block_entry(uri, json),
    }
}

/// Returns a block as an entry: unchanged, with its own URI, if it is or contains an entry, because it is
/// whole.
fn block_entry(uri: &str, json: &str) -> String {
    let all = walk::document_span(json);
    let kind = walk::string_member(json, all, "type");
    match kind.as_deref() {
        None if walk::string_member(json, all, "uri").is_some() => json.to_owned(),
        Some("resource") => {
            let resource =
                walk::member_value(json, all, "resource").map(|resource| resource.slice(json).to_owned());
            resource.unwrap_or_else(|| text_entry(uri, "application/json", json))
        }
        Some("image" | "audio") => {
            let member = |name| walk::member_value(json, all, name).map(|span| span.slice(json));
            let mime = member("mimeType").unwrap_or("\"application/octet-stream\"");
            let blob = member("data").unwrap_or("\"\"");
            format!("{{\"uri\":{uri},\"mimeType\":{mime},\"blob\":{blob}}}")
        }
        _ => text_entry(uri, "application/json", json),
    }
}

/// Adds a JSON value to a payload: a string as a text, others as they are.
pub(crate) fn add_value(payload: &mut Payload, address: &'static str, json: &str) {
    let content = if json.starts_with('"') {
        let mut text = String::new();
        payload.lone_surrogate_count += unescape_into(json, &mut text);
        Content::Text(text)
    } else {
        Content::Structured(json.to_owned())
    };
    payload.blocks.push(Block::new(address, content));
}

/// A result that its method does not return.
pub(crate) struct UnrecognizedResult<'a> {
    json: &'a str,
    shape: ResultShape,
}

impl<'a> UnrecognizedResult<'a> {
    /// Wraps a result of a valid text.
    pub(crate) fn new(text: &'a str, result: Span, shape: ResultShape) -> Self {
        Self { json: result.slice(text), shape }
    }

    /// Returns the payload: one text.
    pub(crate) fn payload(&self, invalid_utf8: usize) -> Payload {
        let mut payload = Payload { invalid_utf8_count: invalid_utf8, ..Payload::default() };
        let text = if walk::kind(self.json, walk::document_span(self.json)) == JsonKind::String {
            let mut text = String::new();
            payload.lone_surrogate_count = unescape_into(self.json, &mut text);
            text
        } else {
            self.json.to_owned()
        };
        let address = match self.shape {
            ResultShape::Tool => "/content/0/text",
            ResultShape::Resource => "/contents/0/text",
            ResultShape::Prompt => "/messages/0/content/text",
        };
        payload.blocks.push(Block::new(address, Content::Text(text)));
        payload
    }

    /// Writes a portion as a result of the method.
    pub(crate) fn to_result(&self, portion: &Portion, is_stateless: bool) -> String {
        match self.shape {
            ResultShape::Tool => tool_result(portion, StructuredForm::None, is_stateless),
            ResultShape::Resource => resource_result(portion, is_stateless),
            ResultShape::Prompt => prompt_result(portion, is_stateless),
        }
    }
}

/// Writes a portion as prompt messages.
fn prompt_result(portion: &Portion, is_stateless: bool) -> String {
    let message = |content: String| format!("{{\"role\":\"user\",\"content\":{content}}}");
    let mut messages: Vec<String> =
        portion.pieces().iter().map(|piece: &Piece| message(content_block(&piece.body))).collect();
    messages.extend(
        portion.separate_notice().map(|notice| message(content_block(&PieceBody::Text(notice.to_owned())))),
    );
    let meta = format!("\"_meta\":{{{}}}", PortionContent::from(portion).meta_members());
    format!("{{\"messages\":[{}],{meta}{}}}", messages.join(","), completion_members(is_stateless, false))
}

/// Returns the JSON that a portion shows in place of the part at an address.
pub(crate) fn part_json(portion: &Portion, address: &str) -> String {
    let content = PortionContent::from(portion);
    content.json_at(address, |_| content.text_notice.is_none())
}
