//! Builds results without an upstream result.

use portion_core::render::{PieceBody, Portion};
use portion_gateway::call::Fault;
use portion_json::scan::quote;
use portion_json::span::Span;

use super::super::strings::replace_lone_surrogates;
use super::super::walk;
use super::write::PortionContent;

/// Builds a tool result from a portion. `structured`: includes `structuredContent`, which an upstream tool
/// may require and `portion_read` does not have. `is_stateless`: the request has a revision whose results have a
/// `resultType`.
pub(crate) fn tool_result(portion: &Portion, structured: bool, is_stateless: bool) -> String {
    build_tool_result(portion.into(), structured, is_stateless)
}

fn build_tool_result(content: PortionContent<'_>, structured: bool, is_stateless: bool) -> String {
    let mut blocks: Vec<String> = content.pieces.iter().map(|piece| content_block(&piece.body)).collect();
    blocks.extend(content.text_notice.map(text_block));
    let meta = format!("\"_meta\":{{{}}}", content.meta_members());
    let structured = content.structured.filter(|_| structured);
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

fn text_block(text: &str) -> String {
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
