//! Projects items to their highest-ranked fields, as many as the page holds for every item.
//!
//! Identities, names and the primary status are always kept, and so are the fields that an operator named,
//! except long lists and objects for which a page has too little budget. Then come dates and amounts, then
//! other fields by rank. A field that is too expensive is skipped; the next ones are still tried.

use portion_json::projection::{FieldSelection, is_path_within};

use super::{FieldStatistics, RowFormat, Stage, StageInput};
use crate::snapshot::FieldRank;
use crate::stage_name::StageName;

pub(super) struct Condense;

impl Stage for Condense {
    fn name(&self) -> StageName {
        StageName::Condense
    }

    fn tighten(&self, how: &mut RowFormat, case: &StageInput<'_>) -> bool {
        if !case.may_condense || case.rows.list.profile.fields.is_empty() {
            return false;
        }
        let before = how.kept_fields.as_ref().filter(|_| how.is_condensed);
        let menu = FieldSelector::new(case);
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
    item_count: usize,
    as_table: bool,
    statistics: &'a FieldStatistics<'a>,
    /// Fields that are kept whatever the budget.
    required: Vec<&'a str>,
}

/// Cost per item, in tokens, up to which a field that an operator named is always kept. Also the estimated
/// cost of a long string, because it can be shortened.
const ELIDED_STRING_TOKENS: f64 = 80.0;

impl<'a> FieldSelector<'a> {
    fn new(case: &StageInput<'a>) -> Self {
        let statistics = (case.statistics)();
        let StageInput { item_count, as_table, .. } = *case;
        let mut menu = Self { item_count, as_table, statistics, required: Vec::new() };
        let leading = statistics.leading().filter(|_| case.requires_leading);
        let mut always: Vec<&str> = statistics.core().chain(leading).collect();
        let mut remaining = menu.field_budget(case.token_budget)
            - always.iter().map(|path| menu.field_cost(path)).sum::<f64>();
        for name in case.preferred_fields {
            for field in statistics.fields.iter().filter(|field| is_path_within(&field.path, name)) {
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
        for field in
            self.statistics.fields.iter().filter(|field| !self.required.contains(&field.path.as_str()))
        {
            let cost = self.field_cost(&field.path);
            if field.rank != FieldRank::Noise && cost <= remaining {
                remaining -= cost;
                kept.push(field.path.clone());
            }
        }
        // Without any field, records could not be told apart.
        if let Some(first) = self.statistics.fields.first().filter(|_| kept.is_empty()) {
            kept.push(first.path.clone());
        }
        kept.into_iter().collect()
    }

    fn total_cost(&self, kept: &FieldSelection) -> usize {
        kept.paths().iter().map(|path| self.field_cost(path)).sum::<f64>() as usize
    }

    /// Returns the tokens left for the fields of all items.
    fn field_budget(&self, tokens: usize) -> f64 {
        let around = if self.as_table { 2.0 } else { 3.0 };
        tokens as f64 - around * self.item_count as f64
    }

    fn field_cost(&self, path: &str) -> f64 {
        self.statistics.cost(path, self.item_count)
    }
}
