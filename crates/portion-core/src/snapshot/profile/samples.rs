//! What was seen of each field in a sample of records.

use std::collections::{HashMap, HashSet};

use crate::scan::JsonKind;

/// What was seen, in the order of first sight.
#[derive(Default)]
pub(super) struct FieldSamples {
    pub fields: Vec<FieldSample>,
    index: HashMap<String, usize>,
}

/// What was seen of one field.
pub(super) struct FieldSample {
    pub path: String,
    /// How often it came.
    pub occurrence_count: usize,
    /// How often it held nothing: `null`, `""`, `[]`, `{}`.
    pub empty_count: usize,
    /// How often it held `null`.
    pub null_count: usize,
    /// Its different values, the long ones apart.
    pub distinct_values: HashSet<String>,
    /// Bytes of the longest.
    pub max_bytes: usize,
    /// Some are objects or arrays.
    pub has_containers: bool,
    /// Some are strings.
    pub has_strings: bool,
    /// Some are `true` or `false`.
    pub has_bools: bool,
    /// Some are numbers with a fraction or an exponent.
    pub has_fractions: bool,
    /// All that hold anything are web addresses.
    pub is_url: bool,
}

/// Bytes of a value that is compared with others.
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
        let sight = &mut self.fields[at];
        let kind = JsonKind::of_value(value);
        sight.occurrence_count += 1;
        sight.max_bytes = sight.max_bytes.max(value.len());
        sight.has_containers |= kind.is_container();
        sight.has_strings |= kind == JsonKind::String;
        sight.has_bools |= kind == JsonKind::Bool;
        sight.has_fractions |= kind == JsonKind::Number && value.contains(['.', 'e', 'E']);
        let empty = matches!(value, "null" | "\"\"" | "[]" | "{}");
        sight.empty_count += usize::from(empty);
        sight.null_count += usize::from(kind == JsonKind::Null);
        sight.is_url &= empty || value.starts_with("\"http://") || value.starts_with("\"https://");
        if value.len() <= MAX_COMPARED_BYTES {
            sight.distinct_values.insert(value.to_owned());
        }
    }
}

impl FieldSample {
    /// Whether each of so many records holds another value.
    pub(super) fn is_unique(&self, records: usize) -> bool {
        self.distinct_values.len() == records && self.occurrence_count == records && self.empty_count == 0
    }

    /// Whether a record holds several.
    pub(super) fn is_repeated(&self, records: usize) -> bool {
        self.occurrence_count > records
    }

    /// Whether it is the same in so many records, or next to always empty.
    pub(super) fn is_uninformative(&self, records: usize) -> bool {
        const FEW: usize = 3;
        let gaps = records.saturating_sub(self.occurrence_count) + self.empty_count;
        records >= FEW && (self.distinct_values.len() <= 1 || gaps * 4 > records * 3)
    }

    /// Objects that it is inside of.
    pub(super) fn depth(&self) -> usize {
        self.path.matches('.').count()
    }
}
