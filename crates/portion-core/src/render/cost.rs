//! What the pieces of a reply cost, in tokens and on the wire.

use super::Context;
use super::block::binary_tokens;
use super::portion::{Body, Piece};
use super::walk::Walk;
use crate::payload::Binary;
use crate::scan::escaped_len;
use crate::snapshot::{Part, PartBody};

/// Wire bytes of a text block around its text.
pub(super) const PIECE: usize = 64;
/// Wire bytes of an entry of `contents` around its text, beside its type and what its URI begins with.
const ENTRY: usize = 128;

impl Walk<'_> {
    /// What a piece costs.
    pub(super) fn cost(&self, piece: &Piece) -> usize {
        let Context { policy, counter, .. } = *self.cx;
        match &piece.body {
            Body::Text(text) => counter.count(text),
            Body::Base64(text) => binary_tokens(text, policy, counter),
            Body::Block(json) => match self.binary(piece) {
                Some(Binary { media: true, .. }) => policy.media_tokens,
                Some(_) => binary_tokens(json, policy, counter),
                None => counter.count(json),
            },
        }
    }

    /// Wire bytes of a piece. Media has a limit of its own.
    pub(super) fn wire_bytes(&self, piece: &Piece) -> usize {
        let around = self.part_of(piece).map_or(PIECE, |part| self.around(part));
        match &piece.body {
            Body::Text(text) => escaped_len(text) + around,
            Body::Base64(text) => text.len() + around,
            Body::Block(json) => match self.binary(piece) {
                Some(Binary { media: true, .. }) => 0,
                Some(_) => json.len() + around,
                None => escaped_len(json) + around,
            },
        }
    }

    /// Wire bytes around what is shown of a part: in its own place what stands there, elsewhere what we put there.
    pub(super) fn around(&self, part: &Part) -> usize {
        match (self.fresh, self.cx.read_uri) {
            (true, _) => PIECE.max(part.label.frame),
            (false, None) => PIECE,
            (false, Some(uri)) => ENTRY + uri.len() + part.label.mime.as_ref().map_or(0, String::len),
        }
    }

    fn part_of(&self, piece: &Piece) -> Option<&Part> {
        self.snapshot.parts().iter().find(|part| part.address == piece.address)
    }

    /// What is known of a piece that holds an image, audio or a blob. A block of a kind not known may hold `data` and be
    /// none of them.
    fn binary(&self, piece: &Piece) -> Option<&Binary> {
        match &self.part_of(piece)?.body {
            PartBody::Atomic { binary, .. } => binary.as_ref(),
            PartBody::Readable(_) => None,
        }
    }
}
