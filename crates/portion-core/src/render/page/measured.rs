//! Keeps what was measured of the lists and texts of a reply.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use portion_json::span::Span;
use portion_tokens::TokenCounter;

use super::costs::{RecordCost, RecordCosts};
use super::field_order::FieldOrder;
use crate::noise::NoiseFields;
use crate::render::elide::ELISION_LIMITS;
use crate::render::line_costs::LineTotals;
use crate::snapshot::{ListItem, OrderedList};

/// The lists and texts of a reply, as far as they are known: each is measured once, however often the reply is rendered.
#[derive(Default)]
pub(in crate::render) struct Measured {
    lists: RefCell<Vec<(ListStart, Rc<MeasuredList>)>>,
    /// Costs of the lines of texts, by their addresses.
    texts: RefCell<Vec<(usize, Arc<LineTotals>)>>,
}

/// A list from one of its items on.
#[derive(PartialEq, Eq)]
pub(super) struct ListStart {
    text_address: usize,
    span: Span,
    first_item: usize,
    order_address: Option<usize>,
    has_noise: bool,
}

/// A list, as far as it was measured.
pub(super) struct MeasuredList {
    pub order: OnceCell<FieldOrder>,
    pub records: RefCell<MeasuredRecords>,
}

/// The records that were measured so far.
pub(super) struct MeasuredRecords {
    pub items: Vec<ListItem>,
    pub costs: RecordCosts,
    /// Their costs with each elision limit.
    pub elided: [Vec<RecordCost>; ELISION_LIMITS.len()],
    /// Place of each field in the order, or the largest number if it is not in it.
    pub places: Vec<usize>,
    /// True if the list ended early: its text is not loaded yet.
    pub lacks_items: bool,
}

impl ListStart {
    pub(super) fn new(rows: OrderedList<'_>, first_item: usize, noise: &NoiseFields) -> Self {
        Self {
            text_address: rows.text.loaded().as_ptr().addr(),
            span: rows.list.span,
            first_item,
            order_address: rows.order.map(|order| order.as_ptr().addr()),
            has_noise: !noise.is_empty(),
        }
    }
}

impl Measured {
    /// Returns the costs of the lines of a text.
    pub(in crate::render) fn lines_of(&self, text: &str, counter: &dyn TokenCounter) -> Arc<LineTotals> {
        let (mut known, address) = (self.texts.borrow_mut(), text.as_ptr().addr());
        if let Some((_, lines)) = known.iter().find(|(own, _)| *own == address) {
            return Arc::clone(lines);
        }
        let lines = Arc::new(LineTotals::new(text, counter));
        known.push((address, Arc::clone(&lines)));
        lines
    }

    /// Returns what is known of a list.
    pub(super) fn list_at(&self, start: ListStart, counter: &dyn TokenCounter) -> Rc<MeasuredList> {
        let mut known = self.lists.borrow_mut();
        if let Some((_, list)) = known.iter().find(|(own, _)| *own == start) {
            return Rc::clone(list);
        }
        let records = MeasuredRecords {
            items: Vec::new(),
            costs: RecordCosts::new(counter),
            elided: Default::default(),
            places: Vec::new(),
            lacks_items: false,
        };
        let list = Rc::new(MeasuredList { order: OnceCell::new(), records: RefCell::new(records) });
        known.push((start, Rc::clone(&list)));
        list
    }
}

impl MeasuredRecords {
    /// Returns the first records, at most `count`. `elision`: index of the elision limit, from 1; 0 for none.
    pub(super) fn records(&self, elision: usize, count: usize) -> &[RecordCost] {
        let all = elision.checked_sub(1).map_or(&self.costs.records, |at| &self.elided[at]);
        all.get(..count).unwrap_or(all)
    }
}
