//! Walks through the parts of a payload: small parts are shown whole, the rest fills the budget in order,
//! with one cursor across all parts.

mod parts;
pub(super) mod value;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::budget::RemainingBudget;
use super::context::Context;
use super::description::Description;
use super::notice::Notice;
use super::page::{Cost, Measured};
use super::portion::{Piece, PortionKind};
use super::query_tables::QueryTables;
use super::rendering::{RenderTarget, Rendering};
use super::{notice, upstream_paging};
use crate::cursor::{PartOffset, Position};
use crate::paging::UnshownRange;
use crate::policy::{EnvelopeMode, RowStyle};
use crate::render::pass_through::{is_exempt, shows_part};
use crate::snapshot::{IndexedText, Part, Snapshot, Structure};
use crate::view::{ResolvedRequest, Target, media};

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
        request: &'a ResolvedRequest,
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
            request,
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
        request: &'a ResolvedRequest,
        cx: &'a Context<'a>,
        measured: &'a Measured,
    ) -> Self {
        Self { is_whole: true, ..Self::new(snapshot, request, cx, true, measured) }
    }

    /// Renders the text form of the reply.
    pub(super) fn render_text(&self, room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let text = self.render(room);
        if !self.is_first_reply || self.snapshot.structured_part().is_none() || self.serves_records() {
            return text;
        }
        let Some(max) = text.table_items() else { return text };
        // Both forms must show the same items, so that one cursor serves both.
        let plain = self.without_tables(max).render(room);
        let Some(shown) = plain.served_items().filter(|shown| *shown != max) else { return text };
        let text = Self { item_cap: Some(shown), ..*self }.render(room);
        if text.served_items() == Some(shown) && text.next_position == plain.next_position {
            text
        } else {
            plain
        }
    }

    /// Returns the same walk without tables and with at most this many items of a part.
    pub(super) fn without_tables(&self, max: (usize, u32)) -> Self {
        Self { allows_tables: false, item_cap: Some(max), ..*self }
    }

    /// Renders what the request selects.
    pub(super) fn render(&self, room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let mut content = match &self.request.view.target {
            Target::Value(value) => self.render_value(value, room),
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
        let max = self.item_cap.filter(|(of, _)| *of == part).map(|(_, max)| max);
        let fixed = self.request.view.pagination.as_deref();
        RenderTarget {
            subject,
            pointer,
            view: &self.request.view,
            is_singled_out: singled_out,
            start: place,
            portion_index: self.request.start.ordinal,
            described_tokens: self.description.map_or(0, |description| description.tokens_for(part)),
            wanted_count: max.or(self.request.item_count),
            required_count: self.request.item_count,
            pagination: fixed
                .filter(|fixed| usize::from(fixed.part_index) == part && !self.request.has_larger_budget),
            part_index: part,
            allows_table: self.allows_tables,
            allows_sample: true,
            is_answer: self.snapshot.answer().is_some(),
            selects_all_columns: self.snapshot.answer().is_some_and(|answer| answer.selects_all_columns),
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

    /// Builds the notice of a reply.
    pub(super) fn notice<'b>(&'b self, content: &'b ReplyContent<'a>, budget: usize) -> Notice<'b> {
        let issue_cursor = self.cx.issue_cursor;
        let nothing = &*EMPTY_RENDERING;
        let description = self.description.filter(|description| description.describes(content));
        Notice {
            rendering: content.notice_part.as_ref().map_or(nothing, |shaped| &shaped.rendering),
            answer: self.snapshot.answer(),
            facts: description.map(|description| &description.facts),
            field_types: description.map(|description| &description.field_types),
            start_cursor: issue_cursor(self.request.start),
            next_cursor: content.next_position.and_then(issue_cursor),
            read_call: self.cx.read_call,
            query_tool: self.cx.query_tool,
            block_tables: self.block_tables,
            missing_parts: &content.missing_parts,
            parts: self.snapshot.parts(),
            missing_media: self.first_missing_media(content),
            replaced_count: self.snapshot.replacement_count(),
            redacted_fields: self.snapshot.redacted(),
            unshown: self.unshown,
            read_as: self.read_as(content),
            part_address: content.notice_address,
            piece_owners: self.piece_owners(&content.pieces),
            read_uri: self.cx.read_uri,
            budget,
            warning_threshold: self.cx.policy.warning_share(self.request.token_budget),
            key_style: self.cx.policy.render_options.metadata_style,
            is_enveloped: self.uses_envelope(),
            is_whole: self.is_whole,
            structured_gap: None,
            is_first_reply: self.is_first_reply,
            describes_whole: self.is_first_reply && self.request.view.is_whole(),
            is_full_in_text: notice::is_full_in_text(self.cx.policy, self.cx.read_call),
        }
    }

    /// Returns the address of the first image or audio that the reply does not show.
    fn first_missing_media(&self, content: &ReplyContent<'a>) -> Option<&'a str> {
        if self.cx.read_uri.is_some() {
            return None;
        }
        let parts = self.snapshot.parts();
        let media = (0..parts.len()).filter(|at| media::is_displayable(self.snapshot, *at, self.cx.policy));
        let mut missing = media.map(|at| parts[at].address.as_str()).filter(|address| {
            content
                .missing_parts
                .iter()
                .any(|(path, _)| path.strip_prefix(address).is_some_and(|rest| matches!(rest, "" | "/data")))
        });
        missing.next()
    }
}

impl PartWalk<'_> {
    /// Returns true if a part is whole in the first reply to every request for everything without further
    /// arguments.
    pub(in crate::render) fn is_exempt(&self, at: usize) -> bool {
        is_exempt(self.snapshot, at, self.cx.policy)
    }

    /// Returns true if this reply shows a part as received, whatever it costs.
    pub(in crate::render) fn is_shown_whole(&self, at: usize) -> bool {
        self.is_whole || self.is_uncharged(at)
    }

    /// Returns true if the cost of a part is not charged to the reply.
    pub(in crate::render) fn is_uncharged(&self, at: usize) -> bool {
        self.is_first_reply && self.request.is_plain && self.is_exempt(at)
    }

    /// Returns, for each piece, true if it is not charged. Fast for very many parts.
    pub(in crate::render) fn uncharged_pieces(&self, pieces: &[Piece]) -> Vec<bool> {
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

/// Rendering of a reply without content.
static EMPTY_RENDERING: LazyLock<Rendering> =
    LazyLock::new(|| Rendering::new(PortionKind::Whole, String::new()));

/// Content of one form of a reply.
#[derive(Default)]
pub(super) struct ReplyContent<'a> {
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
pub(super) struct RenderedPart {
    pub part_index: usize,
    pub rendering: Rendering,
}

impl ReplyContent<'_> {
    /// Returns true if anything is shown.
    fn shows_anything(&self) -> bool {
        self.pieces.iter().any(Piece::shows_anything)
    }

    /// Returns the part that the notice is about and the number of its items shown.
    pub(super) fn served_items(&self) -> Option<(usize, u32)> {
        let shaped = self.notice_part.as_ref()?;
        Some((shaped.part_index, u32::try_from(shaped.rendering.meta.served?).ok()?))
    }

    /// Returns the same if the items are written as a table.
    pub(super) fn table_items(&self) -> Option<(usize, u32)> {
        self.served_items()
            .filter(|_| self.notice_part.as_ref().is_some_and(|shaped| shaped.rendering.meta.is_dense))
    }

    /// Returns the cost of a piece that shows a planned text.
    pub(super) fn planned_cost_of(&self, piece: &Piece) -> Option<Cost> {
        let rendering = &self.notice_part.as_ref()?.rendering;
        let (_, cost) = rendering.plan.as_ref()?;
        (piece.body.as_str() == rendering.body).then_some(*cost)
    }

    /// Returns true if the notice must report on what is shown, such as missing content.
    fn needs_notice(&self) -> bool {
        self.notice_part.as_ref().is_some_and(|shaped| shaped.rendering.needs_notice())
    }
}
