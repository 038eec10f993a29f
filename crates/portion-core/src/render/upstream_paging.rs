//! Reports that a list is one page of the upstream's own paging, and how to request the upstream's next page.

use serde_json::Value;

use super::rendering::{RenderTarget, Rendering};
use crate::cursor::PartOffset;
use crate::paging::{CURSOR_ARGUMENTS, LAST_ID_ARGUMENTS, OFFSET_ARGUMENTS, PAGE_ARGUMENTS, is_named_like};
use crate::payload::NextPage;
use crate::snapshot::{List, UpstreamPage};

/// Longest URL of a next page that is shown.
const MAX_LINK_BYTES: usize = 200;

/// Adds the upstream's next page to the notice of the first and the last page, if the payload or the transport names it.
pub(super) fn note_upstream_page(spot: &RenderTarget<'_>, list: &List, drawn: &mut Rendering) {
    if !is_noted(spot, drawn) {
        return;
    }
    let page = list.upstream_page(&spot.subject.text);
    let reported_total = spot.transport_page.and_then(|page| page.total);
    let reported_total = reported_total.filter(|total| *total > list.len() as u64);
    if let Some(total) = page.as_ref().and_then(|page| page.total).or(reported_total) {
        drawn.set_meta("upstreamTotal", total);
    }
    // A member that leads to the next page can be passed as an argument, which a link cannot.
    let named = spot.transport_page.and_then(|page| page.next.as_ref());
    let named = named.filter(|_| page.as_ref().is_none_or(|page| page.next_member.is_none()));
    let next = match named {
        Some(next) => Some(named_call(next, spot.paging_arguments)),
        None => page.and_then(|page| upstream_next_call(&page, spot.paging_arguments)),
    };
    if let Some(next) = next {
        drawn.set_meta("upstreamNext", next);
    }
}

/// Adds the upstream's next chunk to the notice of the first and the last chunk of a text, if the transport names it.
pub(super) fn note_upstream_chunk(spot: &RenderTarget<'_>, drawn: &mut Rendering) {
    let next = spot.transport_page.and_then(|page| page.next.as_ref());
    if let Some(next) = next.filter(|_| is_noted(spot, drawn)) {
        drawn.set_meta("upstreamNext", named_call(next, spot.paging_arguments));
    }
}

fn is_noted(spot: &RenderTarget<'_>, drawn: &Rendering) -> bool {
    let is_end = spot.is_first() || drawn.next.is_none();
    spot.upstream_list.is_none() && !spot.is_singled_out && !spot.is_answer && is_end
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

/// Returns the call for the next page that the transport names.
fn named_call(next: &NextPage, arguments: &[String]) -> String {
    match next {
        NextPage::Call(call) => call.to_string(),
        NextPage::Link(link) => linked_call(link, arguments),
    }
}

fn linked_call(link: &str, arguments: &[String]) -> String {
    let query = link.split('#').next().and_then(|url| url.split_once('?')).map_or("", |(_, query)| query);
    let parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    let is_position = |name: &str| {
        [CURSOR_ARGUMENTS, PAGE_ARGUMENTS, OFFSET_ARGUMENTS, LAST_ID_ARGUMENTS]
            .iter()
            .any(|names| is_named_like(name, names))
    };
    // An encoded value is another text than the argument.
    let found = parameters
        .filter(|(_, value)| !value.contains(['%', '+']))
        .find(|(name, _)| is_position(name) && arguments.iter().any(|argument| argument == name));
    match found {
        Some((name, value)) => format!("repeat the call with {name}={value}"),
        None if !arguments.is_empty() => format!("repeat the call with another {}", arguments.join(", ")),
        None if link.len() <= MAX_LINK_BYTES => link.to_owned(),
        None => "the upstream has more; its URL is long".to_owned(),
    }
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
