//! The items of a list that a reply needs.

use std::ops::Range;

use portion_core::cursor::{PartOffset, Position};
use portion_core::policy::Policy;
use portion_core::snapshot::Snapshot;
use portion_core::view::Request;
use portion_policy::pushdown::PagingStyle;

use crate::call::Caller;
use crate::paged_call::PagedCall;
use crate::store::StoredSnapshot;

/// The items of a list that a reply needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// This many from the start.
    Items(usize),
    /// All.
    All,
}

/// Returns a request for a page by number with the size of that page: what the first reply can show, if the first page of the
/// upstream has fewer items than a page of the policy.
pub(crate) fn sized(request: Request, opening_count: Option<usize>, policy: &Policy) -> Request {
    let size = opening_count.filter(|count| (1..policy.default_page_size).contains(count));
    let is_unsized = request.limit.is_none() && request.page.is_some_and(|page| page > 1);
    Request { limit: size.filter(|_| is_unsized).map(|size| size as u32).or(request.limit), ..request }
}

/// Returns a request for a page by number with the size of that page, which the first reply from a kept list had.
pub(crate) fn sized_as_opened(request: Request, snapshot: &Snapshot, policy: &Policy) -> Request {
    sized(request, snapshot.upstream_list().and_then(|list| list.opening_count), policy)
}

impl Need {
    /// Returns the need of a request that begins at a position. `page_size`: that of the view, if it is known; `skipped`:
    /// items of the upstream's list before the first fetched one.
    pub(crate) fn of_request(
        request: &Request,
        from: Position,
        (page_size, skipped): (Option<u32>, usize),
        policy: &Policy,
    ) -> Self {
        if request.selects_from_whole() {
            return Self::All;
        }
        let size = request.limit.or(page_size).map_or(policy.default_page_size, |limit| limit as usize);
        let first = match (request.first_item(size), from.offset) {
            (Some(first), _) => first.saturating_sub(skipped),
            (None, PartOffset::Item(item)) => item as usize,
            (None, PartOffset::Byte(_)) => return Self::Items(0),
        };
        let pages = request.page_count.unwrap_or(1) as usize;
        Self::Items(first.saturating_add(size.saturating_mul(pages)))
    }

    /// Returns the range of items that a request selects, if it selects others than the first ones by their place in the
    /// upstream's list.
    pub(crate) fn wanted_items(request: &Request, policy: &Policy) -> Option<Range<usize>> {
        if request.selects_from_whole() || policy.render_options.default_sort.is_some() {
            return None;
        }
        let size = request.limit.map_or(policy.default_page_size, |limit| limit as usize);
        let first = request.first_item(size).filter(|first| *first > 0)?;
        let pages = request.page_count.unwrap_or(1) as usize;
        Some(first..first.saturating_add(size.saturating_mul(pages)))
    }

    /// Returns the need of a follow-up at a position in a view of a stored snapshot.
    pub(crate) fn of_follow_up(
        request: &Request,
        from: Position,
        stored: &StoredSnapshot,
        caller: &Caller,
    ) -> Self {
        let skipped = stored.snapshot.upstream_list().map_or(0, |list| list.skipped);
        Self::of_request(request, from, (stored.view.page_size(), skipped), &caller.effective_policy.policy)
    }

    /// Returns the need of a first reply from a list that begins after `skipped` items. `call`: the call for its pages.
    pub(crate) fn of_first_reply(
        request: &Request,
        skipped: usize,
        policy: &Policy,
        call: Option<&PagedCall>,
    ) -> Self {
        // The operator's order is of the whole list.
        if policy.render_options.default_sort.is_some() && request.sort.is_none() {
            return Self::All;
        }
        match Self::of_request(request, Position::default(), (None, skipped), policy) {
            // The first page is served at once, whatever its size, unless the next one begins where a full one ends.
            Self::Items(_)
                if request.limit.is_none()
                    && !request.is_continuation()
                    && !call.is_some_and(|call| matches!(call.pushdown.style, PagingStyle::Page(..))) =>
            {
                Self::Items(1)
            }
            need => need,
        }
    }

    /// Returns true if a stored list meets the need, or is complete, or if it is no list.
    pub(crate) fn is_met_by(self, stored: &StoredSnapshot) -> bool {
        let list = stored.snapshot.upstream_list();
        list.is_none_or(|list| self.is_met(list.fetched, !list.is_partial))
    }

    /// Returns true if a list of `count` items meets the need, or is complete.
    pub(crate) fn is_met(self, count: usize, is_complete: bool) -> bool {
        is_complete || matches!(self, Self::Items(items) if count >= items)
    }
}
