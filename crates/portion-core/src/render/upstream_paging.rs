//! Reports that a list is one page of the upstream's own paging, and how to request the upstream's next page.

use serde_json::Value;

use super::rendering::{RenderTarget, Rendering};
use super::upstream_call::{UpstreamPaging, named_call};
use super::walk::{PartWalk, ReplyContent};
use crate::cursor::{PartOffset, Position};
use crate::paging::{ArgumentValue, requested_count};
use crate::snapshot::List;
use crate::view::Target;

/// Adds the upstream's next page to the notice of the first and the last page, if the payload or the transport names it.
pub(super) fn note_upstream_page(spot: &RenderTarget<'_>, list: &List, drawn: &mut Rendering) {
    note_translated_page(spot, drawn);
    if !is_noted(spot, drawn) {
        return;
    }
    let paging = UpstreamPaging::new(spot.paging_arguments, list.len() as u64, spot.read_call);
    let page = list.upstream_page(&spot.subject.text, paging.selects_pages());
    let reported_total = spot.transport_page.and_then(|page| page.total);
    let reported_total = reported_total.filter(|total| *total > list.len() as u64);
    if let Some(total) = page.as_ref().and_then(|page| page.total).or(reported_total) {
        drawn.set_meta("upstreamTotal", total);
    }
    // A member that leads to the next page can be passed as an argument, which a link cannot.
    let named = spot.transport_page.and_then(|page| page.next.as_ref());
    let named = named.filter(|_| page.as_ref().is_none_or(|page| page.next_member.is_none()));
    let next = match (named, page) {
        (Some(next), _) => Some(named_call(next, spot.paging_arguments)),
        (None, Some(page)) => paging.next_call(&page),
        (None, None) => paging.call_after_full_page(),
    };
    if let Some(next) = next {
        note_short_page(spot, list, drawn);
        drawn.set_meta("upstreamNext", next);
    }
}

/// Adds that a page by number, which is not the last one, is shorter than asked for.
fn note_short_page(spot: &RenderTarget<'_>, list: &List, drawn: &mut Rendering) {
    let asked = requested_count(spot.paging_arguments).filter(|asked| *asked > list.len() as u64);
    if let (Some(asked), Some(sent)) = (asked, drawn.meta.get("sent").and_then(Value::as_str)) {
        let received = list.len();
        let short = format!("{sent}; {received} of {asked} items came, so page skips items: use the offset");
        drawn.set_meta("sent", short);
    }
}

/// Adds the upstream's next chunk to the notice of the first and the last chunk of a text, if the transport names it.
pub(super) fn note_upstream_chunk(spot: &RenderTarget<'_>, drawn: &mut Rendering) {
    note_translated_page(spot, drawn);
    let next = spot.transport_page.and_then(|page| page.next.as_ref());
    if let Some(next) = next.filter(|_| is_noted(spot, drawn)) {
        drawn.set_meta("upstreamNext", named_call(next, spot.paging_arguments));
    }
}

/// Adds the upstream's next step to the notice of the first and the last reply about everything, whatever its kind, if the
/// transport names it and the rendering does not.
pub(super) fn note_upstream_step(walk: &PartWalk<'_>, content: &mut ReplyContent<'_>) {
    let (snapshot, request) = (walk.snapshot, walk.request);
    let is_end = request.start == Position::default() || content.next_position.is_none();
    let is_noted = is_end
        && matches!(request.view.target, Target::Everything)
        && snapshot.answer().is_none()
        && snapshot.upstream_list().is_none();
    let next = snapshot.transport_page().and_then(|page| page.next.as_ref()).filter(|_| is_noted);
    if let (Some(next), Some(part)) = (next, content.notice_part.as_mut())
        && !part.rendering.meta.contains_key("upstreamNext")
    {
        part.rendering.set_meta("upstreamNext", named_call(next, snapshot.paging()));
    }
}

/// Adds the offset that was sent to the upstream in place of the number of a page.
fn note_translated_page(spot: &RenderTarget<'_>, drawn: &mut Rendering) {
    let sent = spot.paging_arguments.iter().find_map(|argument| match argument.value {
        ArgumentValue::Translated(offset) => Some(format!("{}={offset} in place of page", argument.name)),
        _ => None,
    });
    if let Some(sent) = sent.filter(|_| spot.is_first() && !spot.is_singled_out && !spot.is_answer) {
        drawn.set_meta("sent", sent);
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
