//! Renders a reply within its limits.

use super::budget::RemainingBudget;
use super::candidate::Candidate;
use super::context::Context;
use super::description::Description;
use super::fitting::Attempts;
use super::notice::Detail;
use super::numbered_pages::Unshown;
use super::page::Measured;
use super::pass_through;
use super::portion::Portion;
use super::query_tables::QueryTables;
use super::reply_limits::{NoticeSize, ReplyLimits};
use super::walk::PartWalk;
use crate::snapshot::Snapshot;
use crate::view::ResolvedRequest;

/// Levels of notice detail, in the order in which they are tried, and the attempts at each.
const ATTEMPTS: [(Detail, usize); 3] = [(Detail::Full, 4), (Detail::Essential, 3), (Detail::Minimal, 16)];

/// Renders the reply to a request whose page size is resolved. `unshown` is what the previous page did not show.
pub(super) fn render(
    snapshot: &Snapshot,
    asked: &ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
    unshown: &Unshown,
) -> Portion {
    let limits = ReplyLimits::for_reply(snapshot, asked, cx.policy, fresh);
    // Descriptions do not cover media, so they are sized by the rest.
    let media = asked.media_tokens;
    let tokens = cx.policy.description_tokens(limits.tokens.saturating_sub(media));
    let description = Description::for_request(snapshot, asked, cx, tokens, fresh);
    let description = description.as_ref();
    let tables = QueryTables::of_blocks_in(snapshot, asked, fresh);
    let measured = Measured::default();
    let walk = PartWalk::new(snapshot, asked, cx, fresh, &measured).with_unshown(unshown.told.as_ref());
    let walk = PartWalk { description, block_tables: tables.as_ref(), ..walk };
    let charged = walk.with_unshown(unshown.charged.as_ref());
    let mut all = Attempts::new(&charged, limits).written_by(&walk);
    let size = NoticeSize::for_reply(asked, cx, fresh);
    for (detail, attempts) in ATTEMPTS {
        let room = limits.budget_without_notice(detail, size, description, cx.counter, media);
        // If little budget remains for the content, the notice gets shorter.
        let described = description.filter(|_| detail == Detail::Full).map_or(0, |facts| facts.tokens);
        let least = match detail {
            Detail::Full | Detail::Essential => ReplyLimits {
                tokens: limits.tokens.saturating_sub(2 * described) / 3,
                bytes: limits.bytes / 3,
            },
            Detail::Minimal => ReplyLimits { tokens: 0, bytes: 0 },
        };
        if let Some(portion) = all.largest(detail, room, least, attempts) {
            return portion;
        }
    }
    // The smallest budgets hold the shortest notice only if its cursors are charged what they really cost.
    let walk = PartWalk { charges_cursors: false, ..walk };
    let mut all = Attempts::new(&walk, limits);
    let room = limits.budget_without_notice(Detail::Minimal, size, description, cx.counter, media);
    let none = ReplyLimits { tokens: 0, bytes: 0 };
    all.largest(Detail::Minimal, room, none, 16).unwrap_or_else(|| all.cheapest())
}

/// Renders the whole payload as received, with a notice, or returns `None` if that exceeds the limits.
pub(super) fn render_whole(
    snapshot: &Snapshot,
    asked: &ResolvedRequest,
    cx: &Context<'_>,
) -> Option<Portion> {
    let limits = ReplyLimits {
        tokens: pass_through::max_pass_through_tokens(snapshot, cx.policy),
        ..ReplyLimits::for_reply(snapshot, asked, cx.policy, true)
    };
    let tables = QueryTables::of_blocks_in(snapshot, asked, true);
    let measured = Measured::default();
    let walk = PartWalk::for_whole(snapshot, asked, cx, &measured);
    let walk = PartWalk { block_tables: tables.as_ref(), ..walk };
    let room = RemainingBudget { counter: cx.counter, tokens: limits.tokens, bytes: limits.bytes };
    let mut drafts = ATTEMPTS.iter().map(|(detail, _)| Candidate::render(&walk, room, limits, *detail));
    drafts.find(|draft| draft.fits(limits)).map(|draft| draft.portion)
}
