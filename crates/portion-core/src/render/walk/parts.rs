//! Renders all parts of a payload, or those from a position on.

use std::collections::HashMap;

use portion_json::scan::escaped_len;
use portion_json::span::Span;

use super::value::{render_as_received, render_part, render_source_if_fits, render_whole_if_small};
use super::{PartWalk, RenderedPart, ReplyContent};
use crate::cursor::{PartOffset, Position};
use crate::policy::{MIN_BUDGET, MIN_BYTE_LIMIT};
use crate::render::budget::{RemainingBudget, block_cost};
use crate::render::chunk;
use crate::render::notice::MAX_NAMED_PARTS;
use crate::render::pieces::{
    TEXT_BLOCK_BYTES, block_placeholder, content_path_and_size, fragment_piece, part_piece, rendering_pieces,
};
use crate::render::portion::{Piece, PieceBody, PortionKind};
use crate::render::rendering::{RenderTarget, Rendering};
use crate::snapshot::{IndexedText, Part, PartBody};
use crate::view::{RequestedFields, media};

impl<'a> PartWalk<'a> {
    /// Renders all parts.
    pub(super) fn render_everything(&self, room: RemainingBudget<'_>) -> ReplyContent<'a> {
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
        let (shown, unshown) =
            if is_start { self.render_inline_parts(&companions, &mut room) } else { Default::default() };
        let rest: Vec<usize> =
            walked.into_iter().filter(|at| companions.binary_search(at).is_err()).collect();
        let is_accompanied = shown.iter().any(Piece::shows_anything);
        let mut content = self.render_parts(&rest, from, room, is_accompanied);
        if !shown.is_empty() {
            let order: HashMap<&str, usize> =
                parts.iter().enumerate().map(|(at, part)| (part.address.as_str(), at)).collect();
            content.pieces.extend(shown);
            content.pieces.sort_by_key(|piece| order.get(piece.address.as_str()));
        }
        content.missing_parts.extend(unshown);
        content
    }

    /// Renders the parts that the first reply shows beside the others. Also returns the addresses and bytes of those
    /// that do not fit.
    fn render_inline_parts(
        &self,
        inline: &[usize],
        room: &mut RemainingBudget<'_>,
    ) -> (Vec<Piece>, Vec<(String, usize)>) {
        let (mut shown, mut unshown) = (Vec::new(), Vec::new());
        for at in inline.iter().copied() {
            let part = &self.snapshot.parts()[at];
            if self.is_shown_whole(at)
                && let Some(subject) = part.indexed_text()
            {
                let start = (at, PartOffset::default());
                let target = self.render_target(subject, self.base_pointer(at), false, start);
                shown.extend(rendering_pieces(part, &render_as_received(part, &target, room)));
                continue;
            }
            let text = part.text();
            if let PartBody::Atomic { json, binary: Some(binary), .. } = &part.body {
                if room.spend_block(json, Some(binary), self.cx.policy) {
                    shown.push(part_piece(part, PieceBody::Block(text.to_owned())));
                } else {
                    // It is not walked again: its placeholder names the call that shows it.
                    let cursor = (self.cx.issue_cursor)(self.request.start);
                    let placeholder = block_placeholder(part, Some(binary), cursor.as_ref(), self.cx);
                    if room.spend(&self.charged(&placeholder)) {
                        shown.push(part_piece(part, PieceBody::Text(placeholder)));
                    }
                    unshown.push(content_path_and_size(part, Some(binary)));
                }
                continue;
            }
            let body = match &part.body {
                PartBody::Indexed(_) => PieceBody::Text(text.to_owned()),
                PartBody::Atomic { .. } => PieceBody::Block(text.to_owned()),
            };
            if room.spend(text) {
                room.bytes = room.bytes.saturating_sub(self.overhead_bytes(part));
                shown.push(part_piece(part, body));
            } else {
                unshown.push((part.address.clone(), text.len()));
            }
        }
        (shown, unshown)
    }

    /// Renders parts in order from a position until the budget is used up. `accompanied` is true if the reply
    /// shows other pieces as well.
    pub(in crate::render) fn render_parts(
        &self,
        walked: &[usize],
        from: Position,
        mut room: RemainingBudget<'_>,
        accompanied: bool,
    ) -> ReplyContent<'a> {
        let mut content = ReplyContent::default();
        let parts = self.snapshot.parts();
        let enough = (room.tokens / 10).max(MIN_BUDGET / 10);
        let first = usize::from(from.part);
        // Empty texts have no tokens: their wrappers leave half of the bytes to other parts.
        let max_wrapper_bytes = (room.bytes / 2).max(MIN_BYTE_LIMIT / 4);
        let mut wrapper_bytes = 0;
        let has_many_asides = self.has_many_asides();
        for at in walked.iter().copied().filter(|at| *at >= first) {
            let part = &parts[at];
            let resumed = at == first;
            let place = if resumed { from.offset } else { PartOffset::default() };
            let used = content.shows_anything();
            if content.next_position.is_some() {
                content.missing_parts.push((part.address.clone(), part.text_len()));
                continue;
            }
            // The notice is about one part, the last one shown.
            let full = room.tokens < enough || room.bytes < 4 * TEXT_BLOCK_BYTES;
            let ends = if used { full || content.needs_notice() } else { wrapper_bytes >= max_wrapper_bytes };
            if ends && !self.is_shown_whole(at) {
                content.next_position = Some(self.position_after(at, PartOffset::default()));
                content.missing_parts.push((part.address.clone(), part.text_len()));
                continue;
            }
            match &part.body {
                PartBody::Atomic { json, .. } if self.is_whole => {
                    content.pieces.push(part_piece(part, PieceBody::Block(json.to_string())));
                }
                PartBody::Atomic { json, aside: true, .. } if self.is_first_reply && !room.fits(json) => {
                    // A notice names a few; a walk reaches all.
                    if has_many_asides {
                        content.next_position = Some(self.position_after(at, PartOffset::default()));
                    }
                    content.missing_parts.push((part.address.clone(), json.len()));
                }
                PartBody::Atomic { json, binary, .. } => {
                    // Postponed only once: a reply that shows nothing and begins here again would never end.
                    let put_off = used || accompanied && !resumed;
                    let Some(body) = self.render_block(part, &mut room, put_off) else {
                        content.next_position = Some(self.position_after(at, PartOffset::default()));
                        content.missing_parts.push((part.address.clone(), json.len()));
                        continue;
                    };
                    if matches!(body, PieceBody::Text(_)) {
                        content.missing_parts.push(content_path_and_size(part, binary.as_ref()));
                    }
                    room.bytes = room.bytes.saturating_sub(self.overhead_bytes(part));
                    content.pieces.push(part_piece(part, body));
                }
                PartBody::Indexed(subject) => {
                    let ordinal = if resumed { from.ordinal } else { 0 };
                    let rendering = self.render_indexed(subject, (at, place), ordinal, room);
                    match rendering.plan {
                        Some((_, cost)) => room.charge(cost.whole_tokens(), cost.bytes as usize),
                        None => {
                            room.spend(&rendering.body);
                        }
                    }
                    let around = self.overhead_bytes(part);
                    room.bytes = room.bytes.saturating_sub(around);
                    wrapper_bytes += around;
                    content.next_position = rendering.next.map(|place| self.position_after(at, place));
                    content.pieces.extend(rendering_pieces(part, &rendering));
                    let keep = content
                        .notice_part
                        .as_ref()
                        .is_none_or(|shaped| shaped.rendering.kind == PortionKind::Whole);
                    if keep || rendering.kind != PortionKind::Whole {
                        content.notice_address = (parts.len() > 1).then_some(part.address.as_str());
                        content.notice_part = Some(RenderedPart { part_index: at, rendering });
                    }
                }
            }
        }
        content
    }

    /// Renders a part with text from a place on. `ordinal`: number of its portions before.
    fn render_indexed(
        &self,
        subject: &IndexedText,
        (at, place): (usize, PartOffset),
        ordinal: u16,
        room: RemainingBudget<'_>,
    ) -> Rendering {
        let (part, pointer) = (&self.snapshot.parts()[at], self.base_pointer(at));
        let target = RenderTarget {
            portion_index: ordinal,
            ..self.render_target(subject, pointer, false, (at, place))
        };
        let passes = self.is_shown_whole(at) && place.is_start();
        let as_it_came = passes.then(|| render_as_received(part, &target, &room));
        let whole = as_it_came
            .or_else(|| render_source_if_fits(part, &target, room))
            .or_else(|| render_whole_if_small(&target, room));
        whole.unwrap_or_else(|| render_part(part, &target, &room))
    }

    /// Returns true if more parts stand beside the content than a notice names.
    fn has_many_asides(&self) -> bool {
        let is_aside = |part: &&Part| matches!(part.body, PartBody::Atomic { aside: true, .. });
        self.snapshot.parts().iter().filter(is_aside).count() > MAX_NAMED_PARTS
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
        let cursor = (self.cx.issue_cursor)(self.request.start);
        let described = block_placeholder(part, binary, cursor.as_ref(), self.cx);
        let fits = room.spend(&self.charged(&described));
        (fits || !put_off).then_some(PieceBody::Text(described))
    }

    /// Renders all parts as received, one after the other.
    fn render_raw(&self, walked: &[usize], room: RemainingBudget<'_>) -> ReplyContent<'a> {
        let parts = self.snapshot.parts();
        let first = usize::from(self.request.start.part);
        let mut content = ReplyContent::default();
        // An empty part is shown only if there is nothing else, so that no reply is empty and has a next
        // page.
        let byte = if let PartOffset::Byte(byte) = self.request.start.offset { byte as usize } else { 0 };
        let is_described = |at: &usize| {
            let length = parts[*at].text_len();
            *at > first && length > 0 || *at == first && length > byte
        };
        let mut left = walked.iter().copied().filter(is_described).peekable();
        let mut room = room;
        let mut next = left.next().or_else(|| walked.iter().copied().find(|at| *at >= first));
        while let Some(at) = next.take() {
            let text = parts[at].source();
            let byte = if at == first { byte } else { 0 };
            let mut rendering = chunk::render_bytes(text, Span::new(0, text.len()), byte, &room);
            rendering.meta.path = Some(parts[at].address.clone());
            let after = rendering.next.map(|place| self.position_after(at, place));
            let rest = left.peek().map(|next| self.position_after(*next, PartOffset::Byte(0)));
            content.next_position = after.or(rest);
            room.spend(&rendering.body);
            room.charge(0, self.overhead_bytes(&parts[at]));
            content.pieces.push(fragment_piece(&parts[at], PieceBody::Text(rendering.body.clone())));
            content.notice_part = Some(RenderedPart { part_index: at, rendering });
            if self.request.fills_with_parts && after.is_none() && room.bytes >= MIN_BYTE_LIMIT {
                next = left.next();
            }
        }
        content
    }
}

impl PartWalk<'_> {
    /// Returns the parts that the first reply always shows, in order: exempt parts, media and small parts.
    ///
    /// Depends only on the snapshot, the view and the policy, so that follow-up replies can tell what the
    /// first one showed.
    pub(in crate::render) fn inline_parts(&self, walked: &[usize]) -> Vec<usize> {
        let view = &self.request.view;
        let ordered = view.order.as_ref().is_some_and(|order| order.is_requested);
        let named = view.limit.is_some() || view.field_selection != RequestedFields::Auto || ordered;
        // Clients that see only text continue `structuredContent` as text.
        let apart = self.snapshot.structured_part();
        let left = |at: &usize| !named && self.is_exempt(*at) && apart != Some(*at);
        let (left, rest): (Vec<usize>, Vec<usize>) = walked.iter().copied().partition(left);
        // Media come first: they cannot be shortened, and text can.
        let media: Vec<usize> = media::in_first_reply(self.snapshot, self.cx.policy)
            .into_iter()
            .filter(|at| rest.contains(at))
            .collect();
        // Tokens that remain beside media. A reply has at least as many as its media need.
        let (due, policy) = (media.len() * self.cx.policy.media_tokens, self.cx.policy);
        let tokens =
            policy.reply_target.max(media::reply_budget(due, self.snapshot, policy)).saturating_sub(due);
        let others: Vec<usize> = rest.iter().copied().filter(|at| media.binary_search(at).is_err()).collect();
        let mut all = match (rest.is_empty(), others.is_empty()) {
            (true, _) => self.small_parts(walked, policy.reply_target),
            // If there are only media, the walk shows them.
            (false, true) => left,
            (false, false) => [left, media, self.small_parts(&others, tokens)].concat(),
        };
        all.sort_unstable();
        all
    }

    /// Returns the parts that are small enough, each and together, to pass whole beside the others in a reply
    /// of this many tokens.
    fn small_parts(&self, walked: &[usize], tokens: usize) -> Vec<usize> {
        if walked.len() < 2 {
            return Vec::new();
        }
        let (parts, policy) = (self.snapshot.parts(), self.cx.policy);
        // The smallest reply must still hold a notice and a portion of another part.
        let spare = tokens.saturating_sub(MIN_BUDGET);
        let (mut left, mut bytes) = (spare / 4, policy.hard_byte_limit / 8);
        let mut companions = Vec::new();
        for at in walked {
            let is_binary = matches!(&parts[*at].body, PartBody::Atomic { binary: Some(_), .. });
            if is_binary || parts[*at].text_len() > policy.hard_byte_limit / 8 {
                continue;
            }
            let text = parts[*at].text();
            let around = TEXT_BLOCK_BYTES.max(parts[*at].label.frame_bytes);
            if let Some(cost) = self.cx.counter.count_within(text, policy.full_below) {
                let rest = (left.checked_sub(cost), bytes.checked_sub(around + escaped_len(text)));
                let (Some(tokens_left), Some(bytes_left)) = rest else { return Vec::new() };
                (left, bytes) = (tokens_left, bytes_left);
                companions.push(*at);
            }
        }
        // At least one part must remain to be walked.
        if companions.len() == walked.len() { Vec::new() } else { companions }
    }
}
