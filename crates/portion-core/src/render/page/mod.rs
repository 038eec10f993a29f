//! Renders a page of a list.

mod builder;
mod costs;
mod examples;
mod field_order;
mod fields;
mod finish;
mod measured;
mod oversized_item;
mod plan;
mod table;
mod table_costs;
mod write;

use builder::{PageBuilder, WrittenItems};
pub(super) use costs::Cost;
pub(super) use measured::Measured;

use super::budget::RemainingBudget;
use super::list_wrapper::ListWrapper;
use super::rendering::{NoticeExtra, RenderTarget, Rendering};
use super::row_format::RowFormat;
use crate::cursor::PartOffset;
use crate::noise::NoiseFields;
use crate::snapshot::{List, OrderedList};

/// Records of the page of a sample. Further records are shown beside it.
const SAMPLE_ROWS: usize = 2;
/// Parts of the reply target that the page of a sample takes, and the further records, as divisors.
const SAMPLE_SHARE: usize = 8;
const EXAMPLES_SHARE: usize = 12;

/// Renders the page that begins at the target.
pub(super) fn render(target: &RenderTarget<'_>, list: &List, room: &RemainingBudget<'_>) -> Rendering {
    let rows = rows(target, list);
    let from = match target.start {
        PartOffset::Item(at) => at as usize,
        PartOffset::Byte(byte) => return oversized_item::render(target, rows, byte as usize, room),
    };
    let is_sample = target.is_sample() && list.len() > SAMPLE_ROWS;
    let sizes = page_sizes(target, list, from);
    let wanted = if is_sample { SAMPLE_ROWS.min(sizes.available_count) } else { sizes.wanted_count };
    let noise =
        target.strip_rule().map(|strip| NoiseFields::in_list(strip, rows.text, list)).unwrap_or_default();
    let page = PageBuilder { wanted_count: wanted, is_sample, noise, ..new_page(target, rows, from, &sizes) };
    let sample_room = room.with_max_tokens(target.policy.reply_target / SAMPLE_SHARE);
    // A record that does not fit the share of a sample may fit the reply.
    let sample = || page.render(&sample_room, room).or_else(|| page.summarize_single(&sample_room));
    let rendered = if is_sample { sample() } else { None };
    rendered.or_else(|| page.render(room, room)).or_else(|| page.summarize_single(room)).unwrap_or_else(
        || {
            let mut rendering = oversized_item::render(target, rows, page.first_byte(), room);
            let fixed = page.pagination(1, &RowFormat::default(), list.len() > 1);
            rendering.meta.page_size = Some(fixed.page_size as usize);
            Rendering { required_count: page.fixed_count, pagination: Some(fixed), ..rendering }
        },
    )
}

impl PageBuilder<'_> {
    /// Renders the page; `None` if not one item fits. `whole_room`: the room of the reply, of which a sample gets a part.
    fn render(&self, room: &RemainingBudget<'_>, whole_room: &RemainingBudget<'_>) -> Option<Rendering> {
        if self.wanted_count == 0 {
            return Some(self.finish(self.past_the_end(room), &self.requested_format(), room));
        }
        let (written, format) = self.planned(room)?;
        let examples_room = whole_room.with_max_tokens(self.target.policy.reply_target / EXAMPLES_SHARE);
        let examples =
            if self.is_sample { self.examples(written.served_count, &format, &examples_room) } else { None };
        let mut rendering = self.finish(written, &format, room);
        rendering.extras.extend(examples.map(NoticeExtra::Examples));
        if let Some(pagination) = rendering.pagination.as_mut().filter(|_| self.is_sample) {
            pagination.kept_fields = self.fields_after_sample(whole_room);
        }
        Some(rendering)
    }

    /// Returns a page without items. Its wrapper is dropped if it does not fit.
    fn past_the_end(&self, room: &RemainingBudget<'_>) -> WrittenItems {
        let layout = &self.rows.list.layout;
        let wrapper = self.wrapper(&self.requested_format(), Some(0), room);
        let fits = |wrapper: &ListWrapper| room.fits(&format!("{}{}", wrapper.before, wrapper.after));
        let slim = || Some(ListWrapper::path_only(self.rows)).filter(fits);
        let wrapper = wrapper.filter(fits).or_else(slim);
        WrittenItems::empty(wrapper.unwrap_or_else(|| ListWrapper::brackets_only(layout)))
    }
}

/// Renders the page of whole records that begins at the target, with everything around the list.
///
/// No field is omitted and no string is shortened: fewer records are served instead. Only other lists around
/// the list are shortened. Returns `None` if not one record fits.
pub(super) fn render_whole_records(
    target: &RenderTarget<'_>,
    list: &List,
    room: &RemainingBudget<'_>,
) -> Option<Rendering> {
    let PartOffset::Item(from) = target.start else { return None };
    let (rows, from) = (rows(target, list), from as usize);
    let page = new_page(target, rows, from, &page_sizes(target, list, from));
    let page = PageBuilder { is_unabridged: true, ..page };
    if page.wanted_count == 0 {
        let wrapper = page.wrapper(&RowFormat::default(), Some(0), room)?;
        return Some(page.finish(WrittenItems::empty(wrapper), &RowFormat::default(), room));
    }
    let (written, format) = page.planned(room)?;
    Some(page.finish(written, &format, room))
}

fn rows<'a>(target: &'a RenderTarget<'_>, list: &'a List) -> OrderedList<'a> {
    let order = target.order.map(|order| &order.item_indices);
    OrderedList { text: &target.subject.text, list, order }
}

/// Returns a page that begins at an item, with nothing stripped from its records.
fn new_page<'a>(
    target: &'a RenderTarget<'a>,
    rows: OrderedList<'a>,
    from: usize,
    sizes: &PageSizes,
) -> PageBuilder<'a> {
    let &PageSizes { page_size, wanted_count, available_count } = sizes;
    let (must_hold_all, fixed_count) = required_count(target, page_size, available_count);
    PageBuilder {
        target,
        rows,
        first_item: from,
        wanted_count,
        page_size,
        must_hold_all,
        fixed_count,
        is_sample: false,
        has_wrapper: true,
        noise: NoiseFields::default(),
        is_unabridged: false,
    }
}

/// Item counts of a page.
struct PageSizes {
    /// Items on every page.
    page_size: usize,
    /// Items wanted on this page.
    wanted_count: usize,
    /// Items available from the first one of this page.
    available_count: usize,
}

/// Returns the item counts of a page that begins at an item.
fn page_sizes(target: &RenderTarget<'_>, list: &List, from: usize) -> PageSizes {
    let ranked = target.view.top_count().map(|first| first as usize);
    let policy = target.policy;
    let usual = if ranked.is_some() { policy.max_page_size } else { policy.default_page_size };
    // The pagination of a ranked list is only the size of its numbered pages.
    let is_numbered = ranked.is_none() || target.required_count.is_some();
    let fixed = target.fixed_page_size().filter(|_| is_numbered);
    let size = target.view.limit.or(fixed).map_or(usual, |size| size as usize);
    // A page by number has all of its records, whether they were selected to be shown first or not.
    let selected = ranked.filter(|first| from < *first && target.required_count.is_none());
    let chosen = selected.map_or(list.len(), |first| first.min(list.len()));
    let there = chosen.saturating_sub(from);
    PageSizes {
        page_size: size,
        wanted_count: target.wanted_count.map_or(size, |count| count as usize).min(there),
        available_count: there,
    }
}

/// Returns whether a page must hold all of its items, and the number that it should hold if that is fixed.
fn required_count(target: &RenderTarget<'_>, size: usize, there: usize) -> (bool, Option<usize>) {
    let ranked = target.view.top_count().is_some();
    let set =
        target.view.limit.is_some() || target.policy.render_options.has_fixed_page_size && !target.is_answer;
    let must_hold = target.required_count.is_some() || set && !ranked;
    let fixed = must_hold || target.fixed_page_size().is_some() && !ranked;
    (must_hold, fixed.then(|| target.required_count.map_or(size, |of| of as usize).min(there)))
}
