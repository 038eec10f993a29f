//! Numbered pages: their size, and what the page before one did not show.

use std::borrow::Cow;

use super::context::Context;
use super::page::Measured;
use super::portion::Portion;
use super::{pass_through, reply};
use crate::cursor::{CursorTarget, PartOffset, Position, SnapshotId, stand_in};
use crate::paging::{UnshownRange, requested_count};
use crate::policy::MetadataMode;
use crate::snapshot::{OrderedList, Snapshot, Structure};
use crate::view::{
    Pagination, RequestedFields, ResolvedRequest, Target, TargetValue, View, line_start_place, skipped_count,
};

/// Range that the page before a page by number did not show.
#[derive(Default)]
pub(super) struct Unshown {
    /// The range that the notice reports.
    pub told: Option<UnshownRange>,
    /// The range whose cost the notice is charged. It does not depend on the pages before, so that each page can be rendered
    /// again without rendering all of these.
    pub charged: Option<UnshownRange>,
}

impl Unshown {
    /// Creates a value that is charged what it costs.
    fn exact(range: Option<UnshownRange>) -> Self {
        Self { told: range.clone(), charged: range }
    }
}

/// Returns the request with a resolved page size, and what the previous page did not show.
pub(super) fn resolve_page_size<'a>(
    snapshot: &Snapshot,
    request: &'a ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
) -> (Cow<'a, ResolvedRequest>, Unshown) {
    // Page 1 of the payload itself is its first reply. Of other fields, it has the size that page 2 goes on from.
    let is_own = request.view.field_selection == RequestedFields::Auto;
    let Some(numbered) = request.numbered_page.filter(|numbered| numbered.number > 1 || !is_own) else {
        return (Cow::Borrowed(request), Unshown::exact(request.unshown.clone()));
    };
    let mut request = Cow::Borrowed(request);
    if !numbered.has_known_size
        && let Some(pagination) = first_pagination(snapshot, &request, cx, fresh)
        && let Some(place) = page_start(snapshot, &request.view, numbered.number, pagination.page_size)
    {
        let own = request.to_mut();
        own.start.offset = place;
        own.item_count = Some(pagination.page_size);
        own.view = own.view.clone().with_pagination(Some(pagination));
    }
    let walk = NumberedWalk::new(snapshot, &request, cx, fresh);
    let unshown = walk.and_then(|(walk, page)| walk.unshown_before(page)).unwrap_or_default();
    (request, unshown)
}

/// Returns the pagination that the first reply to this walk fixes: the pages after it have its size and columns.
fn first_pagination(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    cx: &Context<'_>,
    fresh: bool,
) -> Option<Pagination> {
    let Target::Value(value) = &request.view.target else { return None };
    let opening = opening_request(snapshot, request, value, cx, fresh);
    if passes_through(snapshot, &opening, cx) {
        let size = match &value.subject.structure {
            Structure::List(list) => {
                let served = list.len() as u64;
                let requested = requested_count(snapshot.paging()).filter(|count| *count >= served);
                let size = requested.unwrap_or(served.max(cx.policy.default_page_size as u64));
                u32::try_from(size).unwrap_or(u32::MAX)
            }
            Structure::Text(text) => text.line_count().max(cx.policy.chunk_lines) as u32,
            Structure::Object(_) => return None,
        };
        return Some(Pagination::of_size(value.part, size));
    }
    render_opening(snapshot, &opening, cx, fresh)
        .pagination
        .filter(|pagination| pagination.part_index == value.part)
}

/// Returns the request for the first reply to a walk, given that for one of its pages.
fn opening_request(
    snapshot: &Snapshot,
    request: &ResolvedRequest,
    value: &TargetValue,
    cx: &Context<'_>,
    fresh: bool,
) -> ResolvedRequest {
    let main = snapshot.main_part() == Some(usize::from(value.part)) && value.pointer.is_empty();
    let first_budget = match request.view.field_selection {
        RequestedFields::Auto if request.view.top_count().is_some() => request.ranked_budget,
        RequestedFields::Auto => cx.policy.reply_target,
        RequestedFields::All | RequestedFields::Only(_) => request.token_budget,
    };
    // The first reply to a call shows the other parts as well.
    let target = if main { Target::Everything } else { request.view.target.clone() };
    ResolvedRequest {
        view: request.view.with_target(target).without_pagination(),
        start: Position { part: if main { 0 } else { value.part }, ..Position::default() },
        token_budget: if main { request.token_budget.min(first_budget) } else { request.token_budget },
        item_count: None,
        numbered_page: None,
        is_plain: main
            && fresh
            && request.view.field_selection == RequestedFields::Auto
            && request.view.order.is_none(),
        ..request.clone()
    }
}

fn render_opening(snapshot: &Snapshot, opening: &ResolvedRequest, cx: &Context<'_>, fresh: bool) -> Portion {
    // The cursors of the view with the page can be longer than those of the first reply.
    let (id, view) = (SnapshotId::default(), opening.view.id());
    let issue_cursor = |position: Position| {
        (cx.issue_cursor)(position).map(|_| stand_in(&CursorTarget { snapshot: id, view, position }))
    };
    reply::render(
        snapshot,
        opening,
        &Context { issue_cursor: &issue_cursor, ..*cx },
        fresh,
        &Unshown::default(),
        &Measured::default(),
    )
}

/// Returns true if the first reply shows the payload as received.
fn passes_through(snapshot: &Snapshot, opening: &ResolvedRequest, cx: &Context<'_>) -> bool {
    let always = cx.policy.render_options.metadata == MetadataMode::Always;
    let untouched = (always || pass_through::needs_no_notice(snapshot))
        && pass_through::passes_through(snapshot, opening, cx);
    untouched && (!always || reply::render_whole(snapshot, opening, cx).is_some())
}

/// Returns the offset at which a page begins, unless the snapshot begins after it.
fn page_start(snapshot: &Snapshot, view: &View, page: u32, size: u32) -> Option<PartOffset> {
    let Target::Value(value) = &view.target else { return None };
    let at = (page - 1).saturating_mul(size);
    match &value.subject.structure {
        Structure::List(_) => at.checked_sub(skipped_count(snapshot, view)).map(PartOffset::Item),
        Structure::Text(text) => Some(line_start_place(text, &value.subject.text, view, at)),
        Structure::Object(_) => None,
    }
}

/// A walk by numbered pages of one size.
struct NumberedWalk<'a> {
    snapshot: &'a Snapshot,
    request: &'a ResolvedRequest,
    value: &'a TargetValue,
    cx: &'a Context<'a>,
    fresh: bool,
    /// Items or lines of a page.
    size: u32,
    /// Number of pages that a reply shows.
    step: u32,
}

impl<'a> NumberedWalk<'a> {
    /// Creates the walk of a request. Also returns its page.
    fn new(
        snapshot: &'a Snapshot,
        request: &'a ResolvedRequest,
        cx: &'a Context<'a>,
        fresh: bool,
    ) -> Option<(Self, u32)> {
        let numbered = request.numbered_page?;
        let Target::Value(value) = &request.view.target else { return None };
        let step = numbered.page_count.max(1);
        let size = request.item_count? / step;
        Some((Self { snapshot, request, value, cx, fresh, size, step }, numbered.number))
    }

    /// Returns the page before one, unless that is the first.
    fn previous(&self, page: u32) -> Option<u32> {
        page.checked_sub(self.step).filter(|page| *page > 0)
    }

    /// Returns what the page before `page`, rendered within the same limits, does not show.
    fn unshown_before(&self, page: u32) -> Option<Unshown> {
        let previous = self.previous(page)?;
        let Some(earlier) = self.previous(previous) else {
            return Some(Unshown::exact(self.unshown_by_first(previous)));
        };
        // With the longest notice it shows least.
        let max = self.largest_unshown(previous);
        let at_most_unshown = self.unshown_by(previous, Some(&max))?;
        let charged = match self.previous(earlier) {
            None => self.unshown_by_first(earlier),
            Some(_) => self.unshown_by(earlier, Some(&self.largest_unshown(earlier))).map(|_| max.clone()),
        };
        let told = if charged.as_ref() == Some(&max) {
            Some(at_most_unshown)
        } else {
            self.unshown_by(previous, charged.as_ref())
        };
        Some(Unshown { told, charged: Some(self.largest_unshown(page)) })
    }

    /// Returns what a page with a notice about the page before does not show.
    fn unshown_by(&self, page: u32, charged: Option<&UnshownRange>) -> Option<UnshownRange> {
        let start = page_start(self.snapshot, &self.request.view, page, self.size)?;
        let ordinal = (page - 1).min(u32::from(u16::MAX)) as u16;
        let from = Position { offset: start, ordinal, ..self.request.start };
        let request = ResolvedRequest { start: from, numbered_page: None, ..self.request.clone() };
        let rendered = reply::render(
            self.snapshot,
            &request,
            self.cx,
            self.fresh,
            &Unshown::exact(charged.cloned()),
            &Measured::default(),
        );
        self.unshown_from(page, rendered.next_position?)
    }

    /// Returns what the first page does not show. The caller may have seen it with or without a number: the fewer items count.
    fn unshown_by_first(&self, page: u32) -> Option<UnshownRange> {
        let is_opening = page == 1 && self.step == 1;
        let fixed = self.request.view.pagination.as_deref();
        let fixed = fixed.filter(|fixed| fixed.part_index == self.value.part && fixed.page_size == self.size);
        let opened = fixed.and_then(|fixed| fixed.first_page_count).filter(|_| is_opening);
        let reached = match (opened, &self.value.subject.structure) {
            (Some(opened), Structure::List(_)) => {
                Some(Position { offset: PartOffset::Item(opened), ..self.request.start })
            }
            _ => is_opening
                .then(|| opening_request(self.snapshot, self.request, self.value, self.cx, self.fresh))
                .filter(|opening| !passes_through(self.snapshot, opening, self.cx))
                .and_then(|opening| {
                    render_opening(self.snapshot, &opening, self.cx, self.fresh).next_position
                }),
        };
        let unshown = self.unshown_by(page, None);
        let unshown_by_opening = reached.and_then(|reached| self.unshown_from(page, reached));
        unshown.into_iter().chain(unshown_by_opening).max_by_key(|unshown| unshown.count)
    }

    /// Returns what is between a position in a page and its end.
    fn unshown_from(&self, page: u32, reached: Position) -> Option<UnshownRange> {
        let request = self.request;
        let end = page_start(self.snapshot, &request.view, page.saturating_add(self.step), self.size)?;
        let end = Position { offset: end, ..request.start };
        let unshown = unshown_between(&request.view, self.value, (reached, end), self.cx);
        let skipped = skipped_count(self.snapshot, &request.view) as usize;
        unshown
            .filter(|_| reached.part == end.part)
            .map(|unshown| UnshownRange { offset: unshown.offset.map(|offset| offset + skipped), ..unshown })
    }

    /// Returns a range that costs at least as much as any that the notice of a page may report.
    fn largest_unshown(&self, page: u32) -> UnshownRange {
        let bytes = self.value.subject.text.len();
        let (offset, count) = match &self.value.subject.structure {
            Structure::List(list) => {
                let skipped = skipped_count(self.snapshot, &self.request.view) as usize;
                (Some(list.len() + skipped), list.len())
            }
            _ => (None, bytes),
        };
        let ordinal = page.min(u32::from(u16::MAX)) as u16;
        let position = Position { offset: PartOffset::Byte(bytes as u32), ordinal, ..self.request.start };
        let target = CursorTarget { snapshot: SnapshotId::default(), view: self.request.view.id(), position };
        let cursor = (self.cx.issue_cursor)(position).map(|_| stand_in(&target));
        UnshownRange { offset, count, cursor }
    }
}

fn unshown_between(
    view: &View,
    value: &TargetValue,
    (reached, from): (Position, Position),
    cx: &Context<'_>,
) -> Option<UnshownRange> {
    let (offset, count) = match (&value.subject.structure, reached.offset, from.offset) {
        (Structure::List(list), place, PartOffset::Item(to)) => {
            let order = view.order.as_ref().filter(|order| order.part == value.part);
            let order = order.map(|order| &order.item_indices);
            let offset = item_offset(OrderedList { text: &value.subject.text, list, order }, place)?;
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
