//! Pages of the upstream that programs step through.

use std::cell::LazyCell;

use portion_core::paging::{ArgumentValue, PagingArgument, PagingRole, requested_count};
use portion_core::snapshot::{Snapshot, Structure};

use super::RequestContext;

/// A page of the upstream that a program counts on.
pub(super) struct CountedPage {
    /// Number of its items.
    pub(super) items: usize,
    /// True if it does not fit as received.
    pub(super) is_long: bool,
}

/// Returns a result as a page of the upstream if a program counts on its items: it steps by what it asked for, or goes on by a
/// cursor in the body of its next request, or where the upstream says nothing at the end of the page.
pub(super) fn counted_page(context: &RequestContext, snapshot: &Snapshot) -> Option<CountedPage> {
    let main = snapshot.main_text()?;
    let Structure::List(list) = &main.structure else { return None };
    let RequestContext { caller, endpoint, .. } = context;
    let (policy, items) = (&caller.effective_policy.policy, list.len());
    let is_posted = endpoint.as_ref().is_some_and(|endpoint| !endpoint.read_only)
        && list.upstream_page(&main.text, false).is_some();
    // Tokens are counted only if something else says that it may be a page.
    let is_long = LazyCell::new(|| caller.effective_policy.exceeds_threshold(std::iter::once(&*main.text)));
    // Parts of a page have a cursor where the page has one: the last page has none.
    let leads_on = || list.upstream_page(&main.text, false).is_some_and(|page| page.next_member.is_some());
    let is_asked = |argument: &PagingArgument| match (argument.role(), argument.value) {
        (None, _) | (_, ArgumentValue::Absent) => false,
        (Some(PagingRole::LastId), _) => !*is_long,
        // A page of Portion's own size is all of fewer items.
        (Some(PagingRole::Limit), _) => {
            items > policy.default_page_size && argument.number().is_some_and(|limit| limit >= items as u64)
        }
        (Some(PagingRole::Page | PagingRole::Offset), _) if argument.is_given() => true,
        // A text selects a page as a cursor does.
        (Some(PagingRole::Cursor | PagingRole::Page | PagingRole::Offset), _) => !*is_long || !leads_on(),
    };
    let ends = || {
        let is_fetched = caller.paged_call.as_ref().is_some_and(|call| !call.numbers_pages());
        (is_fetched || list.leaves_out_end(&main.text)) && !*is_long
            || caller.paged_call.is_none() && list.says_end(&main.text)
    };
    let is_page = snapshot.paging().iter().any(is_asked) || is_posted || ends();
    let is_sized = || requested_count(snapshot.paging()).is_some_and(|limit| limit >= items as u64);
    let may_be_held = || !*is_long || items <= policy.max_page_size || is_sized();
    (is_page && may_be_held()).then(|| CountedPage { items, is_long: *is_long })
}
