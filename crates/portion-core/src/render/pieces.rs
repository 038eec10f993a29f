//! Converts rendered parts into the pieces of a reply, and counts what each costs.

use std::borrow::Cow;

use portion_json::scan::{escaped_len, quote, unescape};

use super::budget::binary_tokens;
use super::context::{Context, FollowUpCall};
use super::portion::{Piece, PieceBody, PortionKind};
use super::rendering::Rendering;
use super::walk::{PartWalk, ReplyContent};
use crate::base64_text::is_text;
use crate::cursor::{CursorToken, charged};
use crate::payload::BinaryInfo;
use crate::snapshot::{Part, PartBody, cell_spans, string_at};

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

/// Wire bytes of a text block around its text.
pub(super) const TEXT_BLOCK_BYTES: usize = 64;
/// Wire bytes of a `contents` entry around its text, without its MIME type and URI prefix.
const CONTENTS_ENTRY_BYTES: usize = 128;

impl PartWalk<'_> {
    /// Returns true if texts are sent, and read, as strings of JSON: in the body of an HTTP response.
    pub(super) fn quotes_text(&self, content: &ReplyContent<'_>) -> bool {
        let is_json = content.notice_part.as_ref().is_some_and(|part| part.rendering.is_json);
        matches!(self.cx.read_call, FollowUpCall::Http(_)) && !is_json
    }

    /// Returns the tokens of a piece, in which these cursors are charged a constant. `is_quoted`: a text is sent as a string of
    /// JSON.
    pub(super) fn piece_tokens(&self, piece: &Piece, is_quoted: bool, cursors: &[CursorToken]) -> usize {
        let Context { policy, counter, .. } = *self.cx;
        match &piece.body {
            PieceBody::Text(text) if is_quoted => counter.count(&quote(text)),
            PieceBody::Text(text) => counter.count(&charged(&self.charged(text), cursors)),
            PieceBody::Base64(text) => binary_tokens(text, policy, counter),
            PieceBody::Block(json) => match self.binary_of(piece) {
                Some(BinaryInfo { is_media: true, .. }) => policy.media_tokens,
                Some(_) => binary_tokens(json, policy, counter),
                None => counter.count(json),
            },
        }
    }

    /// Replaces the cursor in the description of a block by the most expensive one to the same position.
    /// Only descriptions in the contents of a resource contain a cursor, as part of a URI.
    pub(super) fn charged<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let is_uri = self.charges_cursors && self.cx.read_uri.is_some();
        let cursor = if is_uri { (self.cx.issue_cursor)(self.request.start) } else { None };
        charged(text, cursor.as_slice())
    }

    /// Returns the wire bytes of a piece. Media have their own limit and count as 0.
    pub(super) fn piece_wire_bytes(&self, piece: &Piece) -> usize {
        let around = self.part_of(piece).map_or(TEXT_BLOCK_BYTES, |part| self.overhead_bytes(part));
        match &piece.body {
            PieceBody::Text(text) => escaped_len(text) + around,
            PieceBody::Base64(text) => text.len() + around,
            PieceBody::Block(json) => match self.binary_of(piece) {
                Some(BinaryInfo { is_media: true, .. }) => 0,
                Some(_) => json.len() + around,
                None => escaped_len(json) + around,
            },
        }
    }

    /// Returns the wire bytes around the content of a part: in the first reply the upstream's frame, in
    /// follow-ups ours.
    pub(super) fn overhead_bytes(&self, part: &Part) -> usize {
        match (self.is_first_reply, self.cx.read_uri) {
            (true, _) => TEXT_BLOCK_BYTES.max(part.label.frame_bytes),
            (false, None) => TEXT_BLOCK_BYTES,
            (false, Some(uri)) => {
                CONTENTS_ENTRY_BYTES + uri.len() + part.label.mime_type.as_ref().map_or(0, String::len)
            }
        }
    }

    fn part_of(&self, piece: &Piece) -> Option<&Part> {
        self.snapshot.parts().iter().find(|part| part.address == piece.address)
    }

    /// Returns facts about a piece that holds an image, audio or a blob. A block of an unknown type may have
    /// a `data` member and is none of these.
    fn binary_of(&self, piece: &Piece) -> Option<&BinaryInfo> {
        match &self.part_of(piece)?.body {
            PartBody::Atomic { binary, .. } => binary.as_ref(),
            PartBody::Indexed(_) => None,
        }
    }
}

/// Longest source URI, in bytes, with which a placeholder begins.
const MAX_NAME_BYTES: usize = 200;

/// Returns the text in place of a block: its type, its size and the calls that read it. `cursor` is the
/// cursor to the start of the reply.
pub(super) fn block_placeholder(
    part: &Part,
    binary: Option<&BinaryInfo>,
    cursor: Option<&CursorToken>,
    cx: &Context<'_>,
) -> String {
    let (path, bytes) = content_path_and_size(part, binary);
    let name = part.label.source.as_ref().filter(|of| of.len() <= MAX_NAME_BYTES).map(|of| format!("{of}: "));
    let name = name.unwrap_or_default();
    // In replies to a tool, media within the limits are shown through the path of their block.
    let shows = cx.read_uri.is_none()
        && binary.is_some_and(|binary| binary.is_media && cx.policy.can_show_media(binary.decoded_bytes));
    if let (true, Some(binary), Some(_)) = (shows, binary, cursor) {
        let block = part.address.strip_suffix("/text").unwrap_or(&part.address);
        let (mime, read) = (&binary.mime_type, cx.read_call.with(&format!("cursor, path=\"{block}\"")));
        return format!("[{name}{mime}, {bytes} bytes, not shown; {read} shows it]");
    }
    let (kind, how, (argument, query)) = match binary {
        Some(binary) if is_text_blob(part, binary) => (binary.mime_type.as_str(), " as text", ("", "")),
        Some(binary) => (binary.mime_type.as_str(), " as base64", ("", "")),
        None => ("block", "", (", raw=true", "&raw=true")),
    };
    let what = format!("{name}{kind}, {bytes} bytes, not shown");
    let Some(cursor) = cursor else { return format!("[{what}]") };
    let tool = cx.read_call.with(&format!("cursor, path=\"{path}\"{argument}"));
    // No block address contains characters that need escaping in a URI.
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'.');
    let by_uri = match cx.read_uri.filter(|_| path.bytes().all(plain)) {
        Some(uri) => format!(" or resources/read {uri}{cursor}?path={path}{query}"),
        None => String::new(),
    };
    format!("[{what}; {tool}{by_uri} reads it{how}]")
}

/// Returns true if the base64 of a block is that of a text.
fn is_text_blob(part: &Part, binary: &BinaryInfo) -> bool {
    let PartBody::Atomic { json, .. } = &part.body else { return false };
    let data = string_at(json, binary.data_pointer);
    data.is_some_and(|data| is_text(data.slice(json).trim_matches('"'), &binary.mime_type))
}

/// Returns the pointer to the content of a block, as written in a caller's path, and its size in bytes.
pub(super) fn content_path_and_size(part: &Part, binary: Option<&BinaryInfo>) -> (String, usize) {
    let block = part.address.strip_suffix("/text").unwrap_or(&part.address);
    match binary {
        Some(binary) => (format!("{block}{}", binary.data_pointer), binary.decoded_bytes),
        None => (block.to_owned(), part.text_len()),
    }
}
