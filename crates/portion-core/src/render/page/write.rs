//! Writes the items of a page as planned, and reports what it shows.

use portion_json::projection::{OmittedFields, Projector};
use portion_json::scan::minify;

use super::plan::PagePlan;
use super::table::{RecordTable, TableRecord};
use super::{PageBuilder, WrittenItems};
use crate::cursor::PartOffset;
use crate::elide::elide;
use crate::noise::NoiseFields;
use crate::policy::MetadataStyle;
use crate::render::budget::RemainingBudget;
use crate::render::list_wrapper::{ListWrapper, ServedPage};
use crate::render::meta::NameList;
use crate::render::portion::PortionKind;
use crate::render::query_tables::QueryTables;
use crate::render::rendering::{PageParts, Rendering, RowFormat, StrippedFields, max_name_chars};
use crate::render::{list_wrapper, upstream_paging};
use crate::snapshot::{Layout, ListItem, OrderedList, cell_spans};
use crate::view::{RequestedFields, list_field_names};

impl PageBuilder<'_> {
    /// Writes the items. Returns `None` if they cannot be a table, or if their wrapper does not fit.
    pub(super) fn write(
        &self,
        plan: &PagePlan,
        items: &[ListItem],
        room: &RemainingBudget<'_>,
    ) -> Option<WrittenItems> {
        let format = &plan.format;
        let wrapper = self.wrapper(format, None, room)?;
        let columns = list_wrapper::kept_columns(self.rows, format);
        let mut projector = format.kept_fields.as_ref().map(Projector::new);
        let mut written = WrittenItems {
            served_count: plan.item_count,
            plan: Some((plan.described(self.wanted_count, room.tokens), plan.cost)),
            ..WrittenItems::empty(wrapper)
        };
        if self.target.is_draft {
            written.omitted_fields.extend(plan.omitted_fields.iter().cloned());
            return Some(written);
        }
        let mut records = Vec::new();
        for item in items.iter().take(plan.item_count) {
            let key = item.key.map(|key| self.rows.slice(key));
            let mut value = String::new();
            let out = if format.as_table { &mut value } else { &mut written.items };
            if !format.as_table {
                if !out.is_empty() {
                    out.push(if self.rows.list.layout == Layout::Lines { '\n' } else { ',' });
                }
                key.iter().for_each(|key| out.extend([key, ":"]));
            }
            written.elided_count +=
                self.write_value(item, format, columns.as_deref(), out, projector.as_mut());
            if format.as_table {
                records.push(TableRecord { key: key.map(str::to_owned), json: value });
            }
        }
        written.omitted_fields = projector.map(Projector::into_omitted).unwrap_or_default();
        if format.as_table {
            written.items = table_of(&records)?;
            written.wrapper = written.wrapper.without_brackets(&self.rows.list.layout);
        }
        let of_page = || {
            let wrapper = self.wrapper(format, Some(written.served_count), room)?;
            Some(if format.as_table { wrapper.without_brackets(&self.rows.list.layout) } else { wrapper })
        };
        written.wrapper = std::mem::take(&mut written.wrapper).of_page(of_page);
        Some(written)
    }

    /// Renders the wrapper of the items. `served`: their number, if it is known. Returns `None` if it must be whole and does
    /// not fit.
    pub(super) fn wrapper(
        &self,
        format: &RowFormat,
        served: Option<usize>,
        room: &RemainingBudget<'_>,
    ) -> Option<ListWrapper> {
        let page = self.served_page(format, served);
        if self.is_unabridged {
            return list_wrapper::render_with_all_members(self.rows, page.as_ref(), room);
        }
        // A page that may be larger has the same members beside its items.
        let usual = room.with_max_tokens(self.target.policy.token_budget_threshold);
        Some(list_wrapper::render(self.rows, format, self.target.strip_rule(), page.as_ref(), &usual))
    }

    /// Describes the page with this number of items. Before it is known, a next page takes its place in the wrapper.
    pub(super) fn served_page(&self, format: &RowFormat, served: Option<usize>) -> Option<ServedPage<'_>> {
        let len = self.rows.list.len();
        let drafted = || self.wanted_count.min(len.saturating_sub(self.first_item + 1));
        let count = served.unwrap_or_else(drafted);
        let size = self.pagination(count, format, self.first_item + count < len).page_size as usize;
        let page = ServedPage::new(self.target, self.rows.list, self.first_item, (count, size))?;
        Some(if served.is_none() { page.draft() } else { page })
    }

    /// Writes the value of one item and returns the number of strings shortened in it.
    pub(super) fn write_value(
        &self,
        item: &ListItem,
        format: &RowFormat,
        columns: Option<&[usize]>,
        out: &mut String,
        projector: Option<&mut Projector<'_>>,
    ) -> usize {
        let value = self.rows.slice(item.value);
        let pointer = || format!("{}{}", self.target.pointer, self.rows.pointer_to(item));
        if let Some(columns) = columns.filter(|_| format.kept_fields.is_some() || !format.noise.is_empty()) {
            return write_row(value, columns, format, &pointer(), out);
        }
        let (mut written, mut lean) = (String::with_capacity(value.len()), String::new());
        let value = if format.noise.is_empty() {
            value
        } else {
            format.noise.write_without(value, &mut lean);
            &lean
        };
        match projector {
            Some(projector) => projector.project_for_display(value, &mut written),
            None => minify(value, &mut written),
        }
        match format.elide_above {
            Some(above) if written.len() > above => elide(&written, above, &pointer(), out),
            _ => {
                out.push_str(&written);
                0
            }
        }
    }

    /// Returns the rendering of a page with these items.
    pub(super) fn finish(
        &self,
        filled: WrittenItems,
        format: &RowFormat,
        room: &RemainingBudget<'_>,
    ) -> Rendering {
        let total = self.rows.list.len();
        let next = self.first_item.saturating_add(filled.served_count);
        let ListWrapper { before, after, .. } = &filled.wrapper;
        let mut rendering = Rendering::new(PortionKind::Page, format!("{before}{}{after}", filled.items));
        rendering.plan.clone_from(&filled.plan);
        rendering.is_json = format.as_table || self.rows.list.layout != Layout::Lines;
        let is_list = self.rows.list.layout != Layout::Map;
        rendering.page_parts =
            (is_list && self.target.uses_envelope()).then(|| self.page_parts(&filled, format));
        if filled.wrapper.states_page {
            let page = self.served_page(format, Some(filled.served_count));
            rendering.linked_cursors = page.map(|page| page.cursors()).unwrap_or_default();
        }
        rendering.total_count = Some(total);
        rendering.stages.clone_from(&format.stages);
        rendering.next = (next < total).then_some(PartOffset::Item(next as u32));
        self.note_extent(&mut rendering, filled.served_count, format);
        rendering.meta.is_dense = format.as_table;
        rendering.meta.elided_count = filled.elided_count;
        let omitted_members = filled.wrapper.omitted_members.iter().take(MAX_OMITTED_MEMBERS);
        rendering.meta.omitted_members = omitted_members.cloned().collect();
        self.note_fields(&mut rendering, filled, format, room);
        let meta = &rendering.meta;
        let is_part =
            rendering.next.is_some() || meta.condensed.is_some() || !meta.omitted_members.is_empty();
        let is_named = self.target.is_first() && is_part;
        rendering.query_tables =
            is_named.then(|| self.query_tables()).and_then(|tables| tables.within(self.rows.text.len()));
        rendering
    }

    /// Takes the page apart for an envelope.
    fn page_parts(&self, filled: &WrittenItems, format: &RowFormat) -> PageParts {
        let items = &filled.items;
        let items = match &self.rows.list.layout {
            _ if format.as_table => items.clone(),
            // Compact values in JSON Lines contain no line breaks.
            Layout::Lines => format!("[{}]", items.replace('\n', ",")),
            layout => {
                let ListWrapper { before, after, .. } = ListWrapper::brackets_only(layout);
                format!("{before}{items}{after}")
            }
        };
        PageParts { items, outer_members: filled.wrapper.outer_members.clone() }
    }

    /// Returns the page size to report. Page numbers count pages of the size that the walk fixed, also after a sample,
    /// where a page that is read by cursor holds another number of items.
    fn reported_size(&self, page_size: u32) -> u32 {
        let is_numbered = self.target.policy.render_options.metadata_style == MetadataStyle::Snake;
        self.target.view.page_size().filter(|_| is_numbered).unwrap_or(page_size)
    }

    /// Adds the place of the page in the list, and its order.
    fn note_extent(&self, rendering: &mut Rendering, served: usize, format: &RowFormat) {
        let total = self.rows.list.len();
        let next = self.first_item.saturating_add(served);
        let is_partial = self.target.upstream_list.is_some_and(|list| list.is_partial);
        let pagination = self.pagination(served, format, next < total || is_partial);
        rendering.meta.page_size = Some(self.reported_size(pagination.page_size) as usize);
        rendering.pagination = (self.first_item < total || total == 0).then_some(pagination);
        rendering.required_count = self.fixed_count;
        rendering.meta.served = Some(served);
        rendering.meta.has_more = Some(next < total);
        rendering.meta.offset = Some(self.first_item);
        upstream_paging::note_upstream_page(self.target, self.rows.list, rendering);
        rendering.meta.dropped_count = self.is_ranked().then(|| total.saturating_sub(next));
        // The notice does not repeat an order that the caller asked for.
        let order = self.target.order.filter(|order| order.top_count.is_none() && !order.is_requested);
        rendering.meta.sort = order.map(|order| order.label().to_owned());
        let is_open = upstream_paging::note_fetched_list(self.target, next, rendering);
        let skips_items = self.target.upstream_list.is_some_and(|list| list.skipped > 0);
        rendering.meta.is_past_end = self.first_item >= total && (total > 0 || skips_items) && !is_open;
    }

    /// Adds the available, condensed and stripped fields.
    fn note_fields(
        &self,
        rendering: &mut Rendering,
        filled: WrittenItems,
        format: &RowFormat,
        room: &RemainingBudget<'_>,
    ) {
        // A sample has little space of its own, and its columns are all described.
        let characters =
            if self.is_sample { self.target.policy.reply_target / 3 } else { max_name_chars(room) };
        let mut available = list_field_names(self.rows.list);
        available.retain(|path| !self.noise.contains(path));
        let omitted = if format.is_condensed && filled.served_count > 0 {
            condensed_names(self.rows, format, filled.omitted_fields)
        } else {
            Vec::new()
        };
        if !omitted.is_empty() {
            let shown =
                if self.target.is_first() && !available.is_empty() { characters / 3 } else { characters };
            rendering.meta.condensed = Some(NameList::new(omitted, shown));
        }
        let is_named = self.target.view.field_selection != RequestedFields::All && !self.is_ranked();
        if self.target.is_first() && !available.is_empty() && is_named {
            rendering.available_fields = Some((available, characters));
        }
        let NoiseFields { named_paths, null_paths, .. } = self.noise.clone();
        let named = named_paths.into_iter().chain(filled.wrapper.stripped_fields).collect();
        rendering.stripped = StrippedFields { named, nulls: null_paths };
    }

    fn query_tables(&self) -> QueryTables {
        if self.target.is_answer {
            QueryTables::of_answer()
        } else {
            QueryTables::of_list(self.rows.text, self.rows.list)
        }
    }
}

/// Writes records as a table, those inside them as well where that is shorter.
fn table_of(records: &[TableRecord]) -> Option<String> {
    let nested = RecordTable::from_records(records, true)?;
    // A column for a field of a nested object is expensive if few records have it.
    let flat = if nested.has_gaps() { RecordTable::from_records(records, false) } else { None };
    let (nested, flat) = (nested.write(records.len()), flat.map(|flat| flat.write(records.len())));
    Some(flat.filter(|flat| flat.len() < nested.len()).unwrap_or(nested))
}

/// Writes some cells of a row and returns the number of strings shortened in them.
fn write_row(row: &str, columns: &[usize], format: &RowFormat, pointer: &str, out: &mut String) -> usize {
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
        match format.elide_above {
            Some(above) => elided += elide(&written, above, &format!("{pointer}/{column}"), out),
            None => out.push_str(&written),
        }
    }
    out.push(']');
    elided
}

/// Largest number of omitted members that a notice names.
const MAX_OMITTED_MEMBERS: usize = 12;

/// Returns the names of fields that condensing omitted.
fn condensed_names(rows: OrderedList<'_>, format: &RowFormat, left_out: OmittedFields) -> Vec<String> {
    match (&rows.list.layout, &format.kept_fields) {
        (Layout::Table { columns, .. }, Some(keep)) => columns
            .iter()
            .filter(|name| !keep.selects(name) && !format.noise.contains(name))
            .cloned()
            .collect(),
        _ => left_out.into_iter().collect(),
    }
}
