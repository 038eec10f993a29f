//! Parts, as drawn, made pieces of a reply, and whose they are.

use super::drawn::Drawn;
use super::portion::{Body, Piece};
use super::walk::Walk;
use crate::snapshot::{Part, cells};

impl<'a> Walk<'a> {
    /// Whose the pieces of a reply are that does not show them in their own places.
    pub(super) fn owners(&self, pieces: &[Piece]) -> Vec<Option<&'a str>> {
        if self.fresh || self.snapshot.parts().len() < 2 {
            return Vec::new();
        }
        let parts = self.snapshot.parts();
        let of = |piece: &Piece| parts.iter().find(|part| part.address == piece.address)?.label.of.as_deref();
        let owners: Vec<Option<&str>> = pieces.iter().map(of).collect();
        if owners.iter().all(Option::is_none) { Vec::new() } else { owners }
    }
}

/// A part, or what is shown of it, under its own type.
pub(super) fn piece(part: &Part, body: Body) -> Piece {
    let mime = part.label.mime.clone().filter(|_| part.subject().is_some());
    Piece { address: part.address.clone(), body, mime }
}

/// A stretch of a part, which need not be of the part's type.
pub(super) fn stretch(part: &Part, body: Body) -> Piece {
    Piece { address: part.address.clone(), body, mime: None }
}

/// A stretch of the base64 of a part. Only the whole is of the whole's type.
pub(super) fn base64(part: &Part, drawn: &Drawn, mime: &str) -> Piece {
    let is_whole = drawn.next.is_none() && drawn.meta["startByte"] == 0;
    let mime = is_whole.then(|| mime.to_owned());
    Piece { address: part.address.clone(), body: Body::Base64(drawn.body.clone()), mime }
}

/// A part as it was drawn: one piece, or a piece an item where the upstream gave each a block of its own.
pub(super) fn pieces(part: &Part, drawn: &Drawn) -> Vec<Piece> {
    if part.item_blocks && drawn.kind == "page" && !drawn.is_dense() {
        let item = |(i, item): (usize, &str)| Piece {
            address: format!("{}/{i}/text", part.address),
            body: Body::Text(item.to_owned()),
            mime: None,
        };
        return cells(&drawn.body).iter().map(|cell| cell.of(&drawn.body)).enumerate().map(item).collect();
    }
    let body = Body::Text(drawn.body.clone());
    let shown = if is_of_its_type(part, drawn) { piece(part, body) } else { stretch(part, body) };
    let address = if part.item_blocks { format!("{}/0/text", part.address) } else { shown.address };
    vec![Piece { address, ..shown }]
}

/// Whether what is shown of a part is of the type of the whole: a piece of JSON need not be JSON.
fn is_of_its_type(part: &Part, drawn: &Drawn) -> bool {
    // JSON that was found in a Markdown text is no Markdown.
    if part.origin.is_some() {
        return drawn.kind == "whole";
    }
    let json = part.label.mime.as_ref().is_some_and(|mime| mime.contains("json"));
    drawn.json || drawn.kind != "raw" && !json
}
