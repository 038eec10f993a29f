//! Measures what each field of a list costs, on sampled items.

use std::collections::HashMap;

use portion_tokens::TokenCounter;

use crate::snapshot::{Layout, OrderedList, visit_fields};

fn table_columns(rows: OrderedList<'_>) -> Option<&[String]> {
    match &rows.list.layout {
        Layout::Table { columns, .. } => Some(columns),
        _ => None,
    }
}

/// Cost of a field in tokens.
#[derive(Default)]
pub(super) struct FieldCost {
    /// Average cost per item.
    per_item: f64,
    /// Cost per page in addition.
    per_page: f64,
}

impl FieldCost {
    /// Returns the cost in this many items.
    pub(super) fn for_items(&self, items: usize) -> f64 {
        self.per_item * items as f64 + self.per_page
    }
}

/// Returns the cost of each field, by path. `dense`: whether items are written as a table, with each field name once.
pub(super) fn field_costs(
    rows: OrderedList<'_>,
    counter: &dyn TokenCounter,
    dense: bool,
) -> HashMap<String, FieldCost> {
    const COUNTED: usize = 12;
    let samples = &rows.list.profile.samples;
    let step = samples.len().div_ceil(COUNTED).max(1);
    let mut sums: HashMap<String, FieldCostSum> = HashMap::new();
    let mut records = 0;
    for span in samples.iter().step_by(step) {
        records += 1;
        let item = rows.slice(*span);
        match table_columns(rows) {
            Some(columns) => {
                let cells = crate::snapshot::cell_spans(item);
                for (name, cell) in columns.iter().zip(cells) {
                    sums.entry(name.clone()).or_default().add(cell.slice(item), 0, counter);
                }
            }
            None => visit_fields(item, &mut |path, key, value| {
                let written = item.get(key.start as usize..value.end as usize).unwrap_or_default();
                let value = (value.start - key.start) as usize;
                sums.entry(path.to_owned()).or_default().add(written, if dense { value } else { 0 }, counter);
            }),
        }
    }
    sums.into_iter().map(|(path, sum)| (path, sum.average_over(records, dense))).collect()
}

/// Cost of a field over all sampled items.
#[derive(Default)]
struct FieldCostSum {
    occurrence_count: usize,
    /// Tokens with its name.
    named_tokens: usize,
    /// Tokens without its name.
    value_tokens: usize,
    /// First value, if all others are equal to it.
    constant_value: Option<String>,
}

impl FieldCostSum {
    /// Adds a field as written. Its value begins at byte `value`.
    fn add(&mut self, written: &str, value: usize, counter: &dyn TokenCounter) {
        let cost = |text: &str| {
            let mut out = String::new();
            portion_json::scan::minify(text, &mut out);
            out.push(',');
            let cost = counter.count_within(&out, MAX_COUNTED_TOKENS).unwrap_or(MAX_COUNTED_TOKENS);
            (cost, out)
        };
        self.occurrence_count += 1;
        self.named_tokens += cost(written).0;
        if let Some(bare) = written.get(value..).filter(|_| value > 0) {
            let (cost, value) = cost(bare);
            self.value_tokens += cost;
            self.constant_value = match self.constant_value.take() {
                None if self.occurrence_count == 1 => Some(value),
                same => same.filter(|constant| *constant == value),
            };
        }
    }

    fn average_over(&self, records: usize, dense: bool) -> FieldCost {
        let (named, bare) = (self.named_tokens as f64, self.value_tokens as f64);
        let records = f64::max(records as f64, 1.0);
        let times = self.occurrence_count as f64;
        // A field that occurs several times per item is in a nested list, with its name each time.
        if !dense || times > records {
            return FieldCost { per_item: named / records, per_page: 0.0 };
        }
        let name = (named - bare) / times.max(1.0);
        if self.constant_value.is_some() && times >= records {
            return FieldCost { per_item: 0.0, per_page: named / times.max(1.0) };
        }
        FieldCost { per_item: (bare + (records - times)) / records, per_page: name }
    }
}

/// Highest token count of a field. A field of this size is too expensive for any page.
const MAX_COUNTED_TOKENS: usize = 20_000;
