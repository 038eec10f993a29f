//! Content of one form of a reply, before it is charged and a notice is added.

use crate::cursor::Position;
use crate::render::page::Cost;
use crate::render::portion::Piece;
use crate::render::rendering::Rendering;

/// Content of one form of a reply.
#[derive(Default)]
pub(in crate::render) struct ReplyContent<'a> {
    /// Pieces, in order.
    pub pieces: Vec<Piece>,
    /// Part that the notice is about: the last one that is not whole, otherwise the last one.
    pub notice_part: Option<RenderedPart>,
    /// Position of the next page.
    pub next_position: Option<Position>,
    /// Parts that this reply does not reach, with their bytes.
    pub missing_parts: Vec<(String, usize)>,
    /// Address of the part that the notice is about, if there are several parts.
    pub notice_address: Option<&'a str>,
}

/// A rendered part.
pub(in crate::render) struct RenderedPart {
    pub part_index: usize,
    pub rendering: Rendering,
}

impl ReplyContent<'_> {
    /// Returns true if anything is shown.
    pub(super) fn shows_anything(&self) -> bool {
        self.pieces.iter().any(Piece::shows_anything)
    }

    /// Returns the part that the notice is about and the number of its items shown.
    pub(in crate::render) fn served_items(&self) -> Option<(usize, u32)> {
        let shaped = self.notice_part.as_ref()?;
        Some((shaped.part_index, u32::try_from(shaped.rendering.meta.served?).ok()?))
    }

    /// Returns the same if the items are written as a table.
    pub(in crate::render) fn table_items(&self) -> Option<(usize, u32)> {
        self.served_items()
            .filter(|_| self.notice_part.as_ref().is_some_and(|shaped| shaped.rendering.meta.is_dense))
    }

    /// Returns the cost of a piece that shows a planned text.
    pub(in crate::render) fn planned_cost_of(&self, piece: &Piece) -> Option<Cost> {
        let rendering = &self.notice_part.as_ref()?.rendering;
        let (_, cost) = rendering.plan.as_ref()?;
        (piece.body.as_str() == rendering.body).then_some(*cost)
    }

    /// Returns true if the notice must report on what is shown, such as missing content.
    pub(super) fn needs_notice(&self) -> bool {
        self.notice_part.as_ref().is_some_and(|shaped| shaped.rendering.needs_notice())
    }
}
