//! Renders a reply within its limits.

use super::budget::{Detail, NOTICE_COPIES, NoticeSize, RemainingBudget, ReplyLimits};
use super::candidate::Candidate;
use super::context::Context;
use super::description::Description;
use super::numbered_pages::Unshown;
use super::page::Measured;
use super::portion::{Portion, PortionKind};
use super::query_tables::QueryTables;
use super::walk::PartWalk;
use super::{notice, pass_through};
use crate::cursor::PartOffset;
use crate::snapshot::Snapshot;
use crate::view::ResolvedRequest;

/// Levels of notice detail, in the order in which they are tried, and the attempts at each.
const ATTEMPTS: [(Detail, usize); 3] = [(Detail::Full, 4), (Detail::Essential, 3), (Detail::Minimal, 16)];

/// Renders the reply to a request whose page size is resolved. `unshown` is what the previous page did not show, `measured`
/// what is known of its texts.
pub(super) fn render(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
    unshown: &Unshown,
    measured: &Measured,
) -> Portion {
    let limits = ReplyLimits::for_reply(snapshot, request, cx.policy, fresh);
    let limits = limits.or_whole_answer(snapshot, request, cx.policy, cx.counter);
    // Descriptions do not cover media, so they are sized by the rest.
    let media = request.media_tokens;
    let tokens = cx.policy.description_tokens(limits.tokens.saturating_sub(media));
    let description = Description::for_request(snapshot, request, cx, tokens, fresh);
    let description = description.as_ref();
    let tables = QueryTables::of_blocks_in(snapshot, request, fresh);
    let walk = PartWalk::new(snapshot, request, cx, fresh, measured).with_unshown(unshown.told.as_ref());
    let walk = PartWalk { description, block_tables: tables.as_ref(), ..walk };
    let charged = walk.with_unshown(unshown.charged.as_ref());
    let mut all = Attempts::new(&charged, &walk, limits);
    let size = notice_size(request, cx, fresh);
    let facts = description.map_or((0, 0), |facts| (facts.tokens, NOTICE_COPIES * facts.bytes));
    for (detail, attempts) in ATTEMPTS {
        let room = limits.budget_without_notice(detail, size, facts, cx.counter, media);
        // If little budget remains for the content, the notice gets shorter.
        let described = if detail == Detail::Full { facts.0 } else { 0 };
        let min = match detail {
            Detail::Full | Detail::Essential => ReplyLimits {
                tokens: limits.tokens.saturating_sub(2 * described) / 3,
                bytes: limits.bytes / 3,
            },
            Detail::Minimal => ReplyLimits { tokens: 0, bytes: 0 },
        };
        if let Some(portion) = all.largest(detail, room, min, attempts) {
            return portion;
        }
    }
    // The smallest budgets hold the shortest notice only if its cursors are charged what they really cost.
    let walk = PartWalk { charges_cursors: false, ..walk };
    let mut all = Attempts::new(&walk, &walk, limits);
    let room = limits.budget_without_notice(Detail::Minimal, size, facts, cx.counter, media);
    let none = ReplyLimits { tokens: 0, bytes: 0 };
    all.largest(Detail::Minimal, room, none, 16).unwrap_or_else(|| all.cheapest())
}

/// Returns the size of the notice of a reply.
fn notice_size(request: &ResolvedRequest, cx: &Context<'_>, fresh: bool) -> NoticeSize {
    if !fresh && !notice::is_full_in_text(cx.policy, cx.read_call) {
        NoticeSize::Short
    } else if request.view.top_count().is_some() {
        NoticeSize::Plain
    } else {
        NoticeSize::WithNames
    }
}

/// Renders the whole payload as received, with a notice, or returns `None` if that exceeds the limits.
pub(super) fn render_whole(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    cx: &Context<'_>,
) -> Option<Portion> {
    let limits = ReplyLimits {
        tokens: pass_through::max_pass_through_tokens(snapshot, cx.policy),
        ..ReplyLimits::for_reply(snapshot, request, cx.policy, true)
    };
    let tables = QueryTables::of_blocks_in(snapshot, request, true);
    let measured = Measured::default();
    let walk = PartWalk::for_whole(snapshot, request, cx, &measured);
    let walk = PartWalk { block_tables: tables.as_ref(), ..walk };
    let room = RemainingBudget { counter: cx.counter, tokens: limits.tokens, bytes: limits.bytes };
    let mut drafts = ATTEMPTS.iter().map(|(detail, _)| Candidate::render(&walk, room, limits, *detail));
    drafts.find(|candidate| candidate.fits(limits)).map(|candidate| candidate.portion)
}

/// Attempts to enlarge a reply that fits.
const GROWTHS: usize = 3;
/// Number of final steps that are each twice as large as the previous one.
const DOUBLINGS: usize = 7;
/// A reply may leave this fraction (1/n) of its limits unused.
const UNUSED: usize = 32;
/// A notice beside other content may cost this fraction (1/n) more.
const NOTICE_MARGIN: usize = 16;
/// Tokens by which a budget shrinks beyond the excess, because the digits in a notice vary.
const SPARE_TOKENS: usize = 8;
/// Wire bytes by which a budget shrinks beyond the excess.
const SPARE_BYTES: usize = 64;

/// Attempts to render a reply, and the cheapest of those that exceeded the limits.
pub(super) struct Attempts<'w, 'a> {
    walk: &'w PartWalk<'a>,
    /// The same walk with a notice that costs less, for the reply that fits.
    final_walk: &'w PartWalk<'a>,
    limits: ReplyLimits,
    cheapest: Option<Candidate>,
}

impl<'w, 'a> Attempts<'w, 'a> {
    /// Creates a value without attempts. The notice of the final walk costs at most as much as that of the other.
    pub(super) fn new(walk: &'w PartWalk<'a>, final_walk: &'w PartWalk<'a>, limits: ReplyLimits) -> Self {
        Self { walk, final_walk, limits, cheapest: None }
    }

    /// Renders the largest reply that fits, with a budget of at least `min`. Returns `None` if none of
    /// `attempts` attempts fits.
    pub(super) fn largest(
        &mut self,
        detail: Detail,
        first: RemainingBudget<'_>,
        min: ReplyLimits,
        attempts: usize,
    ) -> Option<Portion> {
        let (mut room, mut too_large) = (self.room_beside_notice(first, detail), None);
        for step in 0..attempts {
            if room.tokens < min.tokens || room.bytes < min.bytes {
                return None;
            }
            let candidate = Candidate::render(self.walk, room, self.limits, detail);
            if candidate.fits(self.limits) {
                let (candidate, room) = match too_large {
                    Some(too_large) => self.enlarge(candidate, room, too_large, detail),
                    None => (candidate, room),
                };
                return Some(self.written(candidate, room, detail));
            }
            too_large = Some(room);
            // With many attempts, small steps come first, because a smaller reply is not always cheaper.
            let doubled = step.saturating_sub(attempts.saturating_sub(DOUBLINGS));
            room = candidate.smaller_budget(room, self.limits, 1 << doubled);
            self.keep(candidate);
        }
        None
    }

    /// Writes the reply of a draft that fits.
    fn written(&self, candidate: Candidate, room: RemainingBudget<'_>, detail: Detail) -> Portion {
        if self.final_walk.unshown == self.walk.unshown {
            return candidate.portion;
        }
        Candidate::render(self.final_walk, room, self.limits, detail).portion
    }

    /// Returns the budget that the notice of a page leaves, at least the estimate of it, or the estimate for other replies.
    fn room_beside_notice<'r>(&self, estimate: RemainingBudget<'r>, detail: Detail) -> RemainingBudget<'r> {
        if !self.walk.shows_plain_list() {
            return estimate;
        }
        let walk = PartWalk { is_draft: true, ..*self.walk };
        let candidate = Candidate::render(&walk, estimate, self.limits, detail);
        if candidate.portion.kind != PortionKind::Page || !candidate.portion.leaves_content() {
            return estimate;
        }
        let notice = candidate.notice_tokens + candidate.notice_tokens / NOTICE_MARGIN + SPARE_TOKENS;
        let bytes = candidate.charged_bytes.saturating_sub(candidate.larger_form_bytes);
        RemainingBudget {
            tokens: self.limits.tokens.saturating_sub(notice).max(estimate.tokens),
            bytes: self
                .limits
                .bytes
                .saturating_sub(bytes + bytes / NOTICE_MARGIN + SPARE_BYTES)
                .max(estimate.bytes),
            ..estimate
        }
    }

    /// Renders a reply that fits again, with budgets between its own and one that was too large. Also returns its budget.
    fn enlarge<'r>(
        &self,
        mut best: Candidate,
        mut fits: RemainingBudget<'r>,
        mut too_large: RemainingBudget<'r>,
        detail: Detail,
    ) -> (Candidate, RemainingBudget<'r>) {
        let mut best_room = fits;
        for _ in 0..GROWTHS {
            if !best.leaves_room(self.limits) {
                break;
            }
            let (tokens, bytes) =
                (fits.tokens.midpoint(too_large.tokens), fits.bytes.midpoint(too_large.bytes));
            let room = RemainingBudget { tokens, bytes, ..fits };
            let candidate = Candidate::render(self.walk, room, self.limits, detail);
            if candidate.fits(self.limits) {
                fits = room;
                if candidate.progress() >= best.progress() {
                    (best, best_room) = (candidate, room);
                }
            } else {
                too_large = room;
            }
        }
        (best, best_room)
    }

    /// Returns the reply with the smallest excess. Used if none fits.
    pub(super) fn cheapest(&mut self) -> Portion {
        let room = RemainingBudget { counter: self.walk.cx.counter, tokens: 1, bytes: 1 };
        let last = Candidate::render(self.final_walk, room, self.limits, Detail::Minimal);
        match self
            .cheapest
            .take()
            .filter(|candidate| candidate.excess(self.limits) < last.excess(self.limits))
        {
            Some(candidate) => candidate.portion,
            None => last.portion,
        }
    }

    /// Keeps the candidate with the smallest excess.
    fn keep(&mut self, candidate: Candidate) {
        let excess = candidate.excess(self.limits);
        if self.cheapest.as_ref().is_none_or(|cheapest| excess < cheapest.excess(self.limits)) {
            self.cheapest = Some(candidate);
        }
    }
}

impl Candidate {
    /// Returns true if the reply is within its limits.
    pub(super) fn fits(&self, limits: ReplyLimits) -> bool {
        self.excess(limits) == (0, 0)
    }

    /// Returns the wire bytes and the tokens beyond the limits.
    fn excess(&self, limits: ReplyLimits) -> (usize, usize) {
        let bytes = limits.bytes * self.forms();
        (self.charged_bytes.saturating_sub(bytes), self.charged_tokens.saturating_sub(limits.tokens))
    }

    /// Returns true if so much of the limits is unused that more might fit.
    fn leaves_room(&self, limits: ReplyLimits) -> bool {
        let bytes = limits.bytes * self.forms();
        self.charged_tokens < limits.tokens - limits.tokens / UNUSED
            && self.charged_bytes < bytes - bytes / UNUSED
    }

    /// Returns the number of forms.
    fn forms(&self) -> usize {
        1 + usize::from(self.portion.structured.is_some())
    }

    /// Returns the budget for the next attempt: the rendered size less `step` times the excess.
    fn smaller_budget<'r>(
        &self,
        room: RemainingBudget<'r>,
        limits: ReplyLimits,
        step: usize,
    ) -> RemainingBudget<'r> {
        let (bytes_over, tokens_over) = self.excess(limits);
        let less = |room: usize, rendered: usize, over: usize, spare: usize| match over {
            0 => room,
            // Escapes raise the cost in proportion.
            _ if self.portion.is_enveloped => {
                room.saturating_mul(rendered) / (rendered + (over + spare).saturating_mul(step))
            }
            _ => room.min(rendered).saturating_sub((over + spare).saturating_mul(step)),
        };
        let tokens = less(
            room.tokens,
            self.charged_tokens.saturating_sub(self.notice_tokens),
            tokens_over,
            SPARE_TOKENS,
        );
        let bytes = less(room.bytes, self.larger_form_bytes, bytes_over, SPARE_BYTES);
        RemainingBudget { tokens: tokens.max(1), bytes: bytes.max(1), ..room }
    }

    /// Returns a key that orders replies by progress: those without a next page last, then by the next
    /// position, then by size.
    fn progress(&self) -> (bool, u16, bool, u32, usize) {
        match self.portion.next_position {
            None => (true, 0, false, 0, self.charged_tokens),
            Some(next) => match next.offset {
                PartOffset::Byte(at) => (false, next.part, false, at, self.charged_tokens),
                PartOffset::Item(at) => (false, next.part, true, at, self.charged_tokens),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use portion_tokens::Tokenizer;

    use super::Attempts;
    use crate::cursor::{CursorTarget, Keyring, Position, Scope};
    use crate::payload::{Block, Content, Payload};
    use crate::policy::{EnvelopeMode, Policy};
    use crate::render::Context;
    use crate::render::budget::{Detail, NoticeSize, RemainingBudget, ReplyLimits};
    use crate::render::candidate::Candidate;
    use crate::render::page::Measured;
    use crate::render::portion::Portion;
    use crate::render::walk::PartWalk;
    use crate::snapshot::capture;
    use crate::view::{Request, resolve};

    /// Number of fractions of the first budget that are tried to find the largest reply that fits.
    const SHARES: usize = 64;

    /// Returns a list of records of many sizes, as text and optionally as structured content.
    fn payload(records: usize, words: usize, is_structured: bool) -> Payload {
        let mut items = String::new();
        for i in 0..records {
            let comma = if i > 0 { "," } else { "" };
            let notes = "seven quiet words, and another \\\"one\\\" ".repeat(1 + i * 7 % words);
            let _ = write!(items, "{comma}{{\"id\":{i},\"name\":\"Room {i}\",\"notes\":\"{notes}\"}}");
        }
        let list = format!("{{\"items\":[{items}]}}");
        let mut blocks = vec![Block::new("/content/0/text", Content::Text(list.clone()))];
        if is_structured {
            blocks.push(Block::new("/structuredContent", Content::Structured(list)));
        }
        Payload { blocks, ..Payload::default() }
    }

    /// Compares the reply that is found with those of all smaller budgets.
    fn check(payload: Payload, policy: &Policy, tokenizer: Tokenizer) {
        let snapshot = capture(payload);
        let request = resolve(&snapshot, None, &Request::default(), policy).expect("plain");
        let mint = |position| {
            let pointer = CursorTarget { snapshot: *b"a shot", view: request.view.id(), position };
            Some(Keyring::new(&[7; 32]).sign(&pointer, &Scope::from_principal("caller")))
        };
        let mint: &dyn Fn(Position) -> _ = &mint;
        let counter = tokenizer.counter();
        let cx = Context {
            policy,
            counter,
            issue_cursor: mint,
            read_call: "read".into(),
            query_tool: None,
            read_uri: None,
        };
        let measured = Measured::default();
        let walk = PartWalk::new(&snapshot, &request, &cx, true, &measured);
        let limits = ReplyLimits::for_reply(&snapshot, &request, policy, true);
        let usual = limits.budget_without_notice(Detail::Full, NoticeSize::WithNames, (0, 0), counter, 0);
        // The whole limits are always too much, because the notice needs space.
        let all = RemainingBudget { counter, tokens: limits.tokens, bytes: limits.bytes };
        for first in [usual, all] {
            let none = ReplyLimits { tokens: 0, bytes: 0 };
            let found = Attempts::new(&walk, &walk, limits).largest(Detail::Full, first, none, 8);
            let found = found.expect("something fits");
            let served = found.served_count.expect("a page");
            // Other budgets show other fields of more or fewer records.
            let is_alike = |other: &Portion| {
                let fields = |portion: &Portion| portion.pagination.clone().and_then(|own| own.kept_fields);
                other.stages == found.stages && fields(other) == fields(&found)
            };
            for share in 1..=SHARES {
                let (tokens, bytes) = (first.tokens * share / SHARES, first.bytes * share / SHARES);
                let candidate = Candidate::render(
                    &walk,
                    RemainingBudget { counter, tokens, bytes },
                    limits,
                    Detail::Full,
                );
                let fits = candidate.fits(limits) && is_alike(&candidate.portion);
                let fitting = candidate.portion.served_count.filter(|_| fits).unwrap_or(0);
                let enough = fitting - fitting / 16;
                assert!(
                    served + 1 >= enough,
                    "{served} records where {fitting} fit, {share} of {SHARES}: {policy:?}"
                );
            }
        }
    }

    #[test]
    fn a_page_is_as_large_as_fits() {
        for envelope in [EnvelopeMode::Auto, EnvelopeMode::Wrap] {
            for hard_byte_limit in [6_000, 65_536] {
                let mut policy = Policy { hard_byte_limit, ..Policy::default() };
                policy.render_options.envelope = envelope;
                for policy in [policy.clone(), policy.lean()] {
                    for (records, words) in [(60, 2), (200, 5), (90, 40)] {
                        for is_structured in [false, true] {
                            check(payload(records, words, is_structured), &policy, Tokenizer::O200k);
                        }
                    }
                }
            }
        }
    }
}
