//! Parts, as drawn, made pieces of a reply, and whose they are.

use super::portion::{Piece, PieceBody};
use super::rendering::Rendering;
use super::walk::PartWalk;
use crate::snapshot::{Part, cell_spans};

impl<'a> PartWalk<'a> {
    /// Whose the pieces of a reply are that does not show them in their own places.
    pub(super) fn piece_owners(&self, pieces: &[Piece]) -> Vec<Option<&'a str>> {
        if self.is_first_reply || self.snapshot.parts().len() < 2 {
            return Vec::new();
        }
        let parts = self.snapshot.parts();
        let of =
            |piece: &Piece| parts.iter().find(|part| part.address == piece.address)?.label.source.as_deref();
        let owners: Vec<Option<&str>> = pieces.iter().map(of).collect();
        if owners.iter().all(Option::is_none) { Vec::new() } else { owners }
    }
}

/// A part, or what is shown of it, under its own type.
pub(super) fn part_piece(part: &Part, body: PieceBody) -> Piece {
    let mime = part.label.mime_type.clone().filter(|_| part.indexed_text().is_some());
    Piece { address: part.address.clone(), body, mime }
}

/// A stretch of a part, which need not be of the part's type.
pub(super) fn fragment_piece(part: &Part, body: PieceBody) -> Piece {
    Piece { address: part.address.clone(), body, mime: None }
}

/// A stretch of the base64 of a part. Only the whole is of the whole's type.
pub(super) fn base64_piece(part: &Part, drawn: &Rendering, mime: &str) -> Piece {
    let is_whole = drawn.next.is_none() && drawn.meta["startByte"] == 0;
    let mime = is_whole.then(|| mime.to_owned());
    Piece { address: part.address.clone(), body: PieceBody::Base64(drawn.body.clone()), mime }
}

/// A part as it was drawn: one piece, or a piece an item where the upstream gave each a block of its own.
pub(super) fn rendering_pieces(part: &Part, drawn: &Rendering) -> Vec<Piece> {
    if part.item_blocks && drawn.kind == "page" && !drawn.is_dense() {
        let item = |(i, item): (usize, &str)| Piece {
            address: format!("{}/{i}/text", part.address),
            body: PieceBody::Text(item.to_owned()),
            mime: None,
        };
        return cell_spans(&drawn.body)
            .iter()
            .map(|cell| cell.slice(&drawn.body))
            .enumerate()
            .map(item)
            .collect();
    }
    let body = PieceBody::Text(drawn.body.clone());
    let shown = if has_part_type(part, drawn) { part_piece(part, body) } else { fragment_piece(part, body) };
    let address = if part.item_blocks { format!("{}/0/text", part.address) } else { shown.address };
    vec![Piece { address, ..shown }]
}

/// Whether what is shown of a part is of the type of the whole: a piece of JSON need not be JSON.
fn has_part_type(part: &Part, drawn: &Rendering) -> bool {
    // JSON that was found in a Markdown text is no Markdown.
    if part.json_origin.is_some() {
        return drawn.kind == "whole";
    }
    let json = part.label.mime_type.as_ref().is_some_and(|mime| mime.contains("json"));
    drawn.is_json || drawn.kind != "raw" && !json
}
