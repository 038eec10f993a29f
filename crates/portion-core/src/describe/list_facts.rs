//! Facts about all records of a list, which answer questions without reading pages.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use portion_json::projection::is_path_within;
use portion_json::scan::{quote, unescape};
use portion_tokens::TokenCounter;
use serde_json::{Map, Value};

use super::field_collector::collect_fields;
use super::field_description::{FieldDescription, FieldRole, describe_field};
use super::field_stats::FieldStats;
use super::record_layout::KEY_FIELD;
use crate::missing_codes::MissingCodes;
use crate::noise::NoiseFields;
use crate::snapshot::{
    FieldRank, FieldType, Layout, List, ListFacts, ListItem, cell_spans, field_names, visit_fields,
};

impl List {
    /// Returns facts about all items, computed once, with the codes of the first call.
    pub fn facts(&self, text: &str, missing: &MissingCodes) -> &ListFacts {
        self.facts.get_or_init(|| Arc::new(ListFacts::from_list(text, self, missing)))
    }
}

impl ListFacts {
    /// Collects the facts of a list in this text.
    pub fn from_list(text: &str, list: &List, missing: &MissingCodes) -> Self {
        let fields = collect_fields(text, list, missing);
        let identity = identity_field(list, &fields);
        // If one field identifies all records, it is described first, so its name need not be repeated.
        let known = |name: &str| fields.iter().any(|field| field.path == name && field.is_unique(list.len()));
        let identity_known = identity.as_deref().is_some_and(known);
        let label = |record: usize| -> Option<String> {
            let item = list.iter_from(text, record).next()?;
            let (name, value) = match &identity {
                Some(name) => (name.as_str(), value_at_field(text, list, &item, name)?),
                None => ("offset", record.to_string()),
            };
            Some(if identity_known { value } else { format!("{name}={value}") })
        };
        // Several fields have their largest value in the same record.
        let labels = RefCell::new(HashMap::new());
        let holder = |record| labels.borrow_mut().entry(record).or_insert_with(|| label(record)).clone();
        let is_identity = |path: &str| identity.as_deref() == Some(path);
        let descriptions: Vec<FieldDescription> = fields
            .iter()
            .map(|field| describe_field(field, list.len(), text, is_identity(&field.path), &holder))
            .collect();
        let order = field_order(&fields, &descriptions, list.len());
        // Fields that only have a name and a type come last, and so do categories that group the records in the same way as
        // an earlier one, such as the URL beside a login.
        let mut known = HashSet::new();
        let mut is_new = |field: &FieldStats| field.groups().is_none_or(|groups| known.insert(groups));
        let (telling, other): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|i| {
            let FieldDescription { role, is_telling, .. } = descriptions[*i];
            let is_known = match role {
                FieldRole::Category => !is_new(&fields[*i]),
                FieldRole::Constant => fields[*i].depth() > MAX_CONSTANT_DEPTH,
                _ => false,
            };
            is_telling && !is_known
        });
        let telling_count = telling.len();
        let order: Vec<usize> = telling.into_iter().chain(other).collect();
        let types = order.iter().map(|i| fields[*i].field_type()).collect();
        let mut lines: Vec<(String, String)> = fields
            .into_iter()
            .zip(descriptions)
            .map(|(field, described)| (field.path, described.description))
            .collect();
        Self {
            lines: order.into_iter().map(|i| std::mem::take(&mut lines[i])).collect(),
            types,
            telling_count,
        }
    }

    /// Returns the type of each field.
    pub(crate) fn field_types(&self) -> HashMap<String, FieldType> {
        self.lines.iter().map(|(path, _)| path.clone()).zip(self.types.iter().copied()).collect()
    }

    /// Returns the facts that fit the token budget, the most useful first: field → description.
    pub fn describe(&self, counter: &dyn TokenCounter, tokens: usize) -> Map<String, Value> {
        self.describe_selected(counter, tokens, &[], &NoiseFields::default())
    }

    /// Returns the same without noise, with the fields in `first` before all others.
    pub(crate) fn describe_selected(
        &self,
        counter: &dyn TokenCounter,
        tokens: usize,
        first: &[String],
        noise: &NoiseFields,
    ) -> Map<String, Value> {
        let mut order: Vec<usize> =
            (0..self.telling_count).filter(|at| !noise.contains_by_name(&self.lines[*at].0)).collect();
        let wanted = |at: &usize| first.iter().position(|name| is_path_within(&self.lines[*at].0, name));
        order.sort_by_key(|at| wanted(at).unwrap_or(usize::MAX));
        fit_to_budget(&self.lines, counter, tokens, order.into_iter())
    }
}

/// Deepest constants that are described. What is always the same deep in a record is mostly its format.
const MAX_CONSTANT_DEPTH: usize = 1;
/// Longest identity value that is shown, in characters.
const MAX_IDENTITY_CHARS: usize = 80;

/// Returns the field that identifies records: the highest-ranked unique one.
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

/// Returns the value of a field in an item, as displayed.
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

/// Smallest cost of a fact, in tokens.
const MIN_FACT_TOKENS: usize = 6;
/// Tokens of the braces around all facts.
const BRACES_TOKENS: usize = 2;

/// Returns the lines, pairs of name and description, that fit the token budget as members of an object. They
/// are tried in the order of `first` and returned in their own order.
pub(super) fn fit_to_budget(
    lines: &[(String, String)],
    counter: &dyn TokenCounter,
    tokens: usize,
    first: impl Iterator<Item = usize>,
) -> Map<String, Value> {
    let mut remaining = tokens.saturating_sub(BRACES_TOKENS);
    let mut taken = Vec::new();
    for at in first {
        let Some((name, words)) = lines.get(at).filter(|_| remaining >= MIN_FACT_TOKENS) else { break };
        let member = format!("{}:{},", quote(name), quote(words));
        if let Some(cost) = counter.count_within(&member, remaining) {
            remaining -= cost;
            taken.push(at);
        }
    }
    loop {
        let mut shown = taken.clone();
        shown.sort_unstable();
        let facts: Map<String, Value> =
            shown.into_iter().map(|at| (lines[at].0.clone(), lines[at].1.as_str().into())).collect();
        // Members may cost more together than one by one.
        if taken.is_empty() || counter.fits(&serde_json::to_string(&facts).unwrap_or_default(), tokens) {
            return facts;
        }
        taken.pop();
    }
}

/// Quantities and categories that come before timestamps and other fields.
const MAX_LEADING_FIELDS: usize = 8;

/// Returns the indices of fields, the most useful first.
pub(super) fn field_order(
    fields: &[FieldStats],
    descriptions: &[FieldDescription],
    records: usize,
) -> Vec<usize> {
    let weigh = |i: usize| {
        let field = &fields[i];
        let own = match field.rank {
            FieldRank::Status => 100,
            FieldRank::Identity | FieldRank::Name => 85,
            _ => field_names::importance(&field.path),
        };
        // Of two fields, the one with fewer gaps comes first; a few gaps make no difference.
        let filled = (field.present_count() * 10 / records.max(1)).min(9);
        let weight = (1 + own.saturating_sub(10 * field.depth())) * filled;
        (std::cmp::Reverse(weight), i)
    };
    let weights: Vec<_> = (0..fields.len()).map(weigh).collect();
    let of = |role: FieldRole| {
        let mut fitting: Vec<usize> = (0..fields.len()).filter(|i| descriptions[*i].role == role).collect();
        fitting.sort_by_key(|i| weights[*i]);
        fitting
    };
    let (quantities, categories) = (of(FieldRole::Quantity), of(FieldRole::Category));
    let mut order = of(FieldRole::Identity);
    for i in 0..MAX_LEADING_FIELDS {
        order.extend(quantities.get(i).into_iter().chain(categories.get(i)));
    }
    order.extend(of(FieldRole::Timestamp));
    let mut rest: Vec<usize> = quantities.into_iter().chain(categories).chain(of(FieldRole::Other)).collect();
    rest.retain(|i| !order.contains(i));
    rest.sort_by_key(|i| weights[*i]);
    order.extend(rest);
    order.extend(of(FieldRole::Constant));
    order
}
