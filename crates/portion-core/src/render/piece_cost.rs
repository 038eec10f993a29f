//! Costs of the pieces of a reply, in tokens and wire bytes.

use std::borrow::Cow;

use portion_json::scan::{escaped_len, quote};

use super::block::binary_tokens;
use super::context::Context;
use super::follow_up_call::FollowUpCall;
use super::portion::{Piece, PieceBody};
use super::walk::{PartWalk, ReplyContent};
use crate::cursor::{CursorToken, charged};
use crate::payload::BinaryInfo;
use crate::snapshot::{Part, PartBody};

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
