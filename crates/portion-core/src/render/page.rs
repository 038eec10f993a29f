//! Renders a page of a list.

use portion_json::projection::{FieldSelection, OmittedFields, is_path_within};
use portion_json::scan::minify;
use serde_json::{Map, Value};

use super::budget::RemainingBudget;
use super::list_wrapper::{self, ListWrapper};
use super::raw;
use super::rendering::{PageParts, RenderTarget, Rendering, StrippedFields, max_name_chars, name_list};
use super::summary::{self, FittedRecord};
use super::upstream_paging;
use crate::cursor::PartOffset;
use crate::noise::NoiseFields;
use crate::snapshot::{Layout, List, ListItem, OrderedList, cell_spans};
use crate::stage::{RowFormat, STAGES, StageInput, elide};
use crate::view::{Pagination, RequestedFields, list_field_names};

/// Renders the page that begins at the target.
pub(super) fn render(spot: &RenderTarget<'_>, list: &List, room: &RemainingBudget<'_>) -> Rendering {
    let rows = rows(spot, list);
    let from = match spot.start {
        PartOffset::Item(at) => at as usize,
        PartOffset::Byte(byte) => return render_oversized_item(spot, rows, byte as usize, room),
    };
    let is_sample = spot.is_sample() && list.len() > SAMPLE_ROWS;
    let sizes = page_sizes(spot, list, from);
    let PageSizes { page_size: size, available_count: there, .. } = sizes;
    let wanted = if is_sample { SAMPLE_ROWS.min(there) } else { sizes.wanted_count };
    let room = &if is_sample { room.with_max_tokens(spot.policy.reply_target / SAMPLE_SHARE) } else { *room };
    let noise =
        spot.strip_rule().map(|strip| NoiseFields::in_list(strip, rows.text, list)).unwrap_or_default();
    let (must_hold, of) = required_count(spot, size, there);
    let page = PageBuilder {
        target: spot,
        rows,
        first_item: from,
        wanted_count: wanted,
        page_size: size,
        must_hold_all: must_hold,
        fixed_count: of,
        is_sample,
        noise,
    };
    if let Some((filled, how)) = page.try_table(room) {
        return page.finish(filled, &how, room);
    }
    let (mut filled, how) = page.fit_first_page(room);
    if wanted == 0 && !filled.is_complete {
        // For a page past the end, the wrapper is dropped if it does not fit.
        let slim = ListWrapper::path_only(rows);
        let fits = room.fits(&slim.before);
        filled.wrapper = if fits { slim } else { ListWrapper::brackets_only(&list.layout) };
    }
    if filled.served_count == 0 && wanted > 0 {
        return page.summarize_single(room).unwrap_or_else(|| {
            let mut drawn = render_oversized_item(spot, rows, page.first_byte(), room);
            let fixed = page.pagination(1, &RowFormat::default(), list.len() > 1);
            drawn.set_meta("pageSize", fixed.page_size);
            Rendering { required_count: page.fixed_count, pagination: Some(fixed), ..drawn }
        });
    }
    page.finish(filled, &how, room)
}

/// Renders the page of whole records that begins at the target, with everything around the list.
///
/// No field is omitted and no string is shortened: fewer records are served instead. Only other lists around
/// the list are shortened. Returns `None` if not one record fits.
pub(super) fn render_whole_records(
    spot: &RenderTarget<'_>,
    list: &List,
    room: &RemainingBudget<'_>,
) -> Option<Rendering> {
    let PartOffset::Item(from) = spot.start else { return None };
    let (rows, from) = (rows(spot, list), from as usize);
    let PageSizes { page_size: size, wanted_count: wanted, available_count: there } =
        page_sizes(spot, list, from);
    let (must_hold, of) = required_count(spot, size, there);
    let page = PageBuilder {
        target: spot,
        rows,
        first_item: from,
        wanted_count: wanted,
        page_size: size,
        must_hold_all: must_hold,
        fixed_count: of,
        is_sample: false,
        noise: NoiseFields::default(),
    };
    let mut how = RowFormat { is_minified: true, allows_fewer: true, ..RowFormat::default() };
    let filled = page.fill_wrapper(list_wrapper::render_with_all_members(rows, room)?, &how, room);
    if filled.served_count == 0 && wanted > 0 {
        return None;
    }
    if !filled.is_complete {
        how.stages.push("fewer");
    }
    Some(page.finish(filled, &how, room))
}

fn rows<'a>(spot: &'a RenderTarget<'_>, list: &'a List) -> OrderedList<'a> {
    let order = spot.order.map(|order| &order.item_indices);
    OrderedList { text: &spot.subject.text, list, order }
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
fn page_sizes(spot: &RenderTarget<'_>, list: &List, from: usize) -> PageSizes {
    let ranked = spot.view.top_count().map(|first| first as usize);
    let policy = spot.policy;
    let usual = if ranked.is_some() { policy.max_page_size } else { policy.default_page_size };
    // The pagination of a ranked list is only the size of its numbered pages.
    let fixed = spot.fixed_page_size().filter(|_| ranked.is_none());
    let size = spot.view.limit.or(fixed).map_or(usual, |size| size as usize);
    let chosen = ranked.filter(|first| from < *first).map_or(list.len(), |first| first.min(list.len()));
    let there = chosen.saturating_sub(from);
    PageSizes {
        page_size: size,
        wanted_count: spot.wanted_count.map_or(size, |count| count as usize).min(there),
        available_count: there,
    }
}

/// Returns whether a page must hold all of its items, and the number that it should hold if that is fixed.
fn required_count(spot: &RenderTarget<'_>, size: usize, there: usize) -> (bool, Option<usize>) {
    let ranked = spot.view.top_count().is_some();
    let set = spot.view.limit.is_some() || spot.policy.render_options.has_fixed_page_size && !spot.is_answer;
    let must_hold = spot.required_count.is_some() || set && !ranked;
    let fixed = must_hold || spot.fixed_page_size().is_some() && !ranked;
    (must_hold, fixed.then(|| spot.required_count.map_or(size, |of| of as usize).min(there)))
}

/// Records of a sample.
const SAMPLE_ROWS: usize = 3;
/// Part of the reply target that a sample of records takes, as a divisor.
const SAMPLE_SHARE: usize = 6;

/// Parts of the budget, in eighths, that are tried for condensed records of a first page.
const CONDENSED_SHARES: [usize; 2] = [3, 5];

/// Query hint for a list.
const SQL_HINT: &str = "sql: SELECT … FROM items";
/// Query hint for a list of nested records.
const TREE_SQL_HINT: &str = "sql: SELECT … FROM items or leaves(path,key,value,type)";
/// Query hint for JSON lines.
const LINES_SQL_HINT: &str = "sql: SELECT … FROM items or lines(number,text)";

/// A page to be rendered.
pub(super) struct PageBuilder<'a> {
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
}

/// Items in one row format.
pub(super) struct WrittenItems {
    pub wrapper: ListWrapper,
    pub items: String,
    pub served_count: usize,
    pub is_complete: bool,
    pub omitted_fields: OmittedFields,
    pub elided_count: usize,
}

impl WrittenItems {
    /// Returns a page without items yet.
    pub(super) fn empty(shell: ListWrapper) -> Self {
        let (items, left_out) = (String::new(), OmittedFields::new());
        Self {
            wrapper: shell,
            items,
            served_count: 0,
            is_complete: false,
            omitted_fields: left_out,
            elided_count: 0,
        }
    }
}

impl PageBuilder<'_> {
    pub(super) fn requested_format(&self) -> RowFormat {
        // Follow-up pages keep the fields that the first page was condensed to.
        let before =
            self.target.pagination.and_then(|pace| pace.kept_fields.as_ref()).filter(|_| self.may_condense());
        let summary = self.summary_selection().filter(|_| before.is_none());
        let is_condensed = before.is_some() || summary.is_some();
        let keep = match &self.target.view.field_selection {
            RequestedFields::Only(fields) => Some(fields.clone()),
            RequestedFields::Auto => before.cloned().or(summary),
            RequestedFields::All => None,
        };
        let minified = keep.is_some() || self.target.allows_table || self.is_ranked();
        let stages = if is_condensed { vec!["condense"] } else { Vec::new() };
        RowFormat {
            is_minified: minified,
            kept_fields: keep,
            is_condensed,
            noise: self.noise.clone(),
            stages,
            ..RowFormat::default()
        }
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
        (!found.is_empty()).then(|| kept.into_iter().collect())
    }

    /// Returns true if fields may be omitted. Answers and ranked records keep all fields; fewer of them are
    /// served.
    fn may_condense(&self) -> bool {
        self.target.view.field_selection == RequestedFields::Auto
            && !self.is_ranked()
            && !self.target.is_answer
    }

    /// Returns what a first reply fixes for the rest of its walk: the page size and the kept fields.
    fn pagination(&self, served: usize, how: &RowFormat, more: bool) -> Pagination {
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
            kept_fields: how.kept_fields.clone().filter(|_| how.is_condensed),
        }
    }

    /// Returns true if records are shown whole and in the order of their scores.
    pub(super) fn is_ranked(&self) -> bool {
        self.target.view.top_count().is_some()
    }

    /// Applies stages in order until all items fit.
    pub(super) fn fit_with_stages(
        &self,
        mut how: RowFormat,
        room: &RemainingBudget<'_>,
    ) -> (WrittenItems, RowFormat) {
        let mut filled = self.fill(&how, room);
        let shell_cost =
            room.counter.count(&filled.wrapper.before) + room.counter.count(&filled.wrapper.after);
        // Answers and ranked records stay whole; fewer of them are served.
        let whole = self.is_ranked() || self.target.is_answer;
        let case = StageInput {
            rows: self.rows,
            preferred_fields: &self.target.policy.render_options.summary_fields,
            item_count: self.wanted_count,
            token_budget: (room.tokens * 9 / 10).saturating_sub(shell_cost),
            counter: room.counter,
            as_table: how.as_table,
            may_condense: self.may_condense(),
            may_elide: self.target.view.field_selection != RequestedFields::All && !whole,
            must_hold_all: self.must_hold_all,
        };
        for stage in STAGES {
            while !filled.is_complete && stage.tighten(&mut how, &case) {
                if how.stages.last() != Some(&stage.name()) {
                    how.stages.push(stage.name());
                }
                filled = self.fill(&how, room);
            }
        }
        (filled, how)
    }

    /// Fits the items of a page. If fields must be omitted from the records of a first page, they are reduced to a
    /// part of the budget, because a reader of a first page rarely needs every value of every record.
    fn fit_first_page(&self, room: &RemainingBudget<'_>) -> (WrittenItems, RowFormat) {
        let (filled, how) = self.fit_with_stages(self.requested_format(), room);
        let is_open = self.target.view.limit.is_none() && self.fixed_count.is_none() && self.first_item == 0;
        if !(filled.is_complete && how.is_condensed && is_open && self.may_condense()) || self.is_sample {
            return (filled, how);
        }
        let smaller = CONDENSED_SHARES.into_iter().find_map(|share| {
            let room = room.with_max_tokens(room.tokens * share / 8);
            let smaller = self.fit_with_stages(self.requested_format(), &room);
            (smaller.0.is_complete && smaller.0.elided_count <= filled.elided_count).then_some(smaller)
        });
        smaller.unwrap_or((filled, how))
    }

    /// Renders the wrapper of the items.
    pub(super) fn wrapper(&self, how: &RowFormat, room: &RemainingBudget<'_>) -> ListWrapper {
        list_wrapper::render(self.rows, how, self.target.strip_rule(), room)
    }

    /// Writes items until one does not fit.
    fn fill(&self, how: &RowFormat, room: &RemainingBudget<'_>) -> WrittenItems {
        if how.as_table {
            return self.fill_table(how, room);
        }
        self.fill_wrapper(self.wrapper(how, room), how, room)
    }

    /// Writes items into a wrapper until one does not fit.
    fn fill_wrapper(&self, shell: ListWrapper, how: &RowFormat, room: &RemainingBudget<'_>) -> WrittenItems {
        let mut left = *room;
        let mut filled = WrittenItems::empty(shell);
        if !left.spend(&filled.wrapper.before) || !left.spend(&filled.wrapper.after) {
            return filled;
        }
        let columns = list_wrapper::kept_columns(self.rows, how);
        let mut text = String::new();
        for item in self.rows.iter_from(self.first_item).take(self.wanted_count) {
            text.clear();
            if filled.served_count > 0 {
                text.push(if self.rows.list.layout == Layout::Lines { '\n' } else { ',' });
            }
            let hopeless = cannot_fit(&item, how, &left);
            let elided = if hopeless {
                0
            } else {
                self.write_item(&item, how, columns.as_deref(), &mut text, &mut filled.omitted_fields)
            };
            if hopeless || !left.spend(&text) {
                return filled;
            }
            filled.items.push_str(&text);
            filled.served_count += 1;
            filled.elided_count += elided;
        }
        filled.is_complete = true;
        filled
    }

    /// Writes one item and returns the number of strings shortened in it.
    fn write_item(
        &self,
        item: &ListItem,
        how: &RowFormat,
        columns: Option<&[usize]>,
        out: &mut String,
        left_out: &mut OmittedFields,
    ) -> usize {
        if let Some(key) = item.key {
            out.push_str(key.slice(self.rows.text));
            out.push(':');
        }
        self.write_value(item, how, columns, out, left_out)
    }

    /// Writes the value of one item and returns the number of strings shortened in it.
    pub(super) fn write_value(
        &self,
        item: &ListItem,
        how: &RowFormat,
        columns: Option<&[usize]>,
        out: &mut String,
        left_out: &mut OmittedFields,
    ) -> usize {
        let value = item.value.slice(self.rows.text);
        let pointer =
            || format!("{}{}", self.target.pointer, self.rows.list.pointer_to(self.rows.text, item));
        if let Some(columns) = columns.filter(|_| how.kept_fields.is_some() || !how.noise.is_empty()) {
            return write_row(value, columns, how, &pointer(), out);
        }
        let (mut written, mut lean) = (String::new(), String::new());
        let value = if how.noise.is_empty() {
            value
        } else {
            how.noise.write_without(value, &mut lean);
            &lean
        };
        match &how.kept_fields {
            Some(fields) => {
                fields.project_for_display(value, &mut written, left_out);
            }
            None if how.is_minified => minify(value, &mut written),
            None => written.push_str(value),
        }
        match how.elide_above {
            Some(above) if written.len() > above => elide(&written, above, &pointer(), out),
            _ => {
                out.push_str(&written);
                0
            }
        }
    }

    /// Summarizes the first item if it is too large for a page of its own.
    fn summarize_single(&self, room: &RemainingBudget<'_>) -> Option<Rendering> {
        if self.target.view.field_selection != RequestedFields::Auto {
            return None;
        }
        let item = self.rows.iter_from(self.first_item).next()?;
        let mut lean = String::new();
        let value = item.value.slice(self.rows.text);
        let value = if self.noise.is_empty() {
            value
        } else {
            self.noise.write_without(value, &mut lean);
            &lean
        };
        let shell = self.wrapper(&RowFormat::default(), &room.with_max_tokens(room.tokens / 2));
        let mut left = *room;
        if !left.spend(&shell.before) || !left.spend(&shell.after) {
            return None;
        }
        let pointer = format!("{}{}", self.target.pointer, self.rows.list.pointer_to(self.rows.text, &item));
        // An answer keeps all fields, with shorter strings.
        let whole =
            if self.target.is_answer { summary::shorten_strings(value, &pointer, &left) } else { None };
        let options = &self.target.policy.render_options;
        let record = whole.or_else(|| summary::fit_record(value, &pointer, left.tokens, &left, options));
        let FittedRecord { body, omitted_fields: left_out, elided_count: elided } = record?;
        let key = item.key.map_or_else(String::new, |key| format!("{}:", key.slice(self.rows.text)));
        let items = format!("{key}{body}");
        if !left.fits(&items) {
            return None;
        }
        let how = RowFormat {
            is_condensed: !left_out.is_empty() || !self.target.is_answer,
            ..RowFormat::default()
        };
        let filled = WrittenItems {
            wrapper: shell,
            items,
            served_count: 1,
            is_complete: false,
            omitted_fields: left_out,
            elided_count: elided,
        };
        Some(self.finish(filled, &how, room))
    }

    fn query_hint(&self) -> &'static str {
        match self.rows.list.layout {
            _ if self.target.is_answer => SQL_HINT,
            Layout::Lines => LINES_SQL_HINT,
            Layout::Table { .. } => SQL_HINT,
            _ => TREE_SQL_HINT,
        }
    }

    fn first_byte(&self) -> usize {
        self.rows.iter_from(self.first_item).next().map_or(0, |item| item.value.start as usize)
    }

    fn finish(&self, filled: WrittenItems, how: &RowFormat, room: &RemainingBudget<'_>) -> Rendering {
        let WrittenItems {
            wrapper: shell,
            items,
            served_count: served,
            omitted_fields: left_out,
            elided_count: elided,
            ..
        } = filled;
        let total = self.rows.list.len();
        let next = self.first_item.saturating_add(served);
        let mut drawn = Rendering::new("page", format!("{}{items}{}", shell.before, shell.after));
        drawn.is_json = how.as_table || self.rows.list.layout != Layout::Lines;
        drawn.page_parts = self.target.uses_envelope().then(|| PageParts {
            items: match &self.rows.list.layout {
                _ if how.as_table => items,
                // Compact values in JSON Lines contain no line breaks.
                Layout::Lines => format!("[{}]", items.replace('\n', ",")),
                layout => {
                    let ListWrapper { before, after, .. } = ListWrapper::brackets_only(layout);
                    format!("{before}{items}{after}")
                }
            },
            outer_members: shell.outer_members,
        });
        drawn.total_count = Some(total);
        drawn.stages.clone_from(&how.stages);
        drawn.next = (next < total).then_some(PartOffset::Item(next as u32));
        drawn.query_hint = (self.target.is_first() && drawn.next.is_some()).then(|| self.query_hint());
        let is_partial = self.target.upstream_list.is_some_and(|list| list.is_partial);
        let pace = self.pagination(served, how, next < total || is_partial);
        drawn.set_meta("pageSize", pace.page_size);
        drawn.pagination = (self.first_item < total || total == 0).then_some(pace);
        drawn.required_count = self.fixed_count;
        drawn.set_meta("served", served);
        drawn.set_meta("hasMore", next < total);
        drawn.set_meta("offset", self.first_item);
        upstream_paging::note_upstream_page(self.target, self.rows.list, &mut drawn);
        if self.is_ranked() {
            drawn.set_meta("strategy", "ranked");
            drawn.set_meta("truncated", next < total);
            drawn.set_meta("dropped", total.saturating_sub(next));
        }
        // The notice does not repeat an order that the caller asked for.
        if let Some(order) =
            self.target.order.filter(|order| order.top_count.is_none() && !order.is_requested)
        {
            drawn.set_meta("sort", order.label());
        }
        let is_open = upstream_paging::note_fetched_list(self.target, next, &mut drawn);
        let skips_items = self.target.upstream_list.is_some_and(|list| list.skipped > 0);
        if self.first_item >= total && (total > 0 || skips_items) && !is_open {
            drawn.set_meta("pastEnd", true);
        }
        if how.as_table {
            drawn.set_meta("rows", "dense");
        }
        if elided > 0 {
            drawn.set_meta("elided", elided);
        }
        if !shell.omitted_members.is_empty() {
            let sizes: Map<String, Value> = shell
                .omitted_members
                .iter()
                .take(12)
                .map(|(path, bytes)| (path.clone(), format!("{bytes} bytes").into()))
                .collect();
            drawn.set_meta("omitted", sizes);
        }
        // A sample has little space of its own, and its columns are all described.
        let characters =
            if self.is_sample { self.target.policy.reply_target / 3 } else { max_name_chars(room) };
        let mut available = list_field_names(self.rows.list);
        available.retain(|path| !self.noise.contains(path));
        if how.is_condensed {
            let out = condensed_names(self.rows, how, left_out);
            let shown =
                if self.target.is_first() && !available.is_empty() { characters / 3 } else { characters };
            drawn.condensed_count = out.len();
            drawn.set_meta("condensed", name_list(out, shown));
        }
        let named = self.target.view.field_selection != RequestedFields::All && !self.is_ranked();
        if self.target.is_first() && !available.is_empty() && named {
            drawn.available_fields = Some((available, characters));
        }
        let NoiseFields { named_paths: named, null_paths: nulls, .. } = self.noise.clone();
        drawn.stripped =
            StrippedFields { named: named.into_iter().chain(shell.stripped_fields).collect(), nulls };
        drawn
    }
}

/// Returns true if an item cannot fit, because minifying cannot shorten it that far. Such an item is not
/// copied.
pub(super) fn cannot_fit(item: &ListItem, how: &RowFormat, left: &RemainingBudget<'_>) -> bool {
    how.kept_fields.is_none()
        && how.noise.is_empty()
        && how.elide_above.is_none()
        && item.value.len() / 4 > left.bytes
}

/// Returns the names of fields that condensing omitted.
fn condensed_names(rows: OrderedList<'_>, how: &RowFormat, left_out: OmittedFields) -> Vec<String> {
    match (&rows.list.layout, &how.kept_fields) {
        (Layout::Table { columns, .. }, Some(keep)) => {
            columns.iter().filter(|name| !keep.selects(name) && !how.noise.contains(name)).cloned().collect()
        }
        _ => left_out.into_iter().collect(),
    }
}

/// Writes some cells of a row and returns the number of strings shortened in them.
fn write_row(row: &str, columns: &[usize], how: &RowFormat, pointer: &str, out: &mut String) -> usize {
    let all = cell_spans(row);
    let mut elided = 0;
    out.push('[');
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let Some(cell) = all.get(*column) else { continue };
        let mut written = String::new();
        minify(cell.slice(row), &mut written);
        match how.elide_above {
            Some(above) => elided += elide(&written, above, &format!("{pointer}/{column}"), out),
            None => out.push_str(&written),
        }
    }
    out.push(']');
    elided
}

/// Renders an item that fits no page as raw chunks. After its last chunk the list continues.
fn render_oversized_item(
    spot: &RenderTarget<'_>,
    rows: OrderedList<'_>,
    byte: usize,
    room: &RemainingBudget<'_>,
) -> Rendering {
    let Some(item) = rows.list.item_at(rows.text, byte) else {
        return raw::render(rows.text, spot.subject.span(), byte, room);
    };
    let mut drawn = raw::render(rows.text, item.value, byte.max(item.value.start as usize), room);
    if drawn.next.is_none() {
        let next = rows.position_of(&item) + 1;
        drawn.next = (next < rows.list.len()).then_some(PartOffset::Item(next as u32));
    }
    drawn.total_count = Some(rows.list.len());
    upstream_paging::note_fetched_list(spot, rows.list.len(), &mut drawn);
    drawn.set_meta("path", format!("{}{}", spot.pointer, rows.list.pointer_to(rows.text, &item)));
    drawn.set_meta("offset", rows.position_of(&item));
    drawn
}
