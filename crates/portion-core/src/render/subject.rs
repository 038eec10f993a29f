//! Renders a list, an object or a text by its structure, or whole.

use portion_json::scan::minified;

use super::budget::RemainingBudget;
use super::list_wrapper::ServedPage;
use super::pass_through::max_whole_tokens;
use super::portion::PortionKind;
use super::rendering::{PageParts, RenderTarget, Rendering, RowFormat, max_name_chars};
use super::{chunk, list_wrapper, page, summary, upstream_paging};
use crate::snapshot::{Layout, List, OrderedList, Slice, Structure};
use crate::view::{Pagination, RequestedFields, list_field_names};

/// Renders a list, object or text by its structure.
pub(super) fn render_subject(target: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Rendering {
    match &target.subject.structure {
        Structure::List(list) => page::render(target, list, room),
        Structure::Object(members) => summary::render(target, members, room),
        Structure::Text(text) => chunk::render(target, text, room),
    }
}

/// Renders a part whole if it is below the thresholds of its kind, or if it is a section that fits.
pub(super) fn render_whole_if_small(
    target: &RenderTarget<'_>,
    room: RemainingBudget<'_>,
) -> Option<Rendering> {
    let view = target.view;
    let asked = view.limit.is_some()
        || matches!(view.field_selection, RequestedFields::Only(_))
        || target.order.is_some();
    if asked || !target.is_first() || target.wanted_count.is_some() {
        return None;
    }
    let threshold =
        if view.is_section { usize::MAX } else { max_whole_tokens(target.subject, target.policy) };
    // A long text cannot fit, and is not read.
    if target.subject.text.len() > room.bytes || !room.with_max_tokens(threshold).fits(&target.subject.text) {
        return None;
    }
    let table = match &target.subject.structure {
        Structure::List(list) if target.allows_table && !target.is_one_object() => {
            Some(page::render(&RenderTarget { allows_sample: false, ..*target }, list, &room))
        }
        _ => None,
    };
    let table = table.filter(|table| table.meta.is_dense && table.next.is_none() && !table.omits_content());
    Some(table.unwrap_or_else(|| Rendering::whole(target, &room)))
}

impl Rendering {
    /// Renders a part as the upstream wrote it.
    pub(super) fn whole(target: &RenderTarget<'_>, room: &RemainingBudget<'_>) -> Self {
        let subject = target.subject;
        let page = match &subject.structure {
            Structure::List(list) => {
                let size = list.len().max(target.policy.default_page_size);
                ServedPage::new(target, list, 0, (list.len(), size))
                    .map(|page| (page, OrderedList { text: &subject.text, list, order: None }))
            }
            _ => None,
        };
        // A list of several pages of the upstream is one page here.
        let text = page.as_ref().map_or_else(
            || subject.text.to_string(),
            |(page, rows)| list_wrapper::rewritten_text(*rows, page),
        );
        let mut rendering = Self::new(PortionKind::Whole, text);
        rendering.linked_cursors = page.as_ref().map(|(page, _)| page.cursors()).unwrap_or_default();
        rendering.is_json = subject.is_json();
        if rendering.is_json && target.policy.render_options.is_compact {
            rendering.body = minified(&rendering.body);
        }
        if let Structure::List(list) = &subject.structure
            && !target.is_one_object()
        {
            rendering.kind = PortionKind::Page;
            rendering.total_count = Some(list.len());
            let size = list.len().max(target.policy.default_page_size);
            rendering.meta.page_size = Some(size);
            rendering.pagination = Some(Pagination::of_size(target.part_index as u16, size as u32));
            rendering.meta.served = Some(list.len());
            rendering.meta.has_more = Some(false);
            rendering.meta.offset = Some(0);
            upstream_paging::note_upstream_page(target, list, &mut rendering);
            upstream_paging::note_fetched_list(target, list.len(), &mut rendering);
            let page = page.as_ref().map(|(page, _)| page);
            // A map is an object.
            rendering.page_parts = (target.uses_envelope() && list.layout != Layout::Map)
                .then(|| PageParts::of_whole_list(&subject.text, list, page, room));
            let available = list_field_names(list);
            if !available.is_empty() && target.view.field_selection != RequestedFields::All {
                rendering.available_fields = Some((available, max_name_chars(room)));
            }
        }
        rendering
    }
}

impl PageParts {
    /// Takes apart a list as the upstream wrote it.
    fn of_whole_list(
        text: &Slice,
        list: &List,
        page: Option<&ServedPage<'_>>,
        room: &RemainingBudget<'_>,
    ) -> Self {
        let rows = OrderedList { text, list, order: None };
        let items = match list.layout {
            Layout::Lines => {
                let items: Vec<&str> = list.iter_from(text, 0).map(|item| item.value.slice(text)).collect();
                format!("[{}]", items.join(","))
            }
            _ => list.span.slice(text).to_owned(),
        };
        let wide = RemainingBudget { tokens: usize::MAX / 8, bytes: usize::MAX / 8, ..*room };
        Self {
            items,
            outer_members: list_wrapper::render(rows, &RowFormat::default(), None, page, &wide).outer_members,
        }
    }
}
