//! Reports that a list is one page of the upstream's own paging, and how to request the upstream's next page.

use serde_json::Value;

use super::rendering::{RenderTarget, Rendering};
use crate::cursor::PartOffset;
use crate::paging::{CURSOR_ARGUMENTS, LAST_ID_ARGUMENTS, OFFSET_ARGUMENTS, PAGE_ARGUMENTS, is_named_like};
use crate::snapshot::{List, UpstreamPage};

/// Adds the upstream's next page to the notice of the first and the last page, if the payload has such data.
pub(super) fn note_upstream_page(spot: &RenderTarget<'_>, list: &List, drawn: &mut Rendering) {
    if spot.upstream_list.is_some()
        || spot.is_singled_out
        || spot.is_answer
        || !(spot.is_first() || drawn.next.is_none())
    {
        return;
    }
    let Some(page) = list.upstream_page(&spot.subject.text) else { return };
    if let Some(total) = page.total {
        drawn.set_meta("upstreamTotal", total);
    }
    if let Some(on) = upstream_next_call(&page, spot.paging_arguments) {
        drawn.set_meta("upstreamNext", Value::from(on));
    }
}

/// Extends a page of a list that is fetched page by page to the whole list: its total, and a next page after the
/// fetched items. `end`: index of the item after the page. Returns true if the upstream has more items.
pub(super) fn note_fetched_list(spot: &RenderTarget<'_>, end: usize, drawn: &mut Rendering) -> bool {
    let Some(list) = spot.upstream_list.filter(|list| drawn.total_count == Some(list.fetched)) else {
        return false;
    };
    if list.skipped > 0 {
        drawn.total_count = list.total_count();
        let offset = drawn.meta.get("offset").and_then(Value::as_u64).unwrap_or_default();
        drawn.set_meta("offset", offset + list.skipped as u64);
    }
    if list.is_partial {
        drawn.total_count = list.total_count();
        // A reply without items is the end of what could be fetched.
        let is_empty = drawn.meta.get("served").and_then(Value::as_u64) == Some(0);
        if drawn.next.is_none() && !is_empty {
            drawn.next = u32::try_from(end).ok().map(PartOffset::Item);
            drawn.set_meta("hasMore", true);
        }
    }
    if let Some(gap) = list.describe_gap() {
        drawn.set_meta("upstream", gap);
    }
    if list.has_changed {
        drawn.set_meta("changed", true);
    }
    list.is_partial
}

/// Returns the call for the upstream's next page, or `None` if this is the last one.
fn upstream_next_call(page: &UpstreamPage, arguments: &[String]) -> Option<String> {
    if page.has_more == Some(false) {
        return None;
    }
    let argument = |names: &[&str]| arguments.iter().find(|name| is_named_like(name, names));
    let token =
        page.next_member.as_ref().filter(|(_, value)| !value.contains("://") && !value.ends_with('…'));
    let number = token.filter(|(_, value)| value.bytes().all(|b| b.is_ascii_digit()));
    let same = |assigned: String| Some(format!("repeat the call with {assigned}"));
    if let (Some(name), Some((_, value))) = (argument(CURSOR_ARGUMENTS), token) {
        return same(format!("{name}={value}"));
    }
    if let Some(name) = argument(PAGE_ARGUMENTS) {
        let next = page.next_page.map(|page| page.to_string());
        if let Some(next) = next.or_else(|| number.map(|(_, value)| value.clone())) {
            return same(format!("{name}={next}"));
        }
    }
    if let (Some(name), Some(next)) = (argument(OFFSET_ARGUMENTS), page.next_offset) {
        return same(format!("{name}={next}"));
    }
    if let (Some(name), true) = (argument(LAST_ID_ARGUMENTS), page.has_more == Some(true)) {
        return same(format!("{name}=id of the last item"));
    }
    if !arguments.is_empty() {
        return same(format!("another {}", arguments.join(", ")));
    }
    match &page.next_member {
        Some((name, value)) => Some(format!("{name}: {value}")),
        None => Some("the upstream has more; change the arguments".into()),
    }
}
