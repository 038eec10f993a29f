//! Writes items until the budget is used up, and applies stages until they all fit.

use portion_json::projection::Projector;
use portion_json::scan::minify;

use super::builder::{PageBuilder, WrittenItems};
use crate::render::budget::RemainingBudget;
use crate::render::list_wrapper::{self, ListWrapper, ServedPage};
use crate::snapshot::{Layout, ListItem, cell_spans};
use crate::stage::{RowFormat, STAGES, StageInput, elide};
use crate::view::RequestedFields;

/// Parts of the budget, in eighths, that are tried for condensed records of a first page.
const CONDENSED_SHARES: [usize; 2] = [3, 5];

impl PageBuilder<'_> {
    /// Fits the items of a page. If fields must be omitted from the records of a first page, they are reduced to a
    /// part of the budget, because a reader of a first page rarely needs every value of every record.
    pub(super) fn fit_first_page(&self, room: &RemainingBudget<'_>) -> (WrittenItems, RowFormat) {
        let requested = self.requested_format();
        let filled = self.fill(&requested, room);
        if filled.is_complete {
            return (filled, requested);
        }
        let (filled, how) = self.tighten(filled, requested.clone(), room, None);
        let is_open = self.target.view.limit.is_none() && self.fixed_count.is_none() && self.first_item == 0;
        if !(filled.is_complete && how.is_condensed && is_open && self.may_condense()) || self.is_sample {
            return (filled, how);
        }
        let smaller = CONDENSED_SHARES.into_iter().find_map(|share| {
            // In the requested format, they are known not to fit.
            let unfilled = WrittenItems::empty(self.wrapper(&requested, None, room));
            let smaller = self.tighten(unfilled, requested.clone(), room, Some(room.tokens * share / 8));
            (smaller.0.is_complete && smaller.0.elided_count <= filled.elided_count).then_some(smaller)
        });
        smaller.unwrap_or_else(|| self.add_leading_fields(filled, how, room))
    }

    /// Adds dates and amounts that were left out because of estimated costs, as far as all items fit with them.
    fn add_leading_fields(
        &self,
        mut filled: WrittenItems,
        mut how: RowFormat,
        room: &RemainingBudget<'_>,
    ) -> (WrittenItems, RowFormat) {
        let statistics = self.statistics(room.counter, how.as_table);
        for field in statistics.leading() {
            let Some(kept) = how.kept_fields.as_ref().filter(|kept| !kept.selects(field)) else { continue };
            let kept_fields = kept.paths().iter().cloned().chain([field.to_owned()]).collect();
            let wider = RowFormat { kept_fields: Some(kept_fields), ..how.clone() };
            let refilled = self.fill(&wider, room);
            if refilled.is_complete && refilled.elided_count <= filled.elided_count {
                (filled, how) = (refilled, wider);
            }
        }
        (filled, how)
    }

    /// Applies stages in order until all items fit.
    pub(super) fn fit_with_stages(
        &self,
        how: RowFormat,
        room: &RemainingBudget<'_>,
    ) -> (WrittenItems, RowFormat) {
        self.tighten(self.fill(&how, room), how, room, None)
    }

    /// Applies stages to a page until all items fit. `filled`: the page before the first stage. `share`: tokens for the fields
    /// that are kept beside what says what a record is about, if that is less than fits.
    fn tighten(
        &self,
        mut filled: WrittenItems,
        mut how: RowFormat,
        room: &RemainingBudget<'_>,
        share: Option<usize>,
    ) -> (WrittenItems, RowFormat) {
        let shell_cost =
            room.counter.count(&filled.wrapper.before) + room.counter.count(&filled.wrapper.after);
        // Answers and ranked records stay whole; fewer of them are served.
        let whole = self.is_ranked() || self.target.is_answer;
        let as_table = how.as_table;
        let statistics = || self.statistics(room.counter, as_table);
        let case = StageInput {
            rows: self.rows,
            preferred_fields: &self.target.policy.render_options.summary_fields,
            item_count: self.wanted_count,
            token_budget: (share.unwrap_or(room.tokens) * 9 / 10).saturating_sub(shell_cost),
            requires_leading: share.is_some(),
            statistics: &statistics,
            as_table,
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

    /// Renders the wrapper of the items. `served`: their number, if it is known.
    pub(super) fn wrapper(
        &self,
        how: &RowFormat,
        served: Option<usize>,
        room: &RemainingBudget<'_>,
    ) -> ListWrapper {
        if !self.has_wrapper {
            return ListWrapper::brackets_only(&self.rows.list.layout);
        }
        let page = self.served_page(how, served);
        list_wrapper::render(self.rows, how, self.target.strip_rule(), page.as_ref(), room)
    }

    /// Describes the page with this number of items. Before it is known, a next page takes its place in the wrapper.
    pub(super) fn served_page(&self, how: &RowFormat, served: Option<usize>) -> Option<ServedPage<'_>> {
        let len = self.rows.list.len();
        let drafted = || self.wanted_count.min(len.saturating_sub(self.first_item + 1));
        let count = served.unwrap_or_else(drafted);
        let size = self.pagination(count, how, self.first_item + count < len).page_size as usize;
        let page = ServedPage::new(self.target, self.rows.list, self.first_item, (count, size))?;
        Some(if served.is_none() { page.draft() } else { page })
    }

    /// Writes items until one does not fit.
    fn fill(&self, how: &RowFormat, room: &RemainingBudget<'_>) -> WrittenItems {
        if how.as_table {
            return self.fill_table(how, room);
        }
        self.fill_wrapper(&|served| Some(self.wrapper(how, served, room)), how, room)
    }

    /// Writes items into a wrapper until one does not fit. `wrap` renders the wrapper of a number of items, if it is known.
    pub(super) fn fill_wrapper(
        &self,
        wrap: &dyn Fn(Option<usize>) -> Option<ListWrapper>,
        how: &RowFormat,
        room: &RemainingBudget<'_>,
    ) -> WrittenItems {
        let mut left = *room;
        let mut filled = WrittenItems::empty(wrap(None).unwrap_or_default());
        if !left.spend(&filled.wrapper.before) || !left.spend(&filled.wrapper.after) {
            return filled;
        }
        let columns = list_wrapper::kept_columns(self.rows, how);
        let mut projector = how.kept_fields.as_ref().map(Projector::new);
        filled.is_complete = true;
        let mut text = String::new();
        for item in self.rows.iter_from(self.first_item).take(self.wanted_count) {
            text.clear();
            if filled.served_count > 0 {
                text.push(if self.rows.list.layout == Layout::Lines { '\n' } else { ',' });
            }
            if let Some(key) = item.key {
                text.push_str(self.rows.slice(key));
                text.push(':');
            }
            let hopeless = cannot_fit(&item, how, &left);
            let elided = if hopeless {
                0
            } else {
                self.write_value(&item, how, columns.as_deref(), &mut text, projector.as_mut())
            };
            filled.is_complete = !hopeless && left.spend(&text);
            if !filled.is_complete {
                break;
            }
            filled.items.push_str(&text);
            filled.served_count += 1;
            filled.elided_count += elided;
        }
        filled.omitted_fields = projector.map(Projector::into_omitted).unwrap_or_default();
        filled.wrapper = filled.wrapper.of_page(|| wrap(Some(filled.served_count)));
        filled
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
}

/// Returns true if an item cannot fit, because minifying cannot shorten it that far. Such an item is not
/// copied.
pub(super) fn cannot_fit(item: &ListItem, how: &RowFormat, left: &RemainingBudget<'_>) -> bool {
    how.kept_fields.is_none()
        && how.noise.is_empty()
        && how.elide_above.is_none()
        && item.value.len() / 4 > left.bytes
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
