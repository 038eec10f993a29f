//! Reports that a list is one page of the upstream's own paging, and how to request the upstream's next page.

use super::rendering::{RenderTarget, Rendering};
use super::upstream_call::{UpstreamPaging, named_call};
use super::walk::{PartWalk, ReplyContent};
use crate::cursor::{PartOffset, Position};
use crate::paging::{ArgumentValue, requested_count, selects_pages};
use crate::payload::TransportPage;
use crate::snapshot::{List, Part, Snapshot, Structure, UpstreamPage};
use crate::view::Target;

/// The items of the upstream beyond the main list of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamRest {
    /// Number of items that the upstream has, if it states it.
    pub total: Option<u64>,
}

/// Returns what the upstream has beyond the main list of a snapshot, or `None` if nothing says that it has more. A list that
/// is fetched page by page has an extent of its own.
pub fn upstream_rest(snapshot: &Snapshot) -> Option<UpstreamRest> {
    let part = snapshot.main_part().and_then(|at| snapshot.parts().get(at))?;
    let subject = part.indexed_text().filter(|_| snapshot.upstream_list().is_none())?;
    let Structure::List(list) = &subject.structure else { return None };
    let page = list.upstream_page(&subject.text, selects_pages(snapshot.paging()));
    let transport = snapshot.transport_page();
    let total = stated_total(list, page.as_ref(), transport);
    let has_next = page.is_some_and(|page| page.has_more == Some(true))
        || transport.is_some_and(|page| page.next.is_some());
    (total.is_some() || has_next).then_some(UpstreamRest { total })
}

/// Returns the total of which a list is a page, as stated by the payload, or else by the transport.
fn stated_total(list: &List, page: Option<&UpstreamPage>, transport: Option<&TransportPage>) -> Option<u64> {
    let reported = || transport?.total.filter(|total| *total > list.len() as u64);
    page.and_then(|page| page.total).or_else(reported)
}

/// Adds the upstream's next page to the notice of the first and the last page, if the payload or the transport names it.
pub(super) fn note_upstream_page(target: &RenderTarget<'_>, list: &List, rendering: &mut Rendering) {
    let sent = translated_page(target);
    rendering.meta.sent.clone_from(&sent);
    if !is_noted(target, rendering) {
        return;
    }
    let paging = UpstreamPaging::new(target.paging_arguments, list.len() as u64, target.read_call);
    let page = list.upstream_page(&target.subject.text, selects_pages(target.paging_arguments));
    rendering.meta.upstream_total = stated_total(list, page.as_ref(), target.transport_page);
    // A member that leads to the next page can be passed as an argument, which a link cannot.
    let named = target.transport_page.and_then(|page| page.next.as_ref());
    let named = named.filter(|_| page.as_ref().is_none_or(|page| page.next_member.is_none()));
    let next = match (named, page) {
        (Some(next), _) => Some(named_call(next, target.paging_arguments)),
        (None, Some(page)) => paging.next_call(&page),
        (None, None) => paging.call_after_full_page(),
    };
    let Some(next) = next else { return };
    rendering.meta.upstream_next = Some(next);
    // A page by number that is not the last one, and shorter than asked for.
    let received = list.len();
    let asked = requested_count(target.paging_arguments).filter(|asked| *asked > received as u64);
    if let Some((sent, asked)) = sent.zip(asked) {
        let short = format!(
            "{sent}; the tool returned {received} of {asked} items, so page skips some: use the offset"
        );
        rendering.meta.sent = Some(short);
    }
}

/// Adds the upstream's next chunk to the notice of the first and the last chunk of a text, if the transport names it. Unlike
/// [`note_upstream_step`], this is also for a part that was asked for by its path.
pub(super) fn note_upstream_chunk(target: &RenderTarget<'_>, rendering: &mut Rendering) {
    rendering.meta.sent = translated_page(target);
    let next = target.transport_page.and_then(|page| page.next.as_ref());
    if let Some(next) = next.filter(|_| is_noted(target, rendering)) {
        rendering.meta.upstream_next = Some(named_call(next, target.paging_arguments));
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
        && part.rendering.meta.upstream_next.is_none()
    {
        part.rendering.meta.upstream_next = Some(named_call(next, snapshot.paging()));
    }
}

/// Returns the offset that was sent to the upstream in place of the number of a page, for the first reply.
fn translated_page(target: &RenderTarget<'_>) -> Option<String> {
    let mut arguments = target.paging_arguments.iter();
    let sent = arguments.find_map(|argument| match argument.value {
        ArgumentValue::Translated(offset) => Some(format!("{}={offset} in place of page", argument.name)),
        _ => None,
    });
    sent.filter(|_| target.is_first() && !target.is_singled_out && !target.is_answer)
}

fn is_noted(target: &RenderTarget<'_>, rendering: &Rendering) -> bool {
    let is_end = target.is_first() || rendering.next.is_none();
    target.upstream_list.is_none() && !target.is_singled_out && !target.is_answer && is_end
}

/// Extends a page of a list that is fetched page by page to the whole list: its total, and a next page after the
/// fetched items. `end`: index of the item after the page. Returns true if the upstream has more items.
pub(super) fn note_fetched_list(target: &RenderTarget<'_>, end: usize, rendering: &mut Rendering) -> bool {
    let Some(list) = target.upstream_list.filter(|list| rendering.total_count == Some(list.fetched)) else {
        return false;
    };
    if list.skipped > 0 {
        rendering.total_count = list.total_count();
        rendering.meta.offset = Some(rendering.meta.offset.unwrap_or_default() + list.skipped);
    }
    if list.is_partial {
        rendering.total_count = list.total_count();
        // A reply without items is the end of what could be fetched.
        if rendering.next.is_none() && rendering.meta.served != Some(0) {
            rendering.next = u32::try_from(end).ok().map(PartOffset::Item);
            rendering.meta.has_more = Some(true);
        }
    }
    rendering.meta.upstream_gap = list.describe_gap();
    rendering.meta.has_changed = list.has_changed;
    list.is_partial
}

/// Adds what was not fetched of a list to the notice of a reply that shows the list, or what contains it, in another way than
/// by its items.
pub(super) fn note_gap(walk: &PartWalk<'_>, content: &mut ReplyContent<'_>) {
    let list = walk.snapshot.upstream_list().filter(|_| shows_main_list(walk));
    let part = content.notice_part.as_mut().filter(|part| walk.main_part == Some(part.part_index));
    if let (Some(list), Some(part)) = (list, part) {
        let meta = &mut part.rendering.meta;
        meta.upstream_gap = meta.upstream_gap.take().or_else(|| list.describe_gap());
        meta.has_changed = list.has_changed;
    }
}

/// Returns true if the main list, or what contains it, is selected.
fn shows_main_list(walk: &PartWalk<'_>) -> bool {
    let Target::Value(node) = &walk.request.view.target else { return true };
    let part = walk.main_part.filter(|at| *at == usize::from(node.part)).map(|at| &walk.snapshot.parts()[at]);
    let Some(Structure::List(list)) = part.and_then(Part::indexed_text).map(|text| &text.structure) else {
        return false;
    };
    let inside = list.pointer.strip_prefix(node.pointer.as_str());
    inside.is_some_and(|inside| inside.is_empty() || inside.starts_with('/'))
}
