//! Renders a page of a list.

mod costs;
mod field_order;
mod measured;
mod plan;
mod table;
mod write;

pub(super) use costs::Cost;
pub(super) use measured::{LineCosts, Measured};

use portion_json::projection::{FieldSelection, OmittedFields, is_path_within};

use super::budget::RemainingBudget;
use super::list_wrapper::ListWrapper;
use super::portion::Plan;
use super::rendering::{RenderTarget, Rendering, RowFormat};
use super::summary::FittedRecord;
use super::{chunk, summary, upstream_paging};
use crate::cursor::PartOffset;
use crate::noise::NoiseFields;
use crate::snapshot::{List, OrderedList};
use crate::view::{Pagination, RequestedFields};

/// Records of the page of a sample.
const SAMPLE_ROWS: usize = 2;
/// Part of the reply target that the page of a sample takes, as a divisor.
const SAMPLE_SHARE: usize = 8;

/// Renders the page that begins at the target.
pub(super) fn render(target: &RenderTarget<'_>, list: &List, room: &RemainingBudget<'_>) -> Rendering {
    let rows = rows(target, list);
    let from = match target.start {
        PartOffset::Item(at) => at as usize,
        PartOffset::Byte(byte) => return render_oversized(target, rows, byte as usize, room),
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
            let mut rendering = render_oversized(target, rows, page.first_byte(), room);
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
        let mut rendering = self.finish(written, &format, room);
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

    /// Returns true if records are shown whole and in the order of their scores.
    fn is_ranked(&self) -> bool {
        self.target.view.top_count().is_some()
    }

    /// Returns what a first reply fixes for the rest of its walk: the page size and the kept fields.
    fn pagination(&self, served: usize, format: &RowFormat, more: bool) -> Pagination {
        let open = self.fixed_count.is_none() && self.target.view.limit.is_none();
        let size = match (open, more) {
            (true, true) => served.max(1),
            (true, false) => self.page_size.max(served),
            (false, _) => self.page_size,
        };
        Pagination {
            part_index: self.target.part_index as u16,
            page_size: size as u32,
            is_sample: self.is_sample,
            first_page_count: (self.first_item == 0).then_some(served as u32),
            // The fields of a sample are those of few records.
            kept_fields: format.kept_fields.clone().filter(|_| format.is_condensed && !self.is_sample),
        }
    }

    /// Returns the row format that the request asks for.
    fn requested_format(&self) -> RowFormat {
        // Follow-up pages keep the fields that the first page was condensed to.
        let before = self
            .target
            .pagination
            .and_then(|pagination| pagination.kept_fields.as_ref())
            .filter(|_| self.may_condense());
        let summary = self.summary_selection().filter(|_| before.is_none());
        let is_condensed = before.is_some() || summary.is_some();
        let keep = match &self.target.view.field_selection {
            RequestedFields::Only(fields) => Some(fields.clone()),
            RequestedFields::Auto => before.cloned().or(summary),
            RequestedFields::All => None,
        };
        RowFormat { kept_fields: keep, is_condensed, noise: self.noise.clone(), ..RowFormat::default() }
    }

    /// Returns true if fields may be omitted. Answers and ranked records keep all fields; fewer of them are
    /// served.
    fn may_condense(&self) -> bool {
        self.target.view.field_selection == RequestedFields::Auto
            && !self.is_ranked()
            && !self.target.is_answer
            && !self.is_unabridged
    }

    /// Returns the summary fields that the records have, if they are to have no others.
    fn summary_selection(&self) -> Option<FieldSelection> {
        let options = &self.target.policy.render_options;
        if !options.summary_only || !self.may_condense() {
            return None;
        }
        let paths = || self.rows.list.profile.fields.iter().map(|field| &field.path);
        let named = options.summary_fields.iter();
        let is_found = |name: &&String| paths().any(|path| is_path_within(path, name));
        let (found, others): (Vec<&String>, Vec<&String>) = named.partition(is_found);
        let kept =
            found.iter().flat_map(|name| paths().filter(move |path| is_path_within(path, name)).cloned());
        // Not all records are sampled: others may have these fields.
        let kept: Vec<String> = kept.chain(others.into_iter().cloned()).collect();
        // In a value that a caller selects, one common name, such as the id, is no sign of the records that the rule is about.
        let is_meant =
            found.len() > usize::from(self.target.is_singled_out && options.summary_fields.len() > 1);
        is_meant.then(|| kept.into_iter().collect())
    }

    /// Summarizes the first item if it is too large for a page of its own.
    fn summarize_single(&self, room: &RemainingBudget<'_>) -> Option<Rendering> {
        if self.target.view.field_selection != RequestedFields::Auto {
            return None;
        }
        let item = self.rows.iter_from(self.first_item).next()?;
        let mut lean = String::new();
        let value = self.rows.slice(item.value);
        let value = if self.noise.is_empty() {
            value
        } else {
            self.noise.write_without(value, &mut lean);
            &lean
        };
        let wrapper = self.wrapper(&RowFormat::default(), Some(1), &room.with_max_tokens(room.tokens / 2))?;
        let mut left = *room;
        if !left.spend(&wrapper.before) || !left.spend(&wrapper.after) {
            return None;
        }
        let pointer = format!("{}{}", self.target.pointer, self.rows.pointer_to(&item));
        // An answer keeps all fields, with shorter strings.
        let whole =
            if self.target.is_answer { summary::shorten_strings(value, &pointer, &left) } else { None };
        let options = &self.target.policy.render_options;
        let record = whole.or_else(|| summary::fit_record(value, &pointer, left.tokens, &left, options));
        let FittedRecord { body, omitted_fields: left_out, elided_count: elided } = record?;
        let key = item.key.map_or_else(String::new, |key| format!("{}:", self.rows.slice(key)));
        let items = format!("{key}{body}");
        if !left.fits(&items) {
            return None;
        }
        let format = RowFormat {
            is_condensed: !left_out.is_empty() || !self.target.is_answer,
            ..RowFormat::default()
        };
        let filled = WrittenItems {
            wrapper,
            items,
            served_count: 1,
            plan: None,
            omitted_fields: left_out,
            elided_count: elided,
        };
        Some(self.finish(filled, &format, room))
    }

    /// Returns the offset of the first item in the text.
    fn first_byte(&self) -> usize {
        self.rows.iter_from(self.first_item).next().map_or(0, |item| item.value.start as usize)
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
    // The last rows of an answer are worth no further call.
    let is_short =
        target.is_answer && target.view.limit.is_none() && fixed.is_none() && there <= size + size / 4;
    let size = if is_short { size.max(there) } else { size };
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

/// A page to be rendered.
struct PageBuilder<'a> {
    pub target: &'a RenderTarget<'a>,
    pub rows: OrderedList<'a>,
    pub first_item: usize,
    pub wanted_count: usize,
    /// Items on every page.
    pub page_size: usize,
    /// True if the page must hold all wanted items.
    pub must_hold_all: bool,
    /// Number of items that it should hold, if that is fixed.
    pub fixed_count: Option<usize>,
    /// True if it is a sample of the list.
    pub is_sample: bool,
    /// Fields stripped from every record.
    pub noise: NoiseFields,
    /// True if records are shown with all of their fields, and the structure around the list as well.
    pub is_unabridged: bool,
}

/// Items in one row format.
struct WrittenItems {
    pub wrapper: ListWrapper,
    pub items: String,
    pub served_count: usize,
    /// The plan, and the planned cost of the items and their wrapper.
    pub plan: Option<(Plan, Cost)>,
    pub omitted_fields: OmittedFields,
    pub elided_count: usize,
}

impl WrittenItems {
    /// Returns a page without items yet.
    fn empty(wrapper: ListWrapper) -> Self {
        let omitted_fields = OmittedFields::new();
        Self { wrapper, items: String::new(), served_count: 0, plan: None, omitted_fields, elided_count: 0 }
    }
}

/// Renders an item that fits no page as raw chunks. After its last chunk the list continues.
fn render_oversized(
    target: &RenderTarget<'_>,
    rows: OrderedList<'_>,
    byte: usize,
    room: &RemainingBudget<'_>,
) -> Rendering {
    let Some(item) = rows.item_at(byte) else {
        return chunk::render_bytes(rows.text, target.subject.span(), byte, room);
    };
    let mut rendering = chunk::render_bytes(rows.text, item.value, byte.max(item.value.start as usize), room);
    if rendering.next.is_none() {
        let next = rows.position_of(&item) + 1;
        rendering.next = (next < rows.list.len()).then_some(PartOffset::Item(next as u32));
    }
    rendering.total_count = Some(rows.list.len());
    upstream_paging::note_fetched_list(target, rows.list.len(), &mut rendering);
    rendering.meta.path = Some(format!("{}{}", target.pointer, rows.pointer_to(&item)));
    rendering.meta.offset = Some(rows.position_of(&item));
    rendering
}
