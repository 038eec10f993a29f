//! Converts rendered parts into the pieces of a reply.

use portion_json::scan::unescape;

use super::portion::{Piece, PieceBody, PortionKind};
use super::rendering::Rendering;
use super::walk::PartWalk;
use crate::snapshot::{Part, cell_spans};

impl<'a> PartWalk<'a> {
    /// Returns the source of each piece, for a reply that does not show the pieces at their own addresses.
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

/// Returns a piece with the content of a part and the MIME type of the part.
pub(super) fn part_piece(part: &Part, body: PieceBody) -> Piece {
    let mime = part.label.mime_type.clone().filter(|_| part.indexed_text().is_some());
    Piece { address: part.address.clone(), body, mime }
}

/// Returns a piece with a range of a part. It has no MIME type, because a range need not have the type of the
/// part.
pub(super) fn fragment_piece(part: &Part, body: PieceBody) -> Piece {
    Piece { address: part.address.clone(), body, mime: None }
}

/// Returns a piece with base64 of a part. It has the MIME type only if it is the whole.
pub(super) fn base64_piece(part: &Part, rendering: &Rendering, mime: &str) -> Piece {
    let is_whole = rendering.next.is_none() && rendering.meta.start_byte == Some(0);
    let mime = is_whole.then(|| mime.to_owned());
    Piece { address: part.address.clone(), body: PieceBody::Base64(rendering.body.clone()), mime }
}

/// Returns the pieces of a rendered part: one, or one per item if the upstream gave each item a block of its
/// own.
pub(super) fn rendering_pieces(part: &Part, rendering: &Rendering) -> Vec<Piece> {
    if part.item_blocks && rendering.kind == PortionKind::Page && !rendering.meta.is_dense {
        let item = |(i, item): (usize, &str)| Piece {
            address: format!("{}/{i}/text", part.address),
            // The block of a text is the text, not a JSON string.
            body: PieceBody::Text(if item.starts_with('"') { unescape(item) } else { item.to_owned() }),
            mime: None,
        };
        return cell_spans(&rendering.body)
            .iter()
            .map(|cell| cell.slice(&rendering.body))
            .enumerate()
            .map(item)
            .collect();
    }
    let body = PieceBody::Text(rendering.body.clone());
    let shown =
        if has_part_type(part, rendering) { part_piece(part, body) } else { fragment_piece(part, body) };
    let address = if part.item_blocks { format!("{}/0/text", part.address) } else { shown.address };
    vec![Piece { address, ..shown }]
}

/// Returns true if the rendering has the MIME type of the part. A range of JSON need not be JSON.
fn has_part_type(part: &Part, rendering: &Rendering) -> bool {
    // JSON that was found in a Markdown text is not Markdown.
    if part.json_origin.is_some() {
        return rendering.kind == PortionKind::Whole;
    }
    let json = part.label.mime_type.as_ref().is_some_and(|mime| mime.contains("json"));
    rendering.is_json || rendering.kind != PortionKind::Raw && !json
}
