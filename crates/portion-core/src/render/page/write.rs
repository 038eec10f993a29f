//! Writes the items of a page as planned.

use portion_json::projection::Projector;
use portion_json::scan::minify;

use super::builder::{PageBuilder, WrittenItems};
use super::plan::PagePlan;
use super::table::{RecordTable, TableRecord};
use crate::render::budget::RemainingBudget;
use crate::render::elide::elide;
use crate::render::list_wrapper::{self, ListWrapper, ServedPage};
use crate::render::row_format::RowFormat;
use crate::snapshot::{Layout, ListItem, cell_spans};

impl PageBuilder<'_> {
    /// Writes the items. Returns `None` if they cannot be a table, or if their wrapper does not fit.
    pub(super) fn write(&self, plan: &PagePlan, room: &RemainingBudget<'_>) -> Option<WrittenItems> {
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
        for item in self.rows.iter_from(self.first_item).take(plan.item_count) {
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
                self.write_value(&item, format, columns.as_deref(), out, projector.as_mut());
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
        if !self.has_wrapper {
            return Some(ListWrapper::brackets_only(&self.rows.list.layout));
        }
        let page = self.served_page(format, served);
        if self.is_unabridged {
            return list_wrapper::render_with_all_members(self.rows, page.as_ref(), room);
        }
        Some(list_wrapper::render(self.rows, format, self.target.strip_rule(), page.as_ref(), room))
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
        how: &RowFormat,
        columns: Option<&[usize]>,
        out: &mut String,
        projector: Option<&mut Projector<'_>>,
    ) -> usize {
        let value = self.rows.slice(item.value);
        let pointer = || format!("{}{}", self.target.pointer, self.rows.pointer_to(item));
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
        match projector {
            Some(projector) => projector.project_for_display(value, &mut written),
            None => minify(value, &mut written),
        }
        match how.elide_above {
            Some(above) if written.len() > above => elide(&written, above, &pointer(), out),
            _ => {
                out.push_str(&written);
                0
            }
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
