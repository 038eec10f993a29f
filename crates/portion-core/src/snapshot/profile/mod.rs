//! What the items of a list look like: their fields, and which of them tell most.

pub(crate) mod field_names;
mod field_ranking;
mod field_visitor;
mod samples;
mod vocabulary;
mod words;

pub use field_visitor::visit_fields;
use samples::FieldSamples;

use super::list::{Layout, List, cell_spans};
use crate::span::Span;

/// The fields of a list's items, learnt from a sample.
#[derive(Clone, Debug, Default)]
pub struct ListProfile {
    /// The fields, the most telling first; of a table its columns.
    pub fields: Vec<Field>,
    /// The items looked at.
    pub samples: Vec<Span>,
    /// The fields that hold nothing but `null` in those, dotted paths.
    pub null_fields: Vec<String>,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its dotted path: `price.total`.
    pub path: String,
    /// How much it tells.
    pub rank: FieldRank,
}

/// How much a field tells, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldRank {
    /// What the record is called by programs. Always shown.
    Identity,
    /// What it is called by people. Always shown.
    Name,
    /// The state it is in. Always shown.
    Status,
    /// What is commonly asked for: kinds, dates, amounts, places.
    Important,
    /// Any other short value.
    Plain,
    /// What something inside is called, or the state it is in.
    NestedLabel,
    /// Any other short value further inside.
    Nested,
    /// Text.
    LongText,
    /// A list or an object of its own.
    Container,
    /// Addresses of the API itself, and what is empty everywhere.
    Noise,
}

/// Items looked at, half from the start, half spread over the rest.
const MAX_SAMPLES: usize = 24;
/// Bytes of items looked at.
const MAX_SAMPLE_BYTES: usize = 256 << 10;

impl ListProfile {
    /// Looks at a sample of the items.
    pub(super) fn from_list(text: &str, list: &List) -> Self {
        let step = (list.len() / (MAX_SAMPLES / 2)).max(1);
        let spread = (MAX_SAMPLES / 2..list.len()).step_by(step).take(MAX_SAMPLES / 2);
        let mut samples: Vec<Span> =
            list.iter_from(text, 0).take(MAX_SAMPLES / 2).map(|item| item.value).collect();
        samples.extend(spread.filter_map(|i| list.iter_from(text, i).next()).map(|item| item.value));
        let mut bytes = 0;
        samples.retain(|span| {
            bytes += span.len();
            bytes <= MAX_SAMPLE_BYTES || bytes == span.len()
        });
        let mut seen = FieldSamples::default();
        for span in &samples {
            let item = span.slice(text);
            match &list.layout {
                Layout::Table { columns, .. } => {
                    let cells = cell_spans(item);
                    columns.iter().zip(cells).for_each(|(name, cell)| seen.add(name, cell.slice(item)));
                }
                _ => visit_fields(item, &mut |path, _, value| seen.add(path, value.slice(item))),
            }
        }
        let nulls = seen.fields.iter().filter(|sight| sight.null_count == sight.occurrence_count);
        let nulls = nulls.map(|sight| sight.path.clone()).collect();
        Self { fields: field_ranking::rank_fields(&seen, samples.len()), samples, null_fields: nulls }
    }

    /// The profile of a single record.
    pub fn record_fields(record: &str) -> Vec<Field> {
        let mut seen = FieldSamples::default();
        visit_fields(record, &mut |path, _, value| seen.add(path, value.slice(record)));
        field_ranking::rank_fields(&seen, 1)
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        let names: usize = self.fields.iter().map(|field| field.path.capacity() + size_of::<Field>()).sum();
        let nulls: usize = self.null_fields.iter().map(|path| path.capacity() + size_of::<String>()).sum();
        names + nulls + self.samples.capacity() * size_of::<Span>()
    }
}
