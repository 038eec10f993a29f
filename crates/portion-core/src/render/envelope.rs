//! Puts a portion and its notice into one JSON object. What is shown decides its type: a list is a page
//! `{items,nextCursor,meta}`, an object a summary `{summary,meta}`, and everything else a chunk
//! `{content,chunkIndex,totalChunks,nextCursor,metadata}`.
//!
//! In pages and chunks `nextCursor` is null at the end. The objects around a list are no items: they are in `meta.beside`.

use memchr::memchr_iter;
use portion_json::scan::{JsonReader, quote};
use serde_json::{Map, Value};

use super::meta::{ChunkCount, NameList};
use super::notice::nest_under_meta;
use super::pass_through::shows_part;
use super::portion::{Piece, PieceBody};
use super::rendering::{EnvelopeType, PageParts, Rendering};
use super::summary::shown_field_names;
use super::walk::{PartWalk, ReplyContent};
use crate::policy::{EnvelopeMode, MetadataStyle};
use crate::snapshot::ObjectIndex;
use crate::view::core_object;

/// MIME type of an envelope.
const ENVELOPE_MIME: &str = "application/json";

impl Rendering {
    /// Adds the facts that the type of its envelope has and that it does not report by itself. `ordinal`: number of portions
    /// before this one.
    fn complete_for_envelope(&mut self, ordinal: u16) {
        match self.envelope_type() {
            EnvelopeType::Summary if self.meta.projected_fields.is_none() => {
                let index = ObjectIndex::parse(&mut JsonReader::new(&self.body));
                let pointer =
                    index.map_or_else(|_| String::new(), |index| core_object(&self.body, &index).pointer);
                let names = shown_field_names(&self.body, &pointer);
                self.meta.total_fields = Some(self.total_count.unwrap_or(0).max(names.len()));
                self.meta.projected_fields = Some(NameList::whole(names));
            }
            EnvelopeType::Chunk => self.number_chunk(ordinal),
            EnvelopeType::Page | EnvelopeType::Summary => {}
        }
    }

    /// Adds the lines and the number of a chunk. Those of bytes are counted in what they are a part of.
    fn number_chunk(&mut self, ordinal: u16) {
        let lines_in = |text: &str| {
            let body = text.strip_suffix('\n').unwrap_or(text);
            memchr_iter(b'\n', body.as_bytes()).count() + usize::from(!text.is_empty())
        };
        let (whole, before) = match &self.source {
            Some((text, span)) => {
                let whole = &text[span.start as usize..(span.end as usize).min(text.len())];
                (whole, &whole[..self.meta.start_byte.unwrap_or(0).min(whole.len())])
            }
            None => (self.body.as_str(), ""),
        };
        let meta = &mut self.meta;
        let total_lines = *meta.total_lines.get_or_insert_with(|| lines_in(whole));
        meta.lines.get_or_insert_with(|| {
            let first = memchr_iter(b'\n', before.as_bytes()).count() + 1;
            let last = (first + lines_in(&self.body)).saturating_sub(1);
            (first.min(total_lines), last.min(total_lines))
        });
        let size = *meta.chunk_bytes.get_or_insert(self.body.len());
        if meta.chunk_index.is_none() {
            let rest = whole.len().saturating_sub(before.len() + size);
            let index = if before.is_empty() { 0 } else { usize::from(ordinal) };
            let count = index + 1 + rest.div_ceil(size.max(1));
            meta.chunk_index = Some(index);
            meta.total_chunks = Some(ChunkCount { count, is_estimate: rest > 0 });
        }
    }
}

/// Returns a rendering and its notice as one object.
pub(super) fn wrap(rendering: &Rendering, notice: &Map<String, Value>, style: MetadataStyle) -> String {
    let notice = &nest_under_meta(notice, style);
    let mut meta = notice.get("meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let key = style.key("nextCursor");
    let next = notice.get(&key);
    let next_or_null = member(&key, &next.unwrap_or(&Value::Null).to_string());
    let mut members = Vec::new();
    match (rendering.envelope_type(), &rendering.page_parts) {
        (EnvelopeType::Page, Some(PageParts { items, outer_members: beside })) => {
            // A walk goes on after the list if further parts follow.
            let has_more = next.is_some() || rendering.meta.has_more == Some(true);
            // While the end of the list is unknown, the number of items so far, and one more.
            let reached = rendering.meta.offset.unwrap_or_default()
                + rendering.meta.served.unwrap_or_default()
                + usize::from(has_more);
            let total = rendering.total_count;
            let extent = [
                ("totalCount", Some(total.unwrap_or(reached).into())),
                ("totalCountEstimated", total.is_none().then_some(true.into())),
                ("pageSize", rendering.meta.page_size.map(Value::from)),
                ("hasMore", Some(has_more.into())),
            ];
            meta.extend(extent.into_iter().filter_map(|(name, value)| Some((style.key(name), value?))));
            let meta = Value::Object(meta).to_string();
            let meta = match beside.as_str() {
                "" => meta,
                beside => format!("{{\"beside\":{beside},{}", meta.strip_prefix('{').unwrap_or("}")),
            };
            members.extend([member("items", items), next_or_null, member("meta", &meta)]);
        }
        (EnvelopeType::Summary, _) => {
            members.push(member("summary", &rendering.body));
            members.extend(next.map(|_| next_or_null));
            members.push(member("meta", &Value::Object(meta).to_string()));
        }
        _ => {
            members.push(member("content", &quote(&rendering.body)));
            for name in ["chunkIndex", "totalChunks"] {
                let name = style.key(name);
                members.extend(meta.shift_remove(&name).map(|value| member(&name, &value.to_string())));
            }
            members.push(next_or_null);
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

    /// Adds the facts that the type of the envelope has to the part that it holds.
    pub(super) fn note_envelope_facts(&self, content: &mut ReplyContent<'a>) {
        let start = self.request.start;
        if let Some(part) = content.notice_part.as_mut().filter(|_| self.uses_envelope()) {
            let is_resumed = part.part_index == usize::from(start.part);
            part.rendering.complete_for_envelope(if is_resumed { start.ordinal } else { 0 });
        }
    }

    /// Replaces the pieces of the notice's part with one empty piece for the envelope and returns its index.
    /// Returns `None` if the part is shown as something other than text.
    pub(super) fn reserve_envelope(&self, content: &mut ReplyContent<'a>) -> Option<usize> {
        let shaped = content.notice_part.as_ref().filter(|_| self.uses_envelope())?;
        let part = self.snapshot.parts().get(shaped.part_index)?;
        let of_it = |piece: &Piece| shows_part(piece, part);
        let is_text = |piece: &Piece| matches!(piece.body, PieceBody::Text(_));
        if content.pieces.iter().any(|piece| of_it(piece) && !is_text(piece)) {
            return None;
        }
        let at = content.pieces.iter().position(of_it).unwrap_or(content.pieces.len());
        let address = match content.pieces.get(at) {
            Some(piece) => piece.address.clone(),
            None if part.item_blocks => format!("{}/0/text", part.address),
            None => part.address.clone(),
        };
        content.pieces.retain(|piece| !of_it(piece));
        let mime = Some(ENVELOPE_MIME.to_owned());
        content.pieces.insert(at, Piece { address, body: PieceBody::Text(String::new()), mime });
        Some(at)
    }
}
