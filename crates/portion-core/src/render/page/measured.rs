//! Keeps what was measured of the lists and texts of a reply, and the costs of lines.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use portion_json::projection::FieldSelection;
use portion_json::span::Span;
use portion_tokens::TokenCounter;

use super::costs::{Cost, RecordCost, RecordCosts};
use super::field_order::FieldOrder;
use crate::elide::ELISION_LIMITS;
use crate::noise::NoiseFields;
use crate::snapshot::{ListItem, OrderedList};

/// The lists and texts of a reply, as far as they are known: each is measured once, however often the reply is rendered.
#[derive(Default)]
pub(in crate::render) struct Measured {
    lists: RefCell<Vec<(ListStart, Rc<MeasuredList>)>>,
    /// Costs of the lines of texts, by their addresses.
    texts: RefCell<Vec<(usize, Arc<LineTotals>)>>,
    /// Tokens that texts have at least, by their addresses and lengths.
    min_counts: RefCell<HashMap<(usize, usize), usize>>,
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
    /// Sums of the costs of the first records, of none, of one, and so on: with no field of a selection, with one, and so on.
    pub sums: RefCell<HashMap<SumKey, Vec<Vec<Cost>>>>,
}

/// Key of sums by what is shown of records: the requested fields, or the ranked ones, and the index of the elision limit.
pub(super) type SumKey = (Option<Option<FieldSelection>>, usize);

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

    /// Counts a text within a limit, unless it is known to have more tokens.
    pub(in crate::render) fn count_within(
        &self,
        text: &str,
        limit: usize,
        counter: &dyn TokenCounter,
    ) -> Option<usize> {
        let mut min_counts = self.min_counts.borrow_mut();
        let min = min_counts.entry((text.as_ptr().addr(), text.len())).or_default();
        let count = (*min <= limit).then(|| counter.count_within(text, limit)).flatten();
        if count.is_none() {
            *min = limit.saturating_add(1).max(*min);
        }
        count
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
        let (order, sums) = (OnceCell::new(), RefCell::default());
        let list = Rc::new(MeasuredList { order, records: RefCell::new(records), sums });
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

/// A counter that knows what each line of a text costs.
///
/// Parts of the text are recognised by their addresses. They cost the sum of their lines, which is at least about their count; only
/// lines that they hold in part are counted. Other texts are counted.
pub(in crate::render) struct LineCosts<'a> {
    text: &'a str,
    counter: &'a dyn TokenCounter,
    lines: Arc<LineTotals>,
}

/// Costs of the lines of a text, added up.
pub(in crate::render) struct LineTotals {
    /// End of each line.
    ends: Vec<usize>,
    /// Cost of the text up to each end, in thousandths of a token.
    totals: Vec<u64>,
}

/// The lines of a part of the text: those that it holds whole are between two offsets.
struct PartLines {
    start: usize,
    end: usize,
    /// Index of the first line that ends after its start.
    first: usize,
    /// Number of lines that end up to its end.
    ended: usize,
}

impl LineTotals {
    /// Counts a text.
    pub(in crate::render) fn new(text: &str, counter: &dyn TokenCounter) -> Self {
        let feeds = memchr::memchr_iter(b'\n', text.as_bytes()).map(|feed| feed + 1);
        let ends: Vec<usize> = feeds.filter(|end| *end < text.len()).chain([text.len()]).collect();
        let mut total = 0;
        let up_to = |cost: u32| {
            total += u64::from(cost);
            total
        };
        let totals = counter.part_costs(text, &ends).into_iter().map(up_to).collect();
        Self { ends, totals }
    }
}

impl<'a> LineCosts<'a> {
    /// Creates a counter of a text. `lines`: the costs of its lines by `counter`.
    pub(in crate::render) fn new(
        text: &'a str,
        counter: &'a dyn TokenCounter,
        lines: Arc<LineTotals>,
    ) -> Self {
        Self { text, counter, lines }
    }

    /// Returns the tokens of the whole text.
    pub(in crate::render) fn total_tokens(&self) -> usize {
        self.lines.totals.last().map_or(0, |total| total.div_ceil(1000) as usize)
    }

    /// Finds a part of the text. Returns `None` for other texts, and for parts of one line.
    fn lines_of(&self, part: &str) -> Option<PartLines> {
        let start = part.as_ptr().addr().checked_sub(self.text.as_ptr().addr())?;
        let end = start.checked_add(part.len()).filter(|end| *end <= self.text.len())?;
        let first = self.lines.ends.partition_point(|line| *line <= start);
        let ended = self.lines.ends.partition_point(|line| *line <= end);
        (ended > first).then_some(PartLines { start, end, first, ended })
    }

    /// Returns the cost up to the start of a line, in thousandths of a token.
    fn total_before(&self, line: usize) -> u64 {
        line.checked_sub(1).and_then(|line| self.lines.totals.get(line)).copied().unwrap_or_default()
    }

    fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|line| self.lines.ends.get(line)).copied().unwrap_or_default()
    }

    /// Returns the first line that begins in a part, and the cost of what is before it, if that is within a limit.
    fn first_whole_line(&self, part: &PartLines, limit: usize) -> Option<(usize, u64)> {
        if self.line_start(part.first) == part.start {
            return Some((part.first, 0));
        }
        let before = self.counter.count_within(&self.text[part.start..self.lines.ends[part.first]], limit)?;
        Some((part.first + 1, before as u64 * 1000))
    }
}

impl TokenCounter for LineCosts<'_> {
    fn name(&self) -> &'static str {
        self.counter.name()
    }

    fn count(&self, text: &str) -> usize {
        self.count_within(text, usize::MAX).unwrap_or(usize::MAX)
    }

    fn count_within(&self, text: &str, limit: usize) -> Option<usize> {
        let Some(part) = self.lines_of(text) else { return self.counter.count_within(text, limit) };
        let (first, before) = self.first_whole_line(&part, limit)?;
        let whole = before + self.total_before(part.ended) - self.total_before(first);
        let left = limit.checked_sub(whole.div_ceil(1000) as usize)?;
        let rest = self.counter.count_within(&self.text[self.line_start(part.ended)..part.end], left)?;
        Some(whole.div_ceil(1000) as usize + rest)
    }

    fn prefix_within(&self, text: &str, limit: usize) -> usize {
        let Some(part) = self.lines_of(text) else { return self.counter.prefix_within(text, limit) };
        let head = &text[..self.lines.ends[part.first] - part.start];
        if self.line_start(part.first) < part.start {
            let fitting = self.counter.prefix_within(head, limit);
            if fitting < head.len() {
                return fitting;
            }
        }
        let Some((first, before)) = self.first_whole_line(&part, limit) else { return 0 };
        let cost_up_to = |total: u64| before + total - self.total_before(first);
        let allowed = (limit as u64).saturating_mul(1000);
        let line = first
            + self.lines.totals[first..part.ended].partition_point(|total| cost_up_to(*total) <= allowed);
        let left = allowed.saturating_sub(cost_up_to(self.total_before(line))) / 1000;
        let start = self.line_start(line);
        let end = self.lines.ends.get(line).map_or(part.end, |end| part.end.min(*end));
        start - part.start + self.counter.prefix_within(&self.text[start..end], left as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use portion_tokens::{TokenCounter, Tokenizer};

    use super::{LineCosts, LineTotals};

    fn costs_of<'a>(text: &'a str, counter: &'a dyn TokenCounter) -> LineCosts<'a> {
        LineCosts::new(text, counter, Arc::new(LineTotals::new(text, counter)))
    }

    #[test]
    fn parts_cost_about_their_count() {
        let lines: Vec<String> =
            (0..400).map(|at| format!("{at} GET /rooms/{} ä \t {}\n", at * 7, "x".repeat(at % 50))).collect();
        let text = lines.concat();
        for tokenizer in Tokenizer::ALL {
            let counter = tokenizer.counter();
            let costs = costs_of(&text, counter);
            assert!(costs.total_tokens().abs_diff(counter.count(&text)) <= 1, "{tokenizer}");
            for (from, to) in [(0, text.len()), (0, 900), (13, 4_000), (700, 720), (5_000, text.len())] {
                let part = &text[text.floor_char_boundary(from)..text.floor_char_boundary(to)];
                let (cost, count) = (costs.count(part), counter.count(part));
                assert!(cost + 1 >= count && cost <= count + 3, "{tokenizer}: {cost} for {count}");
                assert_eq!(costs.count_within(part, cost), Some(cost), "{tokenizer}");
                assert_eq!(costs.count_within(part, cost - 1), None, "{tokenizer}");
                for limit in [1, 10, 100, 1_000] {
                    let (prefix, longest) =
                        (costs.prefix_within(part, limit), counter.prefix_within(part, limit));
                    assert!(counter.count(&part[..prefix]) <= limit + 1, "{tokenizer}: {limit}");
                    assert!(
                        prefix + 20 >= longest,
                        "{tokenizer}: {prefix} bytes of {longest} for {limit} tokens"
                    );
                }
            }
        }
    }

    #[test]
    fn other_texts_are_counted() {
        let counter = Tokenizer::O200k.counter();
        let text = "one\ntwo\nthree".to_owned();
        let costs = costs_of(&text, counter);
        assert_eq!(costs.count("four five six"), 3);
        assert_eq!(costs.count(""), 0);
        assert_eq!(costs_of("", counter).total_tokens(), 0);
    }
}
