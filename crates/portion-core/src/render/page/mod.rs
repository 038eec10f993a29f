//! Renders a page of a list.

mod builder;
mod dense;
mod examples;
mod fields;
mod fill;
mod finish;
mod oversized_item;
mod table;

use builder::{PageBuilder, WrittenItems};

use super::budget::RemainingBudget;
use super::list_wrapper::{self, ListWrapper};
use super::rendering::{NoticeExtra, RenderTarget, Rendering};
use crate::cursor::PartOffset;
use crate::noise::NoiseFields;
use crate::snapshot::{List, OrderedList};
use crate::stage::RowFormat;
use crate::stage_name::StageName;

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
        let finish = |filled: WrittenItems, how: &RowFormat| {
            let examples_room = whole_room.with_max_tokens(self.target.policy.reply_target / EXAMPLES_SHARE);
            let examples =
                if self.is_sample { self.examples(filled.served_count, how, &examples_room) } else { None };
            let mut rendering = self.finish(filled, how, room);
            rendering.extras.extend(examples.map(NoticeExtra::Examples));
            rendering
        };
        if let Some((filled, how)) = self.try_table(room) {
            return Some(finish(filled, &how));
        }
        let (mut filled, how) = self.fit_first_page(room);
        if self.wanted_count == 0 && !filled.is_complete {
            // For a page past the end, the wrapper is dropped if it does not fit.
            let slim = ListWrapper::path_only(self.rows);
            let fits = room.fits(&slim.before);
            filled.wrapper = if fits { slim } else { ListWrapper::brackets_only(&self.rows.list.layout) };
        }
        (filled.served_count > 0 || self.wanted_count == 0).then(|| finish(filled, &how))
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
    let mut how = RowFormat { is_minified: true, allows_fewer: true, ..RowFormat::default() };
    let wrap = |served| {
        list_wrapper::render_with_all_members(
            rows,
            page.served_page(&RowFormat::default(), served).as_ref(),
            room,
        )
    };
    wrap(None)?;
    let filled = page.fill_wrapper(&wrap, &how, room);
    if filled.served_count == 0 && page.wanted_count > 0 {
        return None;
    }
    if !filled.is_complete {
        how.stages.push(StageName::Fewer);
    }
    Some(page.finish(filled, &how, room))
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
        statistics: Default::default(),
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
