//! What is left as it came, however large: what would be done to it is switched off.

use std::collections::HashMap;

use super::portion::Piece;
use super::walk::Walk;
use crate::policy::{Policy, Techniques};
use crate::snapshot::{Form, Part, Snapshot};

/// Whether what would be done to a part of a snapshot is switched off, so that a plain call has it as it came, whatever
/// it costs. A twin is what it repeats.
pub fn is_left(snapshot: &Snapshot, at: usize, policy: &Policy) -> bool {
    let Techniques { pagination, summarization, chunking, .. } = policy.manner.techniques;
    let part = snapshot.parts().get(at);
    let of = part.and_then(|part| part.twin).and_then(|twin| snapshot.parts().get(twin.of));
    match of.or(part).and_then(Part::subject).map(|subject| &subject.form) {
        Some(Form::List(_)) => !pagination,
        Some(Form::Object(_)) => !summarization,
        Some(Form::Text(_)) => !chunking,
        None => false,
    }
}

impl Walk<'_> {
    /// Whether a part stands whole in the first reply to every walk of everything that asks for nothing more precise.
    pub(super) fn is_left(&self, at: usize) -> bool {
        is_left(self.snapshot, at, self.cx.policy)
    }

    /// Whether a part is shown as it came in this reply, whatever it costs.
    pub(super) fn passes(&self, at: usize) -> bool {
        self.whole || self.is_free(at)
    }

    /// Whether what a part costs is not held against the reply.
    pub(super) fn is_free(&self, at: usize) -> bool {
        self.fresh && self.asked.plain && self.is_left(at)
    }

    /// The same of what is shown of parts, of which there may be very many.
    pub(super) fn are_free(&self, pieces: &[Piece]) -> Vec<bool> {
        let parts = self.snapshot.parts();
        if !(0..parts.len()).any(|at| self.is_free(at)) {
            return vec![false; pieces.len()];
        }
        let places: HashMap<&str, usize> =
            parts.iter().enumerate().map(|(at, part)| (part.address.as_str(), at)).collect();
        let place = |piece: &Piece| {
            let own = places.get(piece.address.as_str()).copied();
            own.or_else(|| parts.iter().position(|part| is_of(piece, part)))
        };
        pieces.iter().map(|piece| place(piece).is_some_and(|at| self.is_free(at))).collect()
    }
}

/// Whether a piece shows a part, or an item of it.
pub(super) fn is_of(piece: &Piece, part: &Part) -> bool {
    let inside = piece.address.strip_prefix(part.address.as_str());
    inside.is_some_and(|rest| rest.is_empty() || part.item_blocks && rest.starts_with('/'))
}
