//! Results of another shape than their method's: JSON of unknown shape, which is served as text.

use portion_core::payload::{Block, Content, Payload};
use portion_core::render::{Body, Piece, Portion};
use portion_core::scan::{Kind, decode, quote};
use portion_core::span::Span;

use super::super::walk;
use super::contents::read_contents;
use super::local::{block, completed, read_tool};
use super::outline::Shape;
use super::serve::Shown;

/// A result that is not what its method returns.
pub(crate) struct Odd<'a> {
    json: &'a str,
    shape: Shape,
}

impl<'a> Odd<'a> {
    /// The result at a place of a valid text.
    pub(crate) fn of(text: &'a str, result: Span, shape: Shape) -> Self {
        Self { json: result.of(text), shape }
    }

    /// The payload: one text.
    pub(crate) fn payload(&self, invalid_utf8: usize) -> Payload {
        let mut payload = Payload { invalid_utf8, ..Payload::default() };
        let text = if walk::kind(self.json, walk::whole(self.json)) == Kind::String {
            let mut text = String::new();
            payload.lone_surrogates = decode(self.json, &mut text);
            text
        } else {
            self.json.to_owned()
        };
        let address = match self.shape {
            Shape::Tool => "/content/0/text",
            Shape::Resource => "/contents/0/text",
            Shape::Prompt => "/messages/0/content/text",
        };
        payload.blocks.push(Block::new(address, Content::Text(text)));
        payload
    }

    /// The portion as the result that the method has.
    pub(crate) fn served(&self, portion: &Portion, modern: bool) -> String {
        match self.shape {
            Shape::Tool => read_tool(portion, false, modern),
            Shape::Resource => read_contents(portion, modern),
            Shape::Prompt => prompt(portion, modern),
        }
    }
}

/// A portion as messages of a prompt.
fn prompt(portion: &Portion, modern: bool) -> String {
    let message = |content: String| format!("{{\"role\":\"user\",\"content\":{content}}}");
    let mut messages: Vec<String> =
        portion.pieces().iter().map(|piece: &Piece| message(block(&piece.body))).collect();
    messages.extend(portion.notice_beside().map(|notice| message(block(&Body::Text(notice.to_owned())))));
    let meta = format!("\"_meta\":{{{}}}", Shown::from(portion).marks());
    format!("{{\"messages\":[{}],{meta}{}}}", messages.join(","), completed(modern, false))
}

/// What a portion shows of the part at an address, as JSON in the place of that part.
pub(crate) fn beside(portion: &Portion, address: &str) -> String {
    let shown = Shown::from(portion);
    let piece = shown.pieces.iter().find(|piece| piece.address == address);
    match (shown.structured, piece) {
        (Some(structured), _) => structured.to_owned(),
        (None, Some(piece)) if shown.enveloped => piece.body.as_str().to_owned(),
        (None, Some(piece)) => {
            format!("{{\"data\":{},\"portion\":{}}}", quote(piece.body.as_str()), shown.notice)
        }
        (None, None) => shown.notice.to_owned(),
    }
}
