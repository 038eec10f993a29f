//! Parts that are passed as received, whatever their size, because shaping is off for their kind.

use super::portion::Piece;
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

/// Returns true if a piece shows a part, or an item of it.
pub(super) fn shows_part(piece: &Piece, part: &Part) -> bool {
    let inside = piece.address.strip_prefix(part.address.as_str());
    inside.is_some_and(|rest| rest.is_empty() || part.item_blocks && rest.starts_with('/'))
}
