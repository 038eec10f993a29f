//! Facts of all records of a list, so that a question about them needs no page.

use serde_json::{Map, Value};

use super::field::Gathered;
use super::fit::fitted;
use super::order;
use super::shape::KEY;
use super::value::{Told, told};
use super::walk::gather;
use crate::noise::Noise;
use crate::projection::is_within;
use crate::scan::decoded;
use crate::snapshot::{Item, Layout, List, Rank, cells, leaves, salience};
use crate::tokens::TokenCounter;

/// What all records of a list have in common and how they differ: exact, and found in one pass.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Fields with what is told of them, the most useful first.
    lines: Vec<(String, String)>,
}

impl Facts {
    /// Reads all records of a list of that text.
    pub fn of(text: &str, list: &List) -> Self {
        let fields = gather(text, list);
        let identity = identity(list, &fields);
        // Where records are told apart by one field, and that is told first, its name need not be repeated.
        let known = |name: &str| fields.iter().any(|field| field.path == name && field.is_unique(list.len()));
        let identity_known = identity.as_deref().is_some_and(known);
        let holder = |record: usize| -> Option<String> {
            let item = list.iter_from(text, record).next()?;
            let (name, value) = match &identity {
                Some(name) => (name.as_str(), value_of(text, list, &item, name)?),
                None => ("offset", record.to_string()),
            };
            Some(if identity_known { value } else { format!("{name}={value}") })
        };
        let is_identity = |path: &str| identity.as_deref() == Some(path);
        let told: Vec<Told> = fields
            .iter()
            .map(|field| told(field, list.len(), text, is_identity(&field.path), &holder))
            .collect();
        let order = order::of(&fields, &told, list.len());
        let mut lines: Vec<(String, String)> =
            fields.into_iter().zip(told).map(|(field, told)| (field.path, told.text)).collect();
        Self { lines: order.into_iter().map(|i| std::mem::take(&mut lines[i])).collect() }
    }

    /// As much of it as fits so many tokens, the most useful first: field → what is told of it.
    pub fn told(&self, counter: &dyn TokenCounter, tokens: usize) -> Map<String, Value> {
        self.told_of(counter, tokens, &[], &Noise::default())
    }

    /// The same, those fields before all others, noise aside.
    pub(crate) fn told_of(
        &self,
        counter: &dyn TokenCounter,
        tokens: usize,
        first: &[String],
        noise: &Noise,
    ) -> Map<String, Value> {
        let mut order: Vec<usize> =
            (0..self.lines.len()).filter(|at| !noise.takes_by_name(&self.lines[*at].0)).collect();
        let wanted = |at: &usize| first.iter().position(|name| is_within(&self.lines[*at].0, name));
        order.sort_by_key(|at| wanted(at).unwrap_or(usize::MAX));
        fitted(&self.lines, counter, tokens, order.into_iter())
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        let lines: usize = self.lines.iter().map(|(path, text)| path.capacity() + text.capacity()).sum();
        lines + self.lines.capacity() * size_of::<(String, String)>()
    }
}

/// Characters of an identity that are told.
const LONGEST: usize = 80;

/// The field by which records are told apart: of those that do, the most telling one.
fn identity(list: &List, fields: &[Gathered]) -> Option<String> {
    let records = list.len();
    let short = |field: &&Gathered| field.longest == 0 && field.numbers.whole() && field.depth() <= 1;
    let unique = |field: &&Gathered| short(field) && field.is_unique(records);
    let by_name = fields
        .iter()
        .filter(unique)
        .find(|field| field.rank <= Rank::Name || salience::Naming::of(&field.path).identifies.is_some());
    let ranked = || list.profile.fields.iter().find(|field| field.rank == Rank::Identity);
    match by_name {
        Some(field) => Some(field.path.clone()),
        None => ranked().map(|field| field.path.clone()),
    }
}

/// What stands under a name in an item, as it is told.
fn value_of(text: &str, list: &List, item: &Item, name: &str) -> Option<String> {
    let value = item.value.of(text);
    let mut found = None;
    match (&list.layout, item.key) {
        (Layout::Table { columns, .. }, _) => {
            let column = columns.iter().position(|column| column == name)?;
            found = cells(value).get(column).map(|cell| cell.of(value));
        }
        (Layout::Map, Some(key)) if name == KEY => found = Some(key.of(text)),
        _ => leaves(value, &mut |path, _, at| {
            if path == name && found.is_none() {
                found = Some(at.of(value));
            }
        }),
    }
    let found = found?;
    let plain = if found.starts_with('"') { decoded(found) } else { found.to_owned() };
    (plain.chars().count() <= LONGEST).then_some(plain)
}
