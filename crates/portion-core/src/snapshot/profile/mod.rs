//! Profiles the items of a list: their fields, ranked by how informative they are.

pub(crate) mod field_names;
mod field_ranking;
mod vocabulary;

use portion_json::scan::{JsonKind, JsonReader, ScanError};
use portion_json::span::Span;

use super::list::{Layout, List, cell_spans};
use field_ranking::FieldSamples;

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

/// Type of the values of a field, over all records. `null` values do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldType {
    /// Numbers.
    Number,
    /// Strings.
    String,
    /// Strings that are dates or times.
    Date,
    /// `true` and `false`.
    Boolean,
    /// Arrays.
    Array,
    /// Objects.
    Object,
    /// Values of several types.
    Mixed,
    /// No value.
    Null,
}

impl FieldType {
    /// Returns the name, as in a notice.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::String => "string",
            Self::Date => "date",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Mixed => "mixed",
            Self::Null => "null",
        }
    }
}

/// Maximum levels of objects that are searched for fields. A property of a Notion page is four levels deep, its text five.
pub(crate) const MAX_FIELD_DEPTH: usize = 5;
/// Maximum visited fields before nested objects count as single fields, so that a map in a record does
/// not add thousands.
const MAX_NESTED_FIELDS: usize = 1_000;

/// Bytes of most paths.
const PATH_BYTES: usize = 64;

/// Calls `visit` with the dotted path, the key and the value of each field of a record. Objects and
/// arrays of objects are searched five levels deep; a field inside an array is visited once for every
/// object there, and what is no object as a value of the array.
pub fn visit_fields(record: &str, visit: &mut dyn FnMut(&str, Span, Span)) {
    let mut reader = JsonReader::new(record);
    if reader.peek() == Ok(JsonKind::Object) {
        let mut walk = FieldVisitor { record, path: String::with_capacity(PATH_BYTES), visited: 0, visit };
        // The record was validated at capture.
        let _ = walk.visit_object(&mut reader, MAX_FIELD_DEPTH);
    }
}

/// A walk over the fields of a record.
struct FieldVisitor<'a> {
    record: &'a str,
    path: String,
    visited: usize,
    visit: &'a mut dyn FnMut(&str, Span, Span),
}

impl FieldVisitor<'_> {
    /// Visits the fields of an object; recursion is bounded by `depth`.
    fn visit_object(&mut self, reader: &mut JsonReader<'_>, depth: usize) -> Result<(), ScanError> {
        reader.enter_object()?;
        while let Some(key) = reader.next_key()? {
            let before = self.path.len();
            if before > 0 {
                self.path.push('.');
            }
            portion_json::scan::unescape_into(reader.text(key), &mut self.path);
            let kind = reader.peek()?;
            let open = depth > 1 && self.visited < MAX_NESTED_FIELDS;
            // An empty object is a value.
            let has_members = || self.record.as_bytes().get(reader.at() + 1) != Some(&b'}');
            match kind {
                JsonKind::Object if open && has_members() => self.visit_object(reader, depth - 1)?,
                JsonKind::Array if open && holds_records(reader) => self.visit_array(reader, depth - 1)?,
                _ => {
                    let value = reader.skip()?;
                    self.visited += 1;
                    (self.visit)(&self.path, key, value);
                }
            }
            self.path.truncate(before);
        }
        Ok(())
    }

    fn visit_array(&mut self, reader: &mut JsonReader<'_>, depth: usize) -> Result<(), ScanError> {
        reader.enter_array()?;
        while reader.next_item()? {
            if reader.peek()? == JsonKind::Object && self.visited < MAX_NESTED_FIELDS {
                self.visit_object(reader, depth)?;
            } else {
                // An item that has no fields is a value of the array.
                let value = reader.skip()?;
                self.visited += 1;
                (self.visit)(&self.path, Span { end: value.start, ..value }, value);
            }
        }
        Ok(())
    }
}

/// Returns true if the array at the reader begins with an object.
fn holds_records(reader: &JsonReader<'_>) -> bool {
    let mut reader = reader.clone();
    reader.enter_array().is_ok() && reader.next_item() == Ok(true) && reader.peek() == Ok(JsonKind::Object)
}
