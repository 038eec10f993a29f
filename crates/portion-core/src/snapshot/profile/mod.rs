//! What the items of a list look like: their fields, and which of them tell most.

mod leaves;
mod rank;
pub(crate) mod salience;
mod sight;
mod vocabulary;
mod words;

pub use leaves::leaves;
use sight::Seen;

use super::list::{Layout, List, cells};
use crate::span::Span;

/// The fields of a list's items, learnt from a sample.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The fields, the most telling first; of a table its columns.
    pub fields: Vec<Field>,
    /// The items looked at.
    pub samples: Vec<Span>,
    /// The fields that hold nothing but `null` in those, dotted paths.
    pub nulls: Vec<String>,
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its dotted path: `price.total`.
    pub path: String,
    /// How much it tells.
    pub rank: Rank,
}

/// How much a field tells, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// What the record is called by programs. Always shown.
    Identity,
    /// What it is called by people. Always shown.
    Name,
    /// The state it is in. Always shown.
    Status,
    /// What is commonly asked for: kinds, dates, amounts, places.
    Salient,
    /// Any other short value.
    Plain,
    /// What something inside is called, or the state it is in.
    Inner,
    /// Any other short value further inside.
    Nested,
    /// Text.
    Long,
    /// A list or an object of its own.
    Container,
    /// Addresses of the API itself, and what is empty everywhere.
    Noise,
}

/// Items looked at, half from the start, half spread over the rest.
const SAMPLES: usize = 24;
/// Bytes of items looked at.
const SAMPLE_BYTES: usize = 256 << 10;

impl Profile {
    /// Looks at a sample of the items.
    pub(super) fn of(text: &str, list: &List) -> Self {
        let step = (list.len() / (SAMPLES / 2)).max(1);
        let spread = (SAMPLES / 2..list.len()).step_by(step).take(SAMPLES / 2);
        let mut samples: Vec<Span> =
            list.iter_from(text, 0).take(SAMPLES / 2).map(|item| item.value).collect();
        samples.extend(spread.filter_map(|i| list.iter_from(text, i).next()).map(|item| item.value));
        let mut bytes = 0;
        samples.retain(|span| {
            bytes += span.len();
            bytes <= SAMPLE_BYTES || bytes == span.len()
        });
        let mut seen = Seen::default();
        for span in &samples {
            let item = span.of(text);
            match &list.layout {
                Layout::Table { columns, .. } => {
                    let cells = cells(item);
                    columns.iter().zip(cells).for_each(|(name, cell)| seen.add(name, cell.of(item)));
                }
                _ => leaves(item, &mut |path, _, value| seen.add(path, value.of(item))),
            }
        }
        let nulls = seen.fields.iter().filter(|sight| sight.nulls == sight.times);
        let nulls = nulls.map(|sight| sight.path.clone()).collect();
        Self { fields: rank::ranked(&seen, samples.len()), samples, nulls }
    }

    /// The profile of a single record.
    pub fn of_record(record: &str) -> Vec<Field> {
        let mut seen = Seen::default();
        leaves(record, &mut |path, _, value| seen.add(path, value.of(record)));
        rank::ranked(&seen, 1)
    }

    /// Heap bytes held.
    pub fn heap_bytes(&self) -> usize {
        let names: usize = self.fields.iter().map(|field| field.path.capacity() + size_of::<Field>()).sum();
        let nulls: usize = self.nulls.iter().map(|path| path.capacity() + size_of::<String>()).sum();
        names + nulls + self.samples.capacity() * size_of::<Span>()
    }
}
