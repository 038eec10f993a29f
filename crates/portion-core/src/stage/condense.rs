//! Projects items to their highest-ranked fields, as many as the page holds for every item.
//!
//! Identities, names and the primary status are always kept, and so are the fields that an operator named,
//! except long lists and objects for which a page has too little budget. Then come dates and amounts, then
//! other fields by rank. A field that is too expensive is skipped; the next ones are still tried.

use std::collections::HashMap;

use portion_json::projection::{FieldSelection, is_path_within};
use portion_tokens::TokenCounter;

use super::field_order::{OrderedFields, order_fields};
use super::{RowFormat, Stage, StageInput};
use crate::noise::NoiseFields;
use crate::snapshot::{Field, FieldRank, Layout, OrderedList, visit_fields};

pub(super) struct Condense;

impl Stage for Condense {
    fn name(&self) -> &'static str {
        "condense"
    }

    fn tighten(&self, how: &mut RowFormat, case: &StageInput<'_>) -> bool {
        if !case.may_condense || case.rows.list.profile.fields.is_empty() {
            return false;
        }
        let before = how.kept_fields.as_ref().filter(|_| how.is_condensed);
        let menu = FieldSelector::new(case, &how.noise);
        // Each further step has a smaller budget, down to the required fields.
        let spend = match before {
            None => case.token_budget,
            Some(kept) if kept.paths().len() > menu.required.len() => {
                menu.total_cost(kept).min(case.token_budget) * 17 / 20
            }
            Some(_) => return false,
        };
        let keep = menu.choose(spend);
        // Each step must be cheaper, so that the steps end.
        if before.is_some_and(|kept| menu.total_cost(&keep) >= menu.total_cost(kept)) {
            return false;
        }
        how.kept_fields = Some(keep);
        how.is_condensed = true;
        true
    }
}

/// Fields to choose from.
struct FieldSelector<'a> {
    input: &'a StageInput<'a>,
    /// Fields that are not noise, the highest-ranked first.
    fields: Vec<&'a Field>,
    /// Cost of each field.
    costs: HashMap<String, FieldCost>,
    /// Fields that are kept whatever the budget.
    required: Vec<&'a str>,
}

/// Cost per item, in tokens, up to which a field that an operator named is always kept. Also the estimated
/// cost of a long string, because it can be shortened.
const ELIDED_STRING_TOKENS: f64 = 80.0;

impl<'a> FieldSelector<'a> {
    fn new(case: &'a StageInput<'a>, noise: &NoiseFields) -> Self {
        let fields =
            case.rows.list.profile.fields.iter().filter(|field| !noise.contains(&field.path)).collect();
        let OrderedFields { fields, redundant: spare } = order_fields(case, fields);
        let mut menu = Self { input: case, fields, costs: field_costs(case), required: Vec::new() };
        let is_core =
            |field: &&&Field| field.rank <= FieldRank::Status && !spare.contains(field.path.as_str());
        let core = menu.fields.iter().filter(is_core);
        let mut always: Vec<&str> = core.map(|field| field.path.as_str()).collect();
        let mut remaining = menu.field_budget(case.token_budget)
            - always.iter().map(|path| menu.field_cost(path)).sum::<f64>();
        for name in case.preferred_fields {
            for field in menu.fields.iter().filter(|field| is_path_within(&field.path, name)) {
                let short = ELIDED_STRING_TOKENS * case.item_count as f64;
                let most = if field.rank == FieldRank::LongText { short } else { f64::MAX };
                let cost = menu.field_cost(&field.path).min(most);
                if (cost <= short || cost <= remaining) && !always.contains(&field.path.as_str()) {
                    remaining -= cost;
                    always.push(&field.path);
                }
            }
        }
        menu.required = always;
        menu
    }

    /// Chooses the fields that fit this many tokens per page.
    fn choose(&self, tokens: usize) -> FieldSelection {
        let mut remaining =
            self.field_budget(tokens) - self.required.iter().map(|path| self.field_cost(path)).sum::<f64>();
        let mut kept: Vec<String> = self.required.iter().map(|path| (*path).to_owned()).collect();
        for field in self.fields.iter().filter(|field| !self.required.contains(&field.path.as_str())) {
            let cost = self.field_cost(&field.path);
            if field.rank != FieldRank::Noise && cost <= remaining {
                remaining -= cost;
                kept.push(field.path.clone());
            }
        }
        // Without any field, records could not be told apart.
        if let Some(first) = self.fields.first().filter(|_| kept.is_empty()) {
            kept.push(first.path.clone());
        }
        kept.into_iter().collect()
    }

    fn total_cost(&self, kept: &FieldSelection) -> usize {
        kept.paths().iter().map(|path| self.field_cost(path)).sum::<f64>() as usize
    }

    /// Returns the tokens left for the fields of all items.
    fn field_budget(&self, tokens: usize) -> f64 {
        let around = if self.input.as_table { 2.0 } else { 3.0 };
        tokens as f64 - around * self.input.item_count as f64
    }

    fn field_cost(&self, path: &str) -> f64 {
        self.costs.get(path).map_or(0.0, |cost| cost.for_items(self.input.item_count))
    }
}

fn table_columns(rows: OrderedList<'_>) -> Option<&[String]> {
    match &rows.list.layout {
        Layout::Table { columns, .. } => Some(columns),
        _ => None,
    }
}

/// Cost of a field in tokens.
#[derive(Default)]
struct FieldCost {
    /// Average cost per item.
    per_item: f64,
    /// Cost per page in addition.
    per_page: f64,
}

impl FieldCost {
    fn for_items(&self, items: usize) -> f64 {
        self.per_item * items as f64 + self.per_page
    }
}

/// Returns the cost of each field, by path, measured on sampled items.
fn field_costs(case: &StageInput<'_>) -> HashMap<String, FieldCost> {
    const COUNTED: usize = 12;
    let StageInput { rows, counter, as_table: dense, .. } = *case;
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
