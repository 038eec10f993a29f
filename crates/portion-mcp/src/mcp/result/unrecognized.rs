//! Serves results that do not match their method as text.

use portion_core::payload::{Block, Content, Payload};
use portion_core::render::{Piece, PieceBody, Portion};
use portion_json::scan::{JsonKind, unescape_into};
use portion_json::span::Span;

use super::super::walk;
use super::builders::{StructuredForm, completion_members, content_block, tool_result};
use super::outline::ResultShape;
use super::resource_contents::resource_result;
use super::write::PortionContent;

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
