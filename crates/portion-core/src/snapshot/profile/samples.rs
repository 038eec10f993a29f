//! Collects the values of each field in a sample of records.

use std::collections::{HashMap, HashSet};

use portion_json::scan::JsonKind;

/// Sampled fields, in order of first occurrence.
#[derive(Default)]
pub(super) struct FieldSamples {
    pub fields: Vec<FieldSample>,
    index: HashMap<String, usize>,
}

/// Observations of one field.
pub(super) struct FieldSample {
    pub path: String,
    /// Number of occurrences.
    pub occurrence_count: usize,
    /// Number of empty values: `null`, `""`, `[]`, `{}`.
    pub empty_count: usize,
    /// Number of `null` values.
    pub null_count: usize,
    /// Distinct values, without those above [`MAX_COMPARED_BYTES`].
    pub distinct_values: HashSet<String>,
    /// Bytes of the longest value.
    pub max_bytes: usize,
    /// True if a value is an object or an array.
    pub has_containers: bool,
    /// True if a value is a string.
    pub has_strings: bool,
    /// True if a value is `true` or `false`.
    pub has_bools: bool,
    /// True if a value is a number with a fraction or an exponent.
    pub has_fractions: bool,
    /// True if all non-empty values are web addresses.
    pub is_url: bool,
}

/// Maximum bytes of a value that is compared with others.
const MAX_COMPARED_BYTES: usize = 200;

impl FieldSamples {
    /// Adds a value of a field.
    pub(super) fn add(&mut self, path: &str, value: &str) {
        let at = *self.index.entry(path.to_owned()).or_insert_with(|| {
            self.fields.push(FieldSample {
                path: path.to_owned(),
                occurrence_count: 0,
                empty_count: 0,
                null_count: 0,
                distinct_values: HashSet::new(),
                max_bytes: 0,
                has_containers: false,
                has_strings: false,
                has_bools: false,
                has_fractions: false,
                is_url: true,
            });
            self.fields.len() - 1
        });
        let field = &mut self.fields[at];
        let kind = JsonKind::of_value(value);
        field.occurrence_count += 1;
        field.max_bytes = field.max_bytes.max(value.len());
        field.has_containers |= kind.is_container();
        field.has_strings |= kind == JsonKind::String;
        field.has_bools |= kind == JsonKind::Bool;
        field.has_fractions |= kind == JsonKind::Number && value.contains(['.', 'e', 'E']);
        let empty = matches!(value, "null" | "\"\"" | "[]" | "{}");
        field.empty_count += usize::from(empty);
        field.null_count += usize::from(kind == JsonKind::Null);
        field.is_url &= empty || value.starts_with("\"http://") || value.starts_with("\"https://");
        if value.len() <= MAX_COMPARED_BYTES {
            field.distinct_values.insert(value.to_owned());
        }
    }
}

impl FieldSample {
    /// Returns true if each of `records` records has a different value.
    pub(super) fn is_unique(&self, records: usize) -> bool {
        self.distinct_values.len() == records && self.occurrence_count == records && self.empty_count == 0
    }

    /// Returns true if a record has several values.
    pub(super) fn is_repeated(&self, records: usize) -> bool {
        self.occurrence_count > records
    }

    /// Returns true if the value is the same in all of `records` records, or almost always empty.
    pub(super) fn is_uninformative(&self, records: usize) -> bool {
        const FEW: usize = 3;
        let gaps = records.saturating_sub(self.occurrence_count) + self.empty_count;
        records >= FEW && (self.distinct_values.len() <= 1 || gaps * 4 > records * 3)
    }

    /// Returns the number of enclosing objects.
    pub(super) fn depth(&self) -> usize {
        self.path.matches('.').count()
    }
}
