//! A portion in an envelope: what is shown and what is told of it as one JSON object, `{items,nextCursor,meta}`,
//! `{summary,meta}` or `{content,chunkIndex,totalChunks,nextCursor,metadata}`.
//!
//! The values are the bytes that would be shown without it. What stands around a list is no item: it is told beside the
//! rest of what is known of the list, in `meta.beside`.

use serde_json::{Map, Value};

use super::drawn::{Drawn, Listed};
use super::left::is_of;
use super::notice::enclosed;
use super::portion::{Body, Piece};
use super::walk::{Channel, Walk};
use crate::policy::{Envelope, MetadataStyle};
use crate::scan::quote;

/// The MIME type of what is put in an envelope.
const MIME: &str = "application/json";

/// What was drawn and its notice in one object.
pub(super) fn wrapped(drawn: &Drawn, notice: &Map<String, Value>, style: MetadataStyle) -> String {
    let notice = &enclosed(notice, style);
    let mut meta = notice.get("meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let total = style.key("totalCount");
    if let (Some(count), false) = (notice.get(&total), meta.contains_key(&total)) {
        meta.insert(total, count.clone());
    }
    let next = style.key("nextCursor");
    let next = notice.get(&next).map(|cursor| member(&next, &cursor.to_string()));
    let body = || if drawn.json { drawn.body.clone() } else { quote(&drawn.body) };
    let mut members = Vec::new();
    match drawn.kind {
        "page" => {
            let Listed { items, beside } =
                drawn.listed.clone().unwrap_or_else(|| Listed { items: body(), beside: String::new() });
            let told = Value::Object(meta).to_string();
            let told = match beside.as_str() {
                "" => told,
                beside => format!("{{\"beside\":{beside},{}", told.strip_prefix('{').unwrap_or("}")),
            };
            members.push(member("items", &items));
            members.extend(next);
            members.push(member("meta", &told));
        }
        "summary" => {
            members.push(member("summary", &body()));
            members.extend(next);
            members.push(member("meta", &Value::Object(meta).to_string()));
        }
        _ => {
            members.push(member("content", &body()));
            for key in ["chunkIndex", "totalChunks"].map(|key| style.key(key)) {
                members.extend(meta.shift_remove(&key).map(|value| member(&key, &value.to_string())));
            }
            members.extend(next);
            members.push(member("metadata", &Value::Object(meta).to_string()));
        }
    }
    format!("{{{}}}", members.join(","))
}

fn member(key: &str, json: &str) -> String {
    format!("\"{key}\":{json}")
}

impl<'a> Walk<'a> {
    /// Whether portions are put in an envelope.
    pub(super) fn wraps(&self) -> bool {
        self.cx.policy.manner.envelope == Envelope::Wrap
    }

    /// Makes room for an envelope in the place of what is shown of the part that the notice is about, and says which
    /// piece that is; `None` where nothing is shown of it that could stand in one.
    pub(super) fn open(&self, channel: &mut Channel<'a>) -> Option<usize> {
        let shaped = channel.shaped.as_ref().filter(|_| self.wraps())?;
        let part = self.snapshot.parts().get(shaped.part)?;
        let of_it = |piece: &Piece| is_of(piece, part);
        let is_text = |piece: &Piece| matches!(piece.body, Body::Text(_));
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
        let mime = Some(MIME.to_owned());
        channel.pieces.insert(at, Piece { address, body: Body::Text(String::new()), mime });
        Some(at)
    }
}
