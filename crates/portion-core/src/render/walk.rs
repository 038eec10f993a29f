//! Walks through the parts of a payload: small parts are shown whole, the rest fills the budget in order,
//! with one cursor across all parts.

use std::collections::HashMap;

use portion_json::span::Span;

use super::block::{block_cost, block_placeholder, content_path_and_size};
use super::budget::RemainingBudget;
use super::chunk;
use super::description::Description;
use super::embedded_json::{render_as_received, render_part, render_source_if_fits};
use super::notice::Notice;
use super::numbered_pages::UnshownRange;
use super::piece_cost::TEXT_BLOCK_BYTES;
use super::pieces::{base64_piece, fragment_piece, part_piece, rendering_pieces};
use super::portion::{Piece, PieceBody};
use super::rendering::{RenderTarget, Rendering};
use super::{Context, model_notice, page, raw, summary};
use crate::cursor::{PartOffset, Position};
use crate::policy::{EnvelopeMode, MIN_BUDGET, RowStyle};
use crate::snapshot::{IndexedText, Part, PartBody, Snapshot, Structure};
use crate::view::media;
use crate::view::{RequestedFields, ResolvedRequest, Target, TargetValue};

/// A walk through a snapshot for one reply.
#[derive(Clone, Copy)]
pub(super) struct PartWalk<'a> {
    pub snapshot: &'a Snapshot,
    pub request: &'a ResolvedRequest,
    pub cx: &'a Context<'a>,
    /// True if this is the first reply, which has a separate `structuredContent`.
    pub is_first_reply: bool,
    /// Facts about the whole.
    pub description: Option<&'a Description>,
    /// True if every part is shown as received.
    pub is_whole: bool,
    /// Items or bytes that the previous page did not show.
    pub unshown: Option<&'a UnshownRange>,
    /// True if each cursor is charged a constant that does not depend on its random bytes.
    pub charges_cursors: bool,
    /// Main part, used if the request names none. Cached, because finding it reads all parts.
    pub(super) main_part: Option<usize>,
    /// True if lists may be written as tables.
    pub(super) allows_tables: bool,
    /// Part and item count that another form of this reply shows: the highest count for this form.
    pub(super) item_cap: Option<(usize, u32)>,
}

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

impl ReplyContent<'_> {
    /// Returns true if anything is shown.
    fn shows_anything(&self) -> bool {
        self.pieces.iter().any(Piece::shows_anything)
    }

    /// Returns the part that the notice is about and the number of its items shown.
    pub(super) fn served_items(&self) -> Option<(usize, u32)> {
        let shaped = self.notice_part.as_ref()?;
        let served = shaped.rendering.meta.get("served")?.as_u64()?;
        Some((shaped.part_index, u32::try_from(served).ok()?))
    }

    /// Returns the same if the items are written as a table.
    pub(super) fn table_items(&self) -> Option<(usize, u32)> {
        self.served_items()
            .filter(|_| self.notice_part.as_ref().is_some_and(|shaped| shaped.rendering.is_dense()))
    }

    /// Returns true if the notice must report on what is shown, such as missing content.
    fn needs_notice(&self) -> bool {
        self.notice_part.as_ref().is_some_and(|shaped| shaped.rendering.needs_notice())
    }
}

/// A rendered part.
pub(super) struct RenderedPart {
    pub part_index: usize,
    pub rendering: Rendering,
}

impl<'a> PartWalk<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        asked: &'a ResolvedRequest,
        cx: &'a Context<'a>,
        fresh: bool,
        telling: Option<&'a Description>,
    ) -> Self {
        // The envelope promises a list of records.
        let is_wrapped = cx.policy.render_options.envelope == EnvelopeMode::Wrap;
        let dense = cx.policy.rows == RowStyle::Auto && !is_wrapped;
        let main = snapshot.main_part();
        Self {
            snapshot,
            request: asked,
            charges_cursors: true,
            cx,
            is_first_reply: fresh,
            description: telling,
            is_whole: false,
            unshown: None,
            main_part: main,
            allows_tables: dense,
            item_cap: None,
        }
    }

    /// Returns the same walk with what the previous page did not show.
    pub(super) fn with_unshown(self, not_shown: Option<&'a UnshownRange>) -> Self {
        Self { unshown: not_shown, ..self }
    }

    /// Creates a walk that shows all parts as received.
    pub(super) fn for_whole(snapshot: &'a Snapshot, asked: &'a ResolvedRequest, cx: &'a Context<'a>) -> Self {
        Self { is_whole: true, ..Self::new(snapshot, asked, cx, true, None) }
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

    pub(super) fn render(&self, room: RemainingBudget<'_>) -> ReplyContent<'a> {
        match &self.request.view.target {
            Target::Value(node) => self.render_value(node, room),
            Target::Everything => self.render_everything(room),
        }
    }

    fn render_value(&self, node: &TargetValue, room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let part = usize::from(node.part);
        if let Some(channel) = self.render_media(node, room) {
            return channel;
        }
        let drawn = self.render_value_text(node, room);
        let next = drawn.next.map(|place| self.position_after(part, place));
        let pieces = match self.snapshot.parts().get(part) {
            Some(whole) if node.pointer.is_empty() => rendering_pieces(whole, &drawn),
            Some(whole) => vec![match &node.base64 {
                // Resources mark base64 as such.
                Some(mime) if self.cx.read_uri.is_some() => base64_piece(whole, &drawn, mime),
                _ => fragment_piece(whole, PieceBody::Text(drawn.body.clone())),
            }],
            None => Vec::new(),
        };
        ReplyContent {
            pieces,
            notice_part: Some(RenderedPart { part_index: part, rendering: drawn }),
            next_position: next,
            missing_parts: Vec::new(),
            notice_address: None,
        }
    }

    /// Renders a media block that a path selects, if it fits.
    fn render_media(&self, node: &TargetValue, mut room: RemainingBudget<'_>) -> Option<ReplyContent<'a>> {
        let (at, policy) = (usize::from(node.part), self.cx.policy);
        // An entry of a resource is read as base64.
        let tool = self.cx.read_uri.is_none();
        if !tool
            || self.request.view.raw
            || !node.pointer.is_empty()
            || !media::is_displayable(self.snapshot, at, policy)
        {
            return None;
        }
        let part = self.snapshot.parts().get(at)?;
        let PartBody::Atomic { json, binary, .. } = &part.body else { return None };
        let shown = room.spend_block(json, binary.as_ref(), policy);
        let pieces = || vec![part_piece(part, PieceBody::Block(json.to_string()))];
        shown.then(|| ReplyContent { pieces: pieces(), ..ReplyContent::default() })
    }

    fn render_value_text(&self, node: &TargetValue, room: RemainingBudget<'_>) -> Rendering {
        let pointer = self.value_pointer(node);
        if self.request.view.raw {
            let byte = match self.request.start.offset {
                PartOffset::Byte(at) => at as usize,
                PartOffset::Item(_) => 0,
            };
            if let Some(mime) = &node.base64 {
                let flat = self.cx.read_uri.map(|_| self.cx.policy.media_tokens);
                let mut drawn = raw::render_base64(&node.source, byte, &room, flat);
                drawn.set_meta("path", pointer);
                drawn.extras.push(("mimeType", mime.as_str().into()));
                return drawn;
            }
            let window = self.request.view.range.map(|window| window.span);
            let stretch = window.unwrap_or(Span::new(0, node.source.len()));
            let mut drawn = raw::render(&node.source, stretch, byte, &room);
            drawn.set_meta("path", pointer);
            return drawn;
        }
        let at = (usize::from(node.part), self.request.start.offset);
        let spot = self.render_target(&node.subject, &pointer, !node.pointer.is_empty(), at);
        let section = self.request.view.is_section && node.subject.is_json();
        let whole = section.then(|| render_whole_if_small(&spot, room)).flatten();
        let part =
            self.snapshot.parts().get(at.0).filter(|_| node.pointer.is_empty() && node.subject.is_json());
        whole.unwrap_or_else(|| match part {
            Some(part) => render_part(part, &spot, &room),
            None => render_subject(&spot, &room),
        })
    }

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
            upstream_list: self.snapshot.upstream_list().filter(|_| !singled_out),
            has_explicit_size: self.request.has_explicit_size,
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

    /// Returns the pointer of a node. The pointer of a value inside a string includes the pointer of that
    /// string.
    fn value_pointer(&self, node: &TargetValue) -> String {
        let part = usize::from(node.part);
        let named = self.snapshot.parts().get(part).and_then(Part::enclosing_string).is_some()
            && self.main_part == Some(part);
        let base = if named && !node.pointer.is_empty() { "" } else { self.base_pointer(part) };
        format!("{base}{}", node.pointer)
    }

    fn render_everything(&self, room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let parts = self.snapshot.parts();
        // A raw walk covers all parts in one sequence.
        let apart = self.snapshot.structured_part().filter(|_| self.is_first_reply && !self.request.view.raw);
        let walked: Vec<usize> =
            (0..parts.len()).filter(|i| parts[*i].duplicate.is_none() && apart != Some(*i)).collect();
        let from = self.request.start;
        if self.request.view.raw {
            return self.render_raw(&walked, room);
        }
        let companions = if self.is_whole { Vec::new() } else { self.inline_parts(&walked) };
        let is_start = from.part == 0 && from.ordinal == 0 && from.offset.is_start();
        let mut room = room;
        let mut shown: Vec<Piece> = Vec::new();
        let mut lost = Vec::new();
        if is_start {
            for at in &companions {
                if self.is_shown_whole(*at)
                    && let Some(subject) = parts[*at].indexed_text()
                {
                    let spot = self.render_target(
                        subject,
                        self.base_pointer(*at),
                        false,
                        (*at, PartOffset::default()),
                    );
                    shown.extend(rendering_pieces(
                        &parts[*at],
                        &render_as_received(&parts[*at], &spot, &room),
                    ));
                    continue;
                }
                let text = parts[*at].text();
                if let PartBody::Atomic { json, binary: Some(binary), .. } = &parts[*at].body {
                    if room.spend_block(json, Some(binary), self.cx.policy) {
                        shown.push(part_piece(&parts[*at], PieceBody::Block(text.to_owned())));
                    } else {
                        // It is not walked again: its placeholder names the call that shows it.
                        let handle = (self.cx.mint_cursor)(self.request.start);
                        let described =
                            block_placeholder(&parts[*at], Some(binary), handle.as_ref(), self.cx);
                        if room.spend(&self.charged(&described)) {
                            shown.push(part_piece(&parts[*at], PieceBody::Text(described)));
                        }
                        lost.push(content_path_and_size(&parts[*at], Some(binary)));
                    }
                    continue;
                }
                let body = match &parts[*at].body {
                    PartBody::Indexed(_) => PieceBody::Text(text.to_owned()),
                    PartBody::Atomic { .. } => PieceBody::Block(text.to_owned()),
                };
                if room.spend(text) {
                    room.bytes = room.bytes.saturating_sub(self.overhead_bytes(&parts[*at]));
                    shown.push(part_piece(&parts[*at], body));
                } else {
                    lost.push((parts[*at].address.clone(), text.len()));
                }
            }
        }
        let rest: Vec<usize> =
            walked.into_iter().filter(|at| companions.binary_search(at).is_err()).collect();
        let is_accompanied = shown.iter().any(Piece::shows_anything);
        let mut channel = self.render_parts(&rest, from, room, is_accompanied);
        if !shown.is_empty() {
            let order: HashMap<&str, usize> =
                parts.iter().enumerate().map(|(at, part)| (part.address.as_str(), at)).collect();
            channel.pieces.extend(shown);
            channel.pieces.sort_by_key(|piece| order.get(piece.address.as_str()));
        }
        channel.missing_parts.extend(lost);
        channel
    }

    /// Renders parts in order from a position until the budget is used up. `accompanied` is true if the reply
    /// shows other pieces as well.
    pub(super) fn render_parts(
        &self,
        walked: &[usize],
        from: Position,
        mut room: RemainingBudget<'_>,
        accompanied: bool,
    ) -> ReplyContent<'a> {
        let mut channel = ReplyContent::default();
        let parts = self.snapshot.parts();
        let enough = (room.tokens / 10).max(MIN_BUDGET / 10);
        let first = usize::from(from.part);
        for at in walked.iter().copied().filter(|at| *at >= first) {
            let part = &parts[at];
            let resumed = at == first;
            let place = if resumed { from.offset } else { PartOffset::default() };
            let used = channel.shows_anything();
            if channel.next_position.is_some() {
                channel.missing_parts.push((part.address.clone(), part.text().len()));
                continue;
            }
            // The notice is about one part, the last one shown.
            let full = room.tokens < enough || room.bytes < 4 * TEXT_BLOCK_BYTES;
            if used && (full || channel.needs_notice()) && !self.is_shown_whole(at) {
                channel.next_position = Some(self.position_after(at, PartOffset::default()));
                channel.missing_parts.push((part.address.clone(), part.text().len()));
                continue;
            }
            match &part.body {
                PartBody::Atomic { json, .. } if self.is_whole => {
                    channel.pieces.push(part_piece(part, PieceBody::Block(json.to_string())));
                }
                PartBody::Atomic { json, aside: true, .. } if self.is_first_reply && !room.fits(json) => {
                    channel.missing_parts.push((part.address.clone(), json.len()));
                }
                PartBody::Atomic { json, binary, .. } => {
                    // Postponed only once: a reply that shows nothing and begins here again would never end.
                    let put_off = used || accompanied && !resumed;
                    let Some(body) = self.render_block(part, &mut room, put_off) else {
                        channel.next_position = Some(self.position_after(at, PartOffset::default()));
                        channel.missing_parts.push((part.address.clone(), json.len()));
                        continue;
                    };
                    if matches!(body, PieceBody::Text(_)) {
                        channel.missing_parts.push(content_path_and_size(part, binary.as_ref()));
                    }
                    room.bytes = room.bytes.saturating_sub(self.overhead_bytes(part));
                    channel.pieces.push(part_piece(part, body));
                }
                PartBody::Indexed(subject) => {
                    let pointer = self.base_pointer(at);
                    let spot = RenderTarget {
                        portion_index: if resumed { from.ordinal } else { 0 },
                        ..self.render_target(subject, pointer, false, (at, place))
                    };
                    let passes = self.is_shown_whole(at) && place.is_start();
                    let as_it_came = passes.then(|| render_as_received(part, &spot, &room));
                    let whole = as_it_came
                        .or_else(|| render_source_if_fits(part, &spot, room))
                        .or_else(|| render_whole_if_small(&spot, room));
                    let drawn = whole.unwrap_or_else(|| render_part(part, &spot, &room));
                    room.spend(&drawn.body);
                    room.bytes = room.bytes.saturating_sub(self.overhead_bytes(part));
                    channel.next_position = drawn.next.map(|place| self.position_after(at, place));
                    channel.pieces.extend(rendering_pieces(part, &drawn));
                    let keep =
                        channel.notice_part.as_ref().is_none_or(|shaped| shaped.rendering.kind == "whole");
                    if keep || drawn.kind != "whole" {
                        channel.notice_address = (parts.len() > 1).then_some(part.address.as_str());
                        channel.notice_part = Some(RenderedPart { part_index: at, rendering: drawn });
                    }
                }
            }
        }
        channel
    }

    /// Renders a block that is passed whole. If it does not fit, returns `None` to postpone it to its own
    /// reply if `put_off` allows that, otherwise returns a placeholder.
    fn render_block(&self, part: &Part, room: &mut RemainingBudget<'_>, put_off: bool) -> Option<PieceBody> {
        let PartBody::Atomic { json, binary, .. } = &part.body else { return None };
        let (policy, binary) = (self.cx.policy, binary.as_ref());
        if room.spend_block(json, binary, policy) {
            return Some(PieceBody::Block(json.to_string()));
        }
        // A postponed block gets a reply of its own, and media get one as large as they need.
        let is_media = binary.is_some_and(|binary| binary.is_media);
        let alone =
            if is_media { policy.media_tokens } else { self.request.token_budget.min(policy.hard_cap) / 2 };
        let share =
            if binary.is_some() { policy.hard_byte_limit / 4 * 3 } else { policy.hard_byte_limit / 4 };
        let later =
            block_cost(json, binary, alone, policy, self.cx.counter).is_some_and(|w| w.bytes <= share);
        if put_off && later {
            return None;
        }
        let handle = (self.cx.mint_cursor)(self.request.start);
        let described = block_placeholder(part, binary, handle.as_ref(), self.cx);
        let fits = room.spend(&self.charged(&described));
        (fits || !put_off).then_some(PieceBody::Text(described))
    }

    /// Renders all parts as received, one after the other.
    fn render_raw(&self, walked: &[usize], room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let parts = self.snapshot.parts();
        let first = usize::from(self.request.start.part);
        let mut channel = ReplyContent::default();
        // An empty part is shown only if there is nothing else, so that no reply is empty and has a next
        // page.
        let byte = if let PartOffset::Byte(byte) = self.request.start.offset { byte as usize } else { 0 };
        let told = |at: &usize| {
            let length = parts[*at].text().len();
            *at > first && length > 0 || *at == first && length > byte
        };
        let mut left = walked.iter().copied().filter(told);
        let Some(at) = left.next().or_else(|| walked.iter().copied().find(|at| *at >= first)) else {
            return channel;
        };
        let text = parts[at].text();
        let byte = if at == first { byte } else { 0 };
        let mut drawn = raw::render(text, Span::new(0, text.len()), byte, &room);
        drawn.set_meta("path", parts[at].address.clone());
        let after = drawn.next.map(|place| self.position_after(at, place));
        channel.next_position =
            after.or_else(|| left.next().map(|next| self.position_after(next, PartOffset::Byte(0))));
        channel.pieces.push(fragment_piece(&parts[at], PieceBody::Text(drawn.body.clone())));
        channel.notice_part = Some(RenderedPart { part_index: at, rendering: drawn });
        channel
    }

    /// Returns a later position with the number of portions of that part before it.
    pub(super) fn position_after(&self, part: usize, place: PartOffset) -> Position {
        let from = self.request.start;
        let same = part == usize::from(from.part);
        let ordinal = if same { from.ordinal.saturating_add(1) } else { u16::from(!place.is_start()) };
        Position { part: part as u16, ordinal, offset: place }
    }

    /// Returns the address of the first image or audio that the reply does not show.
    fn first_missing_media(&self, channel: &ReplyContent<'a>) -> Option<&'a str> {
        if self.cx.read_uri.is_some() {
            return None;
        }
        let parts = self.snapshot.parts();
        let media = (0..parts.len()).filter(|at| media::is_displayable(self.snapshot, *at, self.cx.policy));
        let mut missing = media.map(|at| parts[at].address.as_str()).filter(|address| {
            channel
                .missing_parts
                .iter()
                .any(|(path, _)| path.strip_prefix(address).is_some_and(|rest| matches!(rest, "" | "/data")))
        });
        missing.next()
    }

    /// Builds the notice of a reply.
    pub(super) fn notice<'b>(&'b self, channel: &'b ReplyContent<'a>, budget: usize) -> Notice<'b> {
        let mint = self.cx.mint_cursor;
        let nothing = &*EMPTY_RENDERING;
        Notice {
            rendering: channel.notice_part.as_ref().map_or(nothing, |shaped| &shaped.rendering),
            answer: self.snapshot.answer(),
            facts: self
                .description
                .filter(|telling| telling.describes(channel))
                .map(|telling| &telling.facts),
            start_cursor: mint(self.request.start),
            next_cursor: channel.next_position.and_then(mint),
            read_call: self.cx.read_call,
            query_tool: self.cx.query_tool,
            missing_parts: &channel.missing_parts,
            missing_media: self.first_missing_media(channel),
            replaced_count: self.snapshot.replacement_count(),
            redacted_fields: self.snapshot.redacted(),
            unshown: self.unshown,
            read_as: self.read_as(channel),
            part_address: channel.notice_address,
            piece_owners: self.piece_owners(&channel.pieces),
            read_uri: self.cx.read_uri,
            budget,
            warning_threshold: self.cx.policy.warning_share(self.request.token_budget),
            key_style: self.cx.policy.render_options.metadata_style,
            is_enveloped: self.uses_envelope(),
            is_whole: self.is_whole,
            structured_gap: None,
            is_first_reply: self.is_first_reply,
            describes_whole: self.is_first_reply && self.request.view.is_whole(),
            is_full_in_text: model_notice::is_full_in_text(self.cx.policy, self.cx.read_call),
        }
    }
}

/// Rendering of a reply without content.
static EMPTY_RENDERING: std::sync::LazyLock<Rendering> =
    std::sync::LazyLock::new(|| Rendering::new("whole", String::new()));

/// Renders a part whole if it is below the thresholds of its kind, or if it is a section that fits.
pub(super) fn render_whole_if_small(spot: &RenderTarget<'_>, room: RemainingBudget<'_>) -> Option<Rendering> {
    let view = spot.view;
    let asked = view.limit.is_some()
        || matches!(view.field_selection, RequestedFields::Only(_))
        || spot.order.is_some();
    if asked || !spot.is_first() || spot.wanted_count.is_some() {
        return None;
    }
    let policy = spot.policy;
    let threshold = match &spot.subject.structure {
        _ if view.is_section => usize::MAX,
        Structure::List(list) if list.len() > policy.default_page_size => policy.full_below,
        Structure::List(_) => policy.token_budget_threshold,
        Structure::Object(_) => policy.summarize_above,
        Structure::Text(_) => policy.chunk_above,
    };
    if !room.with_max_tokens(threshold).fits(&spot.subject.text) {
        return None;
    }
    let table = match &spot.subject.structure {
        Structure::List(list) if spot.allows_table => {
            Some(page::render(&RenderTarget { allows_sample: false, ..*spot }, list, &room))
        }
        _ => None,
    };
    let table = table.filter(|table| table.is_dense() && table.next.is_none() && !table.omits_content());
    Some(table.unwrap_or_else(|| Rendering::whole(spot, &room)))
}

/// Renders a list, object or text by its structure.
pub(super) fn render_subject(spot: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Rendering {
    match &spot.subject.structure {
        Structure::List(list) => page::render(spot, list, room),
        Structure::Object(members) => summary::render(spot, members, room),
        Structure::Text(text) => chunk::render(spot, text, room),
    }
}
