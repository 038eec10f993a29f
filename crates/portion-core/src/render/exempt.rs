//! Parts that are passed as received, whatever their size, because shaping is off for their kind.

use std::collections::HashMap;

use super::portion::Piece;
use super::walk::PartWalk;
use crate::policy::{Policy, Techniques};
use crate::snapshot::{Part, Snapshot, Structure};

/// Returns true if shaping of a part is off, so that a plain call gets it as received, whatever it costs. A
/// duplicate follows the part that it duplicates.
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
    /// Returns true if a part is whole in the first reply to every request for everything without further
    /// arguments.
    pub(super) fn is_exempt(&self, at: usize) -> bool {
        is_exempt(self.snapshot, at, self.cx.policy)
    }

    /// Returns true if this reply shows a part as received, whatever it costs.
    pub(super) fn is_shown_whole(&self, at: usize) -> bool {
        self.is_whole || self.is_uncharged(at)
    }

    /// Returns true if the cost of a part is not charged to the reply.
    pub(super) fn is_uncharged(&self, at: usize) -> bool {
        self.is_first_reply && self.request.is_plain && self.is_exempt(at)
    }

    /// Returns, for each piece, true if it is not charged. Fast for very many parts.
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

/// Returns true if a piece shows a part, or an item of it.
pub(super) fn shows_part(piece: &Piece, part: &Part) -> bool {
    let inside = piece.address.strip_prefix(part.address.as_str());
    inside.is_some_and(|rest| rest.is_empty() || part.item_blocks && rest.starts_with('/'))
}
