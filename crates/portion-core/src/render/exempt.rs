//! What is left as it came, however large: what would be done to it is switched off.

use std::collections::HashMap;

use super::portion::Piece;
use super::walk::PartWalk;
use crate::policy::{Policy, Techniques};
use crate::snapshot::{Part, Snapshot, Structure};

/// Whether what would be done to a part of a snapshot is switched off, so that a plain call has it as it came, whatever
/// it costs. A twin is what it repeats.
pub fn is_exempt(snapshot: &Snapshot, at: usize, policy: &Policy) -> bool {
    let Techniques { pagination, summarization, chunking, .. } = policy.render_options.techniques;
    let part = snapshot.parts().get(at);
    let of = part.and_then(|part| part.duplicate).and_then(|twin| snapshot.parts().get(twin.part));
    match of.or(part).and_then(Part::indexed_text).map(|subject| &subject.structure) {
        Some(Structure::List(_)) => !pagination,
        Some(Structure::Object(_)) => !summarization,
        Some(Structure::Text(_)) => !chunking,
        None => false,
    }
}

impl PartWalk<'_> {
    /// Whether a part stands whole in the first reply to every walk of everything that asks for nothing more precise.
    pub(super) fn is_exempt(&self, at: usize) -> bool {
        is_exempt(self.snapshot, at, self.cx.policy)
    }

    /// Whether a part is shown as it came in this reply, whatever it costs.
    pub(super) fn is_shown_whole(&self, at: usize) -> bool {
        self.is_whole || self.is_uncharged(at)
    }

    /// Whether what a part costs is not held against the reply.
    pub(super) fn is_uncharged(&self, at: usize) -> bool {
        self.is_first_reply && self.request.is_plain && self.is_exempt(at)
    }

    /// The same of what is shown of parts, of which there may be very many.
    pub(super) fn uncharged_pieces(&self, pieces: &[Piece]) -> Vec<bool> {
        let parts = self.snapshot.parts();
        if !(0..parts.len()).any(|at| self.is_uncharged(at)) {
            return vec![false; pieces.len()];
        }
        let places: HashMap<&str, usize> =
            parts.iter().enumerate().map(|(at, part)| (part.address.as_str(), at)).collect();
        let place = |piece: &Piece| {
            let own = places.get(piece.address.as_str()).copied();
            own.or_else(|| parts.iter().position(|part| shows_part(piece, part)))
        };
        pieces.iter().map(|piece| place(piece).is_some_and(|at| self.is_uncharged(at))).collect()
    }
}

/// Whether a piece shows a part, or an item of it.
pub(super) fn shows_part(piece: &Piece, part: &Part) -> bool {
    let inside = piece.address.strip_prefix(part.address.as_str());
    inside.is_some_and(|rest| rest.is_empty() || part.item_blocks && rest.starts_with('/'))
}
