//! Decides which parts are shown as received, and which pieces are not charged to a reply.

use std::collections::HashMap;

use super::exempt::{is_exempt, shows_part};
use super::portion::Piece;
use super::walk::PartWalk;

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
