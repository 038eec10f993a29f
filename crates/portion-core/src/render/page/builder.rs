//! A page to be rendered, and its items in one row format.

use std::cell::OnceCell;

use portion_json::projection::OmittedFields;
use portion_tokens::TokenCounter;

use crate::noise::NoiseFields;
use crate::render::list_wrapper::ListWrapper;
use crate::render::rendering::RenderTarget;
use crate::snapshot::OrderedList;
use crate::stage::{FieldStatistics, RowFormat};
use crate::view::Pagination;

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
    /// True if the structure around the list is shown.
    pub has_wrapper: bool,
    /// Fields stripped from every record.
    pub noise: NoiseFields,
    /// Ranks and costs of the fields, as records and as columns of a table.
    pub statistics: [OnceCell<FieldStatistics<'a>>; 2],
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

impl<'a> PageBuilder<'a> {
    /// Returns the ranks and costs of the fields.
    pub(super) fn statistics(&self, counter: &dyn TokenCounter, as_table: bool) -> &FieldStatistics<'a> {
        let new = || FieldStatistics::new(self.rows, &self.noise, counter, as_table);
        self.statistics[usize::from(as_table)].get_or_init(new)
    }

    /// Returns true if records are shown whole and in the order of their scores.
    pub(super) fn is_ranked(&self) -> bool {
        self.target.view.top_count().is_some()
    }

    /// Returns what a first reply fixes for the rest of its walk: the page size and the kept fields.
    pub(super) fn pagination(&self, served: usize, how: &RowFormat, more: bool) -> Pagination {
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
}
