//! A page to be rendered, and its items in one row format.

use super::costs::Cost;
use crate::noise::NoiseFields;
use crate::render::list_wrapper::ListWrapper;
use crate::render::portion::Plan;
use crate::render::rendering::RenderTarget;
use crate::render::row_format::RowFormat;
use crate::snapshot::OrderedList;
use crate::view::Pagination;
use portion_json::projection::OmittedFields;

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
    /// True if records are shown with all of their fields, and the structure around the list as well.
    pub is_unabridged: bool,
}

/// Items in one row format.
pub(super) struct WrittenItems {
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
    pub(super) fn empty(wrapper: ListWrapper) -> Self {
        let omitted_fields = OmittedFields::new();
        Self { wrapper, items: String::new(), served_count: 0, plan: None, omitted_fields, elided_count: 0 }
    }
}

impl PageBuilder<'_> {
    /// Returns true if records are shown whole and in the order of their scores.
    pub(super) fn is_ranked(&self) -> bool {
        self.target.view.top_count().is_some()
    }

    /// Returns what a first reply fixes for the rest of its walk: the page size and the kept fields.
    pub(super) fn pagination(&self, served: usize, format: &RowFormat, more: bool) -> Pagination {
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
}
