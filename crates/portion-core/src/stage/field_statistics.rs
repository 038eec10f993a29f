//! Ranks the fields that a condensed page keeps. Amounts and dates come before other fields; constants and
//! duplicate columns come last.

use std::collections::{HashMap, HashSet};

use portion_json::scan::JsonKind;
use portion_tokens::TokenCounter;

use super::field_costs::{FieldCost, field_costs};
use crate::noise::NoiseFields;
use crate::snapshot::{Field, FieldRank, Layout, OrderedList, cell_spans, field_names, visit_fields};

/// Samples needed to conclude that a field is constant, or a duplicate of another.
const MIN_SAMPLES: usize = 3;
/// Number of dates and amounts that come before other fields.
const MAX_LEADING_DATES: usize = 2;
const MAX_LEADING_AMOUNTS: usize = 1;
/// Importance of a name from which a number counts as an amount.
const MIN_AMOUNT_WEIGHT: usize = 60;
/// Parts of date names. The first list is for dates of events, the second for dates of records.
const EVENT_DATE_STEMS: [&str; 8] = ["arriv", "depart", "check", "start", "end", "begin", "due", "from"];
const AUDIT_DATE_STEMS: [&str; 8] =
    ["creat", "updat", "modif", "insert", "activity", "sync", "deleted", "reservationdate"];

/// The fields of a list, ranked, and what each of them costs.
pub(crate) struct FieldStatistics<'a> {
    /// Fields that are not noise, the highest-ranked first.
    pub(super) fields: Vec<&'a Field>,
    /// Fields that add nothing to the others.
    redundant: HashSet<&'a str>,
    /// The dates and the amount that say what a record is about.
    leading: HashSet<&'a str>,
    costs: HashMap<String, FieldCost>,
}

impl<'a> FieldStatistics<'a> {
    /// Ranks and measures the fields of a list. `as_table`: whether items are written as a table.
    pub(crate) fn new(
        rows: OrderedList<'a>,
        noise: &NoiseFields,
        counter: &dyn TokenCounter,
        as_table: bool,
    ) -> Self {
        let fields = rows.list.profile.fields.iter().filter(|field| !noise.contains(&field.path)).collect();
        Self { costs: field_costs(rows, counter, as_table), ..ranked(rows, fields, as_table) }
    }

    /// Returns the paths of the identities, names and the primary status.
    pub(super) fn core(&self) -> impl Iterator<Item = &'a str> {
        let core = self.fields.iter().filter(|field| field.rank <= FieldRank::Status);
        core.map(|field| field.path.as_str()).filter(|path| !self.redundant.contains(path))
    }

    /// Returns the paths of the dates and the amount that say what a record is about.
    pub(crate) fn leading(&self) -> impl Iterator<Item = &'a str> {
        let others = self.fields.iter().filter(|field| field.rank > FieldRank::Status);
        others.map(|field| field.path.as_str()).filter(|path| self.leading.contains(path))
    }

    /// Returns the cost of a field in this many items, in tokens.
    pub(super) fn cost(&self, path: &str, items: usize) -> f64 {
        self.costs.get(path).map_or(0.0, |cost| cost.for_items(items))
    }
}

/// Values of sampled items, by field.
type FieldValues = HashMap<String, Vec<String>>;

/// Ranks the fields of a list, without their costs.
fn ranked<'a>(rows: OrderedList<'_>, fields: Vec<&'a Field>, as_table: bool) -> FieldStatistics<'a> {
    let (values, records) = sample_values(rows);
    let own = |field: &Field| values.get(&field.path).filter(|own| own.len() == records);
    let mut spare: HashSet<&str> = HashSet::new();
    let mut kept: Vec<(&Field, &Vec<String>)> = Vec::new();
    for field in fields.iter().copied().filter(|_| records >= MIN_SAMPLES) {
        let Some(values) = own(field) else { continue };
        let constant = values.windows(2).all(|pair| pair[0] == pair[1]);
        let repeats = |(other, others): &(&Field, &Vec<String>)| {
            let names = other.rank == FieldRank::Name && field.rank == FieldRank::Name;
            others
                .iter()
                .zip(values)
                .all(|(other, value)| value == other || names && is_name_prefix(value, other))
        };
        let tells = matches!(field.rank, FieldRank::Identity | FieldRank::Status);
        let twice = !constant && kept.iter().any(repeats);
        if !tells && (twice || constant && !as_table) {
            spare.insert(&field.path);
        } else {
            kept.push((field, values));
        }
    }
    let mut dates: Vec<(usize, &Field)> = Vec::new();
    let mut amounts: Vec<&Field> = Vec::new();
    for field in fields.iter().copied().filter(|field| !spare.contains(field.path.as_str())) {
        let Some(values) = values.get(&field.path) else { continue };
        let is_gap = |value: &String| matches!(value.as_str(), "null" | "\"\"");
        let all = |fits: &dyn Fn(&str) -> bool| {
            values.iter().all(|value| is_gap(value) || fits(value)) && !values.iter().all(is_gap)
        };
        if all(&is_date) {
            dates.push((date_order(&field.path), field));
        } else if all(&|value| JsonKind::of_value(value) == JsonKind::Number)
            && field_names::importance(&field.path) >= MIN_AMOUNT_WEIGHT
            && !field_names::is_code(&field.path)
            && !field_names::is_timestamp(&field.path)
        {
            amounts.push(field);
        }
    }
    dates.sort_by_key(|(order, _)| *order);
    // Money before counts.
    amounts.sort_by_key(|field| std::cmp::Reverse(field_names::importance(&field.path)));
    let leading: HashSet<&str> = dates
        .into_iter()
        .map(|(_, field)| field)
        .take(MAX_LEADING_DATES)
        .chain(amounts.into_iter().take(MAX_LEADING_AMOUNTS))
        .map(|field| field.path.as_str())
        .collect();
    let tier = |field: &&Field| match field.path.as_str() {
        path if spare.contains(path) => 3,
        _ if field.rank <= FieldRank::Status => 0,
        path if leading.contains(path) => 1,
        _ => 2,
    };
    let mut fields = fields;
    fields.sort_by_key(tier);
    FieldStatistics { fields, redundant: spare, leading, costs: HashMap::new() }
}

/// Returns the values of the sampled items by field, and the number of items.
fn sample_values(rows: OrderedList<'_>) -> (FieldValues, usize) {
    let samples = &rows.list.profile.samples;
    let (mut all, records) = (FieldValues::new(), samples.len());
    for span in samples {
        let item = rows.slice(*span);
        let mut add =
            |path: &str, value: &str| all.entry(path.to_owned()).or_default().push(value.to_owned());
        match &rows.list.layout {
            Layout::Table { columns, .. } => {
                columns.iter().zip(cell_spans(item)).for_each(|(name, cell)| add(name, cell.slice(item)));
            }
            _ => visit_fields(item, &mut |path, _, value| add(path, value.slice(item))),
        }
    }
    (all, records)
}

/// Returns true if a string begins another one, followed by a space, as a first name begins a full name.
fn is_name_prefix(value: &str, whole: &str) -> bool {
    let inside =
        |json: &str| json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map(str::to_owned);
    let (Some(value), Some(whole)) = (inside(value), inside(whole)) else { return false };
    !value.is_empty() && whole.strip_prefix(value.as_str()).is_some_and(|rest| rest.starts_with(' '))
}

/// Returns true for a string that begins with a date such as `2026-07-04`.
fn is_date(value: &str) -> bool {
    let bytes = value.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    bytes.first() == Some(&b'"')
        && (1..5).all(digit)
        && bytes.get(5) == Some(&b'-')
        && digit(6)
        && digit(7)
        && bytes.get(8) == Some(&b'-')
}

fn date_order(path: &str) -> usize {
    let lower = path.to_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if is(&AUDIT_DATE_STEMS) { 2 } else { usize::from(!is(&EVENT_DATE_STEMS)) }
}
