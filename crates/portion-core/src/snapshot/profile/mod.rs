//! Profiles the items of a list: their fields, ranked by how informative they are.

pub(crate) mod field_names;
mod field_ranking;
mod field_visitor;
mod samples;
mod vocabulary;
mod words;

use portion_json::span::Span;

use super::list::{Layout, List, cell_spans};
pub use field_visitor::visit_fields;
use samples::FieldSamples;

/// The fields of a list's items, learnt from a sample.
#[derive(Clone, Debug, Default)]
pub struct ListProfile {
    /// Fields, the most informative first; for a table, its columns.
    pub fields: Vec<Field>,
    /// Spans of the sampled items.
    pub samples: Vec<Span>,
    /// Dotted paths of the fields that hold only `null` in the sample.
    pub null_fields: Vec<String>,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Dotted path: `price.total`.
    pub path: String,
    /// Rank of the field.
    pub rank: FieldRank,
}

/// Ranks of fields, the most informative first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldRank {
    /// Identifier for programs. Always shown.
    Identity,
    /// Name for people. Always shown.
    Name,
    /// Status of the record. Always shown.
    Status,
    /// Commonly requested values: kinds, dates, amounts, places.
    Important,
    /// Any other short value.
    Plain,
    /// Name or status of a nested object.
    NestedLabel,
    /// Any other short value of a nested object.
    Nested,
    /// Long text.
    LongText,
    /// A nested list or object.
    Container,
    /// URLs of the API itself, and fields that are always empty.
    Noise,
}

/// Maximum sampled items: half from the start, half spread over the rest.
const MAX_SAMPLES: usize = 24;
/// Maximum bytes of sampled items.
const MAX_SAMPLE_BYTES: usize = 256 << 10;

impl ListProfile {
    /// Profiles a sample of the items.
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
        let mut fields = FieldSamples::default();
        for span in &samples {
            let item = span.slice(text);
            match &list.layout {
                Layout::Table { columns, .. } => {
                    let cells = cell_spans(item);
                    columns.iter().zip(cells).for_each(|(name, cell)| fields.add(name, cell.slice(item)));
                }
                _ => visit_fields(item, &mut |path, _, value| fields.add(path, value.slice(item))),
            }
        }
        let nulls = fields.fields.iter().filter(|field| field.null_count == field.occurrence_count);
        let nulls = nulls.map(|field| field.path.clone()).collect();
        Self { fields: field_ranking::rank_fields(&fields, samples.len()), samples, null_fields: nulls }
    }

    /// Returns the ranked fields of a single record.
    pub fn record_fields(record: &str) -> Vec<Field> {
        let mut fields = FieldSamples::default();
        visit_fields(record, &mut |path, _, value| fields.add(path, value.slice(record)));
        field_ranking::rank_fields(&fields, 1)
    }

    /// Returns the heap size in bytes.
    pub fn heap_bytes(&self) -> usize {
        let names: usize = self.fields.iter().map(|field| field.path.capacity() + size_of::<Field>()).sum();
        let nulls: usize = self.null_fields.iter().map(|path| path.capacity() + size_of::<String>()).sum();
        names + nulls + self.samples.capacity() * size_of::<Span>()
    }
}
