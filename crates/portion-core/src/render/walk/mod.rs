//! Walks through the parts of a payload: small parts are shown whole, the rest fills the budget in order,
//! with one cursor across all parts.

mod content;
mod notice;
mod parts;
mod value;

pub(super) use content::{RenderedPart, ReplyContent};

use super::budget::RemainingBudget;
use super::context::Context;
use super::description::Description;
use super::page::Measured;
use super::query_tables::QueryTables;
use super::rendering::RenderTarget;
use super::upstream_paging;
use crate::cursor::{PartOffset, Position};
use crate::paging::UnshownRange;
use crate::policy::{EnvelopeMode, RowStyle};
use crate::snapshot::{IndexedText, Part, Snapshot, Structure};
use crate::view::{ResolvedRequest, Target};

/// A walk through a snapshot for one reply.
#[derive(Clone, Copy)]
pub(super) struct PartWalk<'a> {
    pub snapshot: &'a Snapshot,
    pub request: &'a ResolvedRequest,
    pub cx: &'a Context<'a>,
    /// True if this is the first reply, which has a separate `structuredContent`.
    pub is_first_reply: bool,
    /// Costs of the lists and texts of the reply, as far as they were measured.
    pub measured: &'a Measured,
    /// Facts about the whole.
    pub description: Option<&'a Description>,
    /// Tables of blocks that are records.
    pub block_tables: Option<&'a QueryTables>,
    /// True if every part is shown as received.
    pub is_whole: bool,
    /// Items or bytes that the previous page did not show.
    pub unshown: Option<&'a UnshownRange>,
    /// True if the reply is rendered to learn what its notice costs: planned content is not counted.
    pub is_draft: bool,
    /// True if each cursor is charged a constant that does not depend on its random bytes.
    pub charges_cursors: bool,
    /// Main part, used if the request names none. Cached, because finding it reads all parts.
    pub(super) main_part: Option<usize>,
    /// True if lists may be written as tables.
    pub(super) allows_tables: bool,
    /// Part and item count that another form of this reply shows: the highest count for this form.
    pub(super) item_cap: Option<(usize, u32)>,
}

impl<'a> PartWalk<'a> {
    /// Creates a walk that begins where the request does.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        asked: &'a ResolvedRequest,
        cx: &'a Context<'a>,
        fresh: bool,
        measured: &'a Measured,
    ) -> Self {
        // The envelope promises a list of records.
        let is_wrapped = cx.policy.render_options.envelope == EnvelopeMode::Wrap;
        let dense = cx.policy.rows != RowStyle::Objects && !is_wrapped;
        let main = snapshot.main_part();
        Self {
            snapshot,
            request: asked,
            is_draft: false,
            charges_cursors: true,
            cx,
            is_first_reply: fresh,
            measured,
            description: None,
            block_tables: None,
            is_whole: false,
            unshown: None,
            main_part: main,
            allows_tables: dense,
            item_cap: None,
        }
    }

    /// Returns true if the reply shows a list as text, without an envelope.
    pub(super) fn shows_plain_list(&self) -> bool {
        let subjects = self.request.view.subjects(self.snapshot);
        let is_list = |subject: &IndexedText| matches!(subject.structure, Structure::List(_));
        let has_structured = self.is_first_reply && self.snapshot.structured_part().is_some();
        !self.uses_envelope()
            && !has_structured
            && !self.request.view.raw
            && subjects.iter().any(|(_, subject)| is_list(subject))
    }

    /// Returns the same walk with what the previous page did not show.
    pub(super) fn with_unshown(self, unshown: Option<&'a UnshownRange>) -> Self {
        Self { unshown, ..self }
    }

    /// Creates a walk that shows all parts as received.
    pub(super) fn for_whole(
        snapshot: &'a Snapshot,
        asked: &'a ResolvedRequest,
        cx: &'a Context<'a>,
        measured: &'a Measured,
    ) -> Self {
        Self { is_whole: true, ..Self::new(snapshot, asked, cx, true, measured) }
    }

    /// Renders the text form of the reply.
    pub(super) fn render_text(&self, room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let text = self.render(room);
        if !self.is_first_reply || self.snapshot.structured_part().is_none() || self.serves_records() {
            return text;
        }
        let Some(most) = text.table_items() else { return text };
        // Both forms must show the same items, so that one cursor serves both.
        let plain = self.without_tables(most).render(room);
        let Some(shown) = plain.served_items().filter(|shown| *shown != most) else { return text };
        let text = Self { item_cap: Some(shown), ..*self }.render(room);
        if text.served_items() == Some(shown) && text.next_position == plain.next_position {
            text
        } else {
            plain
        }
    }

    /// Returns the same walk without tables and with at most this many items of a part.
    pub(super) fn without_tables(&self, most: (usize, u32)) -> Self {
        Self { allows_tables: false, item_cap: Some(most), ..*self }
    }

    /// Renders what the request selects.
    pub(super) fn render(&self, room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let mut content = match &self.request.view.target {
            Target::Value(node) => self.render_value(node, room),
            Target::Everything => self.render_everything(room),
        };
        upstream_paging::note_upstream_step(self, &mut content);
        upstream_paging::note_gap(self, &mut content);
        self.note_envelope_facts(&mut content);
        content
    }

    /// Returns a part, or a value in it, as it is to be rendered.
    pub(super) fn render_target<'b>(
        &'b self,
        subject: &'b IndexedText,
        pointer: &'b str,
        singled_out: bool,
        (part, place): (usize, PartOffset),
    ) -> RenderTarget<'b> {
        let most = self.item_cap.filter(|(of, _)| *of == part).map(|(_, most)| most);
        let fixed = self.request.view.pagination.as_deref();
        RenderTarget {
            subject,
            pointer,
            view: &self.request.view,
            is_singled_out: singled_out,
            start: place,
            portion_index: self.request.start.ordinal,
            described_tokens: self.description.map_or(0, |description| description.tokens_for(part)),
            wanted_count: most.or(self.request.item_count),
            required_count: self.request.item_count,
            pagination: fixed
                .filter(|fixed| usize::from(fixed.part_index) == part && !self.request.has_larger_budget),
            part_index: part,
            allows_table: self.allows_tables,
            allows_sample: true,
            is_answer: self.snapshot.answer().is_some(),
            order: self.request.view.order.as_ref().filter(|order| usize::from(order.part) == part),
            paging_arguments: self.snapshot.paging(),
            read_call: self.cx.read_call,
            issue_cursor: self.cx.issue_cursor,
            transport_page: self.snapshot.transport_page(),
            upstream_list: self.snapshot.upstream_list().filter(|_| !singled_out),
            has_explicit_size: self.request.has_explicit_size,
            measured: self.measured,
            is_draft: self.is_draft,
            policy: self.cx.policy,
        }
    }

    /// Returns the prefix of pointers into a part: its address, or empty for the main part, which needs no
    /// address.
    pub(super) fn base_pointer(&self, part: usize) -> &'a str {
        if self.main_part == Some(part) {
            let holder = self.snapshot.parts().get(part).and_then(Part::enclosing_string);
            return holder.map_or("", |holder| holder.pointer.as_str());
        }
        self.snapshot.parts().get(part).map_or("", |part| part.address.as_str())
    }

    /// Returns a later position with the number of portions of that part before it.
    pub(super) fn position_after(&self, part: usize, place: PartOffset) -> Position {
        let from = self.request.start;
        let same = part == usize::from(from.part);
        let ordinal = if same { from.ordinal.saturating_add(1) } else { u16::from(!place.is_start()) };
        Position { part: part as u16, ordinal, offset: place }
    }
}
