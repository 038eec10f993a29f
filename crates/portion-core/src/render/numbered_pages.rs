//! Numbered pages: their size, and what the page before one did not show.

use std::borrow::Cow;

use super::context::Context;
use super::portion::Portion;
use super::{pass_through, reply};
use crate::cursor::{CursorTarget, PartOffset, Position, SnapshotId, stand_in};
use crate::paging::{UnshownRange, requested_count};
use crate::policy::MetadataMode;
use crate::snapshot::{OrderedList, Snapshot, Structure};
use crate::view::{RequestedFields, ResolvedRequest, Target, TargetValue, View, line_start_place};

/// Returns the request with a resolved page size, and what the previous page did not show.
pub(super) fn resolve_page_size<'a>(
    snapshot: &Snapshot,
    asked: &'a ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
) -> (Cow<'a, ResolvedRequest>, Option<UnshownRange>) {
    let Some(numbered) = asked.numbered_page.filter(|numbered| numbered.number > 1) else {
        return (Cow::Borrowed(asked), asked.unshown.clone());
    };
    let mut asked = Cow::Borrowed(asked);
    if !numbered.has_known_size
        && let Some(size) = first_page_size(snapshot, &asked, cx, fresh)
        && let Some(place) = page_start(&asked.view, numbered.number, size)
    {
        let own = asked.to_mut();
        own.start.offset = place;
        own.item_count = Some(size);
    }
    let not_shown = unshown_by_previous_page(snapshot, &asked, cx, fresh);
    (asked, not_shown)
}

/// Returns the number of items or lines that the first reply to this walk shows.
fn first_page_size(
    snapshot: &Snapshot,
    asked: &ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
) -> Option<u32> {
    let Target::Value(node) = &asked.view.target else { return None };
    let opening = opening_request(snapshot, asked, node, cx, fresh);
    if passes_through(snapshot, &opening, cx) {
        return match &node.subject.structure {
            Structure::List(list) => {
                let served = list.len() as u64;
                let requested = requested_count(snapshot.paging()).filter(|count| *count >= served);
                let size = requested.unwrap_or(served.max(cx.policy.default_page_size as u64));
                Some(u32::try_from(size).unwrap_or(u32::MAX))
            }
            Structure::Text(text) => Some(text.line_count().max(cx.policy.chunk_lines) as u32),
            Structure::Object(_) => None,
        };
    }
    let first = render_opening(snapshot, &opening, cx, fresh);
    first.pagination.filter(|pace| pace.part_index == node.part).map(|pace| pace.page_size)
}

/// Returns the request for the first reply to a walk, given that for one of its pages.
fn opening_request(
    snapshot: &Snapshot,
    asked: &ResolvedRequest,
    node: &TargetValue,
    cx: &Context<'_>,
    fresh: bool,
) -> ResolvedRequest {
    let main = snapshot.main_part() == Some(usize::from(node.part)) && node.pointer.is_empty();
    let first_budget =
        if asked.view.top_count().is_some() { asked.ranked_budget } else { cx.policy.reply_target };
    // The first reply to a call shows the other parts as well.
    let target = if main { Target::Everything } else { asked.view.target.clone() };
    ResolvedRequest {
        view: asked.view.with_target(target).without_pagination(),
        start: Position { part: if main { 0 } else { node.part }, ..Position::default() },
        token_budget: if main { asked.token_budget.min(first_budget) } else { asked.token_budget },
        item_count: None,
        numbered_page: None,
        is_plain: main
            && fresh
            && asked.view.field_selection == RequestedFields::Auto
            && asked.view.order.is_none(),
        ..asked.clone()
    }
}

fn render_opening(snapshot: &Snapshot, opening: &ResolvedRequest, cx: &Context<'_>, fresh: bool) -> Portion {
    // The cursors of the view with the page can be longer than those of the first reply.
    let (id, view) = (SnapshotId::default(), opening.view.id());
    let issue_cursor = |position: Position| {
        (cx.issue_cursor)(position).map(|_| stand_in(&CursorTarget { snapshot: id, view, position }))
    };
    reply::render(snapshot, opening, &Context { issue_cursor: &issue_cursor, ..*cx }, fresh, None)
}

/// Returns true if the first reply shows the payload as received.
fn passes_through(snapshot: &Snapshot, opening: &ResolvedRequest, cx: &Context<'_>) -> bool {
    let always = cx.policy.render_options.metadata == MetadataMode::Always;
    let untouched = (always || pass_through::needs_no_notice(snapshot))
        && pass_through::pass_through_cost(snapshot, opening, cx).is_some();
    untouched && (!always || reply::render_whole(snapshot, opening, cx).is_some())
}

/// Returns the offset at which a page begins.
fn page_start(view: &View, page: u32, size: u32) -> Option<PartOffset> {
    let Target::Value(node) = &view.target else { return None };
    let at = (page - 1).saturating_mul(size);
    match &node.subject.structure {
        Structure::List(_) => Some(PartOffset::Item(at)),
        Structure::Text(text) => Some(line_start_place(text, &node.subject.text, view, at)),
        Structure::Object(_) => None,
    }
}

/// Returns what the previous page, rendered within the same limits, does not show.
fn unshown_by_previous_page(
    snapshot: &Snapshot,
    asked: &ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
) -> Option<UnshownRange> {
    let numbered = asked.numbered_page?;
    let Target::Value(node) = &asked.view.target else { return None };
    let (page, count) =
        (numbered.number.checked_sub(numbered.page_count).filter(|page| *page > 0)?, asked.item_count?);
    let size = count / numbered.page_count.max(1);
    let start = page_start(&asked.view, page.max(1), size)?;
    let fixed = asked
        .view
        .pagination
        .as_deref()
        .filter(|fixed| fixed.part_index == node.part && fixed.page_size == size);
    let opened =
        fixed.and_then(|fixed| fixed.first_page_count).filter(|_| page == 1 && numbered.page_count == 1);
    let unshown_from = |reached: Position| {
        (reached.part == asked.start.part)
            .then(|| unshown_between(&asked.view, node, (reached, asked.start), cx))
            .flatten()
    };
    if let (Some(opened), Structure::List(_)) = (opened, &node.subject.structure) {
        return unshown_from(Position { offset: PartOffset::Item(opened), ..asked.start });
    }
    let ordinal = (page - 1).min(u32::from(u16::MAX)) as u16;
    let from = Position { offset: start, ordinal, ..asked.start };
    let previous = ResolvedRequest { start: from, numbered_page: None, ..asked.clone() };
    let unshown = reply::render(snapshot, &previous, cx, fresh, None).next_position.and_then(unshown_from);
    // The caller may have seen the first items without a page number, where fewer of them may fit.
    let opening = (page == 1 && numbered.page_count == 1)
        .then(|| opening_request(snapshot, asked, node, cx, fresh))
        .filter(|opening| !passes_through(snapshot, opening, cx));
    let unshown_by_opening = opening
        .and_then(|opening| render_opening(snapshot, &opening, cx, fresh).next_position)
        .and_then(unshown_from);
    unshown.into_iter().chain(unshown_by_opening).max_by_key(|unshown| unshown.count)
}

fn unshown_between(
    view: &View,
    node: &TargetValue,
    (reached, from): (Position, Position),
    cx: &Context<'_>,
) -> Option<UnshownRange> {
    let (offset, count) = match (&node.subject.structure, reached.offset, from.offset) {
        (Structure::List(list), place, PartOffset::Item(to)) => {
            let order = view.order.as_ref().filter(|order| order.part == node.part);
            let order = order.map(|order| &order.item_indices);
            let offset = item_offset(OrderedList { text: &node.subject.text, list, order }, place)?;
            (Some(offset), (to as usize).min(list.len()).checked_sub(offset)?)
        }
        (Structure::Text(_), PartOffset::Byte(at), PartOffset::Byte(to)) => {
            (None, to.checked_sub(at)? as usize)
        }
        _ => return None,
    };
    (count > 0).then(|| UnshownRange { offset, count, cursor: (cx.issue_cursor)(reached) })
}

/// Returns the offset of an item in the order of the list, or of the item that contains a byte.
fn item_offset(rows: OrderedList<'_>, place: PartOffset) -> Option<usize> {
    match place {
        PartOffset::Item(at) => Some(at as usize),
        PartOffset::Byte(at) => rows.item_at(at as usize).map(|item| rows.position_of(&item)),
    }
}
