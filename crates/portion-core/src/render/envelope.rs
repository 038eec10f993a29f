//! Puts a portion and its notice into one JSON object: `{items,nextCursor,meta}`, `{summary,meta}` or
//! `{content,chunkIndex,totalChunks,nextCursor,metadata}`.
//!
//! In pages and chunks `nextCursor` is null at the end, and `totalChunks` is a number: if it is an estimate, `metadata` has
//! `totalChunksEstimated`.
//!
//! Values keep the bytes that they would have without the envelope. The objects around a list are no items:
//! they are in `meta.beside`.

use portion_json::scan::quote;
use serde_json::{Map, Value};

use super::exempt::shows_part;
use super::notice::nest_under_meta;
use super::portion::{Piece, PieceBody, PortionKind};
use super::rendering::{PageParts, Rendering};
use super::walk::{PartWalk, ReplyContent};
use crate::policy::{EnvelopeMode, MetadataStyle};

/// MIME type of an envelope.
const ENVELOPE_MIME: &str = "application/json";

/// Returns a rendering and its notice as one object.
pub(super) fn wrap(rendering: &Rendering, notice: &Map<String, Value>, style: MetadataStyle) -> String {
    let notice = &nest_under_meta(notice, style);
    let mut meta = notice.get("meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let total = style.key("totalCount");
    if let (Some(count), false) = (notice.get(&total), meta.contains_key(&total)) {
        meta.insert(total, count.clone());
    }
    let key = style.key("nextCursor");
    let next = notice.get(&key).map(|cursor| member(&key, &cursor.to_string()));
    let next_or_null = || next.clone().unwrap_or_else(|| member(&key, "null"));
    let body = || if rendering.is_json { rendering.body.clone() } else { quote(&rendering.body) };
    let mut members = Vec::new();
    match rendering.kind {
        PortionKind::Page => {
            let PageParts { items, outer_members: beside } = rendering
                .page_parts
                .clone()
                .unwrap_or_else(|| PageParts { items: body(), outer_members: String::new() });
            let meta = Value::Object(meta).to_string();
            let meta = match beside.as_str() {
                "" => meta,
                beside => format!("{{\"beside\":{beside},{}", meta.strip_prefix('{').unwrap_or("}")),
            };
            members.push(member("items", &items));
            members.push(next_or_null());
            members.push(member("meta", &meta));
        }
        PortionKind::Summary => {
            members.push(member("summary", &body()));
            members.extend(next);
            members.push(member("meta", &Value::Object(meta).to_string()));
        }
        _ => {
            members.push(member("content", &body()));
            let (index, total) = (style.key("chunkIndex"), style.key("totalChunks"));
            members.extend(meta.shift_remove(&index).map(|value| member(&index, &value.to_string())));
            if let (Some(_), Some(chunks)) = (meta.shift_remove(&total), rendering.meta.total_chunks) {
                members.push(member(&total, &chunks.count.to_string()));
                if chunks.is_estimate {
                    meta.insert(style.key("totalChunksEstimated"), true.into());
                }
            }
            members.push(next_or_null());
            members.push(member("metadata", &Value::Object(meta).to_string()));
        }
    }
    format!("{{{}}}", members.join(","))
}

fn member(key: &str, json: &str) -> String {
    format!("\"{key}\":{json}")
}

impl<'a> PartWalk<'a> {
    /// Returns true if portions are put in an envelope.
    pub(super) fn uses_envelope(&self) -> bool {
        self.cx.policy.render_options.envelope == EnvelopeMode::Wrap
    }

    /// Replaces the pieces of the notice's part with one empty piece for the envelope and returns its index.
    /// Returns `None` if the part is shown as something other than text.
    pub(super) fn reserve_envelope(&self, channel: &mut ReplyContent<'a>) -> Option<usize> {
        let shaped = channel.notice_part.as_ref().filter(|_| self.uses_envelope())?;
        let part = self.snapshot.parts().get(shaped.part_index)?;
        let of_it = |piece: &Piece| shows_part(piece, part);
        let is_text = |piece: &Piece| matches!(piece.body, PieceBody::Text(_));
        if channel.pieces.iter().any(|piece| of_it(piece) && !is_text(piece)) {
            return None;
        }
        let at = channel.pieces.iter().position(of_it).unwrap_or(channel.pieces.len());
        let address = match channel.pieces.get(at) {
            Some(piece) => piece.address.clone(),
            None if part.item_blocks => format!("{}/0/text", part.address),
            None => part.address.clone(),
        };
        channel.pieces.retain(|piece| !of_it(piece));
        let mime = Some(ENVELOPE_MIME.to_owned());
        channel.pieces.insert(at, Piece { address, body: PieceBody::Text(String::new()), mime });
        Some(at)
    }
}
