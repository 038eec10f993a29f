//! Facts of all records of a list, so that a question about them needs no page.

use serde_json::{Map, Value};

use super::budget_fit::fit_to_budget;
use super::field_collector::collect_fields;
use super::field_description::{FieldDescription, describe_field};
use super::field_order;
use super::field_stats::FieldStats;
use super::record_layout::KEY_FIELD;
use crate::noise::NoiseFields;
use crate::projection::is_path_within;
use crate::scan::unescape;
use crate::snapshot::{FieldRank, Layout, List, ListItem, cell_spans, field_names, visit_fields};
use crate::tokens::TokenCounter;

/// What all records of a list have in common and how they differ: exact, and found in one pass.
#[derive(Clone, Debug, Default)]
pub struct ListFacts {
    /// Fields with what is told of them, the most useful first.
    lines: Vec<(String, String)>,
}

impl ListFacts {
    /// Reads all records of a list of that text.
    pub fn from_list(text: &str, list: &List) -> Self {
        let fields = collect_fields(text, list);
        let identity = identity_field(list, &fields);
        // Where records are told apart by one field, and that is told first, its name need not be repeated.
        let known = |name: &str| fields.iter().any(|field| field.path == name && field.is_unique(list.len()));
        let identity_known = identity.as_deref().is_some_and(known);
        let holder = |record: usize| -> Option<String> {
            let item = list.iter_from(text, record).next()?;
            let (name, value) = match &identity {
                Some(name) => (name.as_str(), value_at_field(text, list, &item, name)?),
                None => ("offset", record.to_string()),
            };
            Some(if identity_known { value } else { format!("{name}={value}") })
        };
        let is_identity = |path: &str| identity.as_deref() == Some(path);
        let told: Vec<FieldDescription> = fields
            .iter()
            .map(|field| describe_field(field, list.len(), text, is_identity(&field.path), &holder))
            .collect();
        let order = field_order::field_order(&fields, &told, list.len());
        let mut lines: Vec<(String, String)> =
            fields.into_iter().zip(told).map(|(field, told)| (field.path, told.description)).collect();
        Self { lines: order.into_iter().map(|i| std::mem::take(&mut lines[i])).collect() }
    }

    /// As much of it as fits so many tokens, the most useful first: field → what is told of it.
    pub fn describe(&self, counter: &dyn TokenCounter, tokens: usize) -> Map<String, Value> {
        self.describe_selected(counter, tokens, &[], &NoiseFields::default())
    }

    /// The same, those fields before all others, noise aside.
    pub(crate) fn describe_selected(
        &self,
        counter: &dyn TokenCounter,
        tokens: usize,
        first: &[String],
        noise: &NoiseFields,
    ) -> Map<String, Value> {
        let mut order: Vec<usize> =
            (0..self.lines.len()).filter(|at| !noise.contains_by_name(&self.lines[*at].0)).collect();
        let wanted = |at: &usize| first.iter().position(|name| is_path_within(&self.lines[*at].0, name));
        order.sort_by_key(|at| wanted(at).unwrap_or(usize::MAX));
        fit_to_budget(&self.lines, counter, tokens, order.into_iter())
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        let lines: usize = self.lines.iter().map(|(path, text)| path.capacity() + text.capacity()).sum();
        lines + self.lines.capacity() * size_of::<(String, String)>()
    }
}

/// Characters of an identity that are told.
const MAX_IDENTITY_CHARS: usize = 80;

/// The field by which records are told apart: of those that do, the most telling one.
fn identity_field(list: &List, fields: &[FieldStats]) -> Option<String> {
    let records = list.len();
    let short =
        |field: &&FieldStats| field.max_chars == 0 && field.numbers.all_integers() && field.depth() <= 1;
    let unique = |field: &&FieldStats| short(field) && field.is_unique(records);
    let by_name = fields.iter().filter(unique).find(|field| {
        field.rank <= FieldRank::Name
            || field_names::FieldNameHints::from_path(&field.path).identity_rank.is_some()
    });
    let ranked = || list.profile.fields.iter().find(|field| field.rank == FieldRank::Identity);
    match by_name {
        Some(field) => Some(field.path.clone()),
        None => ranked().map(|field| field.path.clone()),
    }
}

/// What stands under a name in an item, as it is told.
fn value_at_field(text: &str, list: &List, item: &ListItem, name: &str) -> Option<String> {
    let value = item.value.slice(text);
    let mut found = None;
    match (&list.layout, item.key) {
        (Layout::Table { columns, .. }, _) => {
            let column = columns.iter().position(|column| column == name)?;
            found = cell_spans(value).get(column).map(|cell| cell.slice(value));
        }
        (Layout::Map, Some(key)) if name == KEY_FIELD => found = Some(key.slice(text)),
        _ => visit_fields(value, &mut |path, _, at| {
            if path == name && found.is_none() {
                found = Some(at.slice(value));
            }
        }),
    }
    let found = found?;
    let plain = if found.starts_with('"') { unescape(found) } else { found.to_owned() };
    (plain.chars().count() <= MAX_IDENTITY_CHARS).then_some(plain)
}
