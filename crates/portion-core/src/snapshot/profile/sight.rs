//! What was seen of each field in a sample of records.

use std::collections::{HashMap, HashSet};

use crate::scan::Kind;

/// What was seen, in the order of first sight.
#[derive(Default)]
pub(super) struct Seen {
    pub fields: Vec<Sight>,
    index: HashMap<String, usize>,
}

/// What was seen of one field.
pub(super) struct Sight {
    pub path: String,
    /// How often it came.
    pub times: usize,
    /// How often it held nothing: `null`, `""`, `[]`, `{}`.
    pub empty: usize,
    /// How often it held `null`.
    pub nulls: usize,
    /// Its different values, the long ones apart.
    pub values: HashSet<String>,
    /// Bytes of the longest.
    pub longest: usize,
    /// Some are objects or arrays.
    pub container: bool,
    /// Some are strings.
    pub text: bool,
    /// Some are `true` or `false`.
    pub bool: bool,
    /// Some are numbers with a fraction or an exponent.
    pub fraction: bool,
    /// All that hold anything are web addresses.
    pub address: bool,
}

/// Bytes of a value that is compared with others.
const COMPARED: usize = 200;

impl Seen {
    /// Adds a value of a field.
    pub(super) fn add(&mut self, path: &str, value: &str) {
        let at = *self.index.entry(path.to_owned()).or_insert_with(|| {
            self.fields.push(Sight {
                path: path.to_owned(),
                times: 0,
                empty: 0,
                nulls: 0,
                values: HashSet::new(),
                longest: 0,
                container: false,
                text: false,
                bool: false,
                fraction: false,
                address: true,
            });
            self.fields.len() - 1
        });
        let sight = &mut self.fields[at];
        let kind = Kind::of(value);
        sight.times += 1;
        sight.longest = sight.longest.max(value.len());
        sight.container |= kind.is_container();
        sight.text |= kind == Kind::String;
        sight.bool |= kind == Kind::Bool;
        sight.fraction |= kind == Kind::Number && value.contains(['.', 'e', 'E']);
        let empty = matches!(value, "null" | "\"\"" | "[]" | "{}");
        sight.empty += usize::from(empty);
        sight.nulls += usize::from(kind == Kind::Null);
        sight.address &= empty || value.starts_with("\"http://") || value.starts_with("\"https://");
        if value.len() <= COMPARED {
            sight.values.insert(value.to_owned());
        }
    }
}

impl Sight {
    /// Whether each of so many records holds another value.
    pub(super) fn is_unique(&self, records: usize) -> bool {
        self.values.len() == records && self.times == records && self.empty == 0
    }

    /// Whether a record holds several.
    pub(super) fn is_repeated(&self, records: usize) -> bool {
        self.times > records
    }

    /// Whether it is the same in so many records, or next to always empty.
    pub(super) fn tells_little(&self, records: usize) -> bool {
        const FEW: usize = 3;
        let gaps = records.saturating_sub(self.times) + self.empty;
        records >= FEW && (self.values.len() <= 1 || gaps * 4 > records * 3)
    }

    /// Objects that it is inside of.
    pub(super) fn depth(&self) -> usize {
        self.path.matches('.').count()
    }
}
