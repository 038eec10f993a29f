//! Builds results without an upstream result.

use portion_core::render::{PieceBody, Portion};
use portion_gateway::call::Fault;
use portion_json::scan::{is_json, quote};
use portion_json::span::Span;

use super::super::strings::replace_lone_surrogates;
use super::super::walk;
use super::write::PortionContent;

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
