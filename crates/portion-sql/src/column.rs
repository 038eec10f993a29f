//! The columns of a table: what they are called, what they hold, how SQLite is told.

use std::collections::HashSet;

use portion_core::scan::Kind;

use crate::cell::is_huge;
use crate::redacted::COLLATION;

/// One column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its name, unlike all others of its table whatever the case.
    pub(crate) name: String,
    /// What is in it.
    pub(crate) kinds: Kinds,
    /// How many rows have it.
    pub(crate) present: usize,
    /// Whether it must be asked for by name: `SELECT *` leaves it out.
    pub(crate) hidden: bool,
    /// Whether it is the record itself.
    pub(crate) record: bool,
    /// Whether `error` is `ERROR` in it.
    pub(crate) ignores_case: bool,
    /// Whether its values were redacted.
    pub(crate) redacted: Hidden,
}

/// How much of a column was redacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Nothing.
    #[default]
    No,
    /// Its values.
    Whole,
    /// Fields of the objects in it.
    Within,
}

/// The declared types that tell the columns of a result apart. Their words also make the affinity: BLOB is none,
/// REAL is REAL (<https://www.sqlite.org/datatype3.html#determination_of_column_affinity>).
pub(crate) const RECORD: &str = "JSON RECORD BLOB";
pub(crate) const JSON: &str = "JSON BLOB";
pub(crate) const HUGE: &str = "HUGE REAL";
pub(crate) const REDACTED: &str = "REDACTED TEXT";

impl Column {
    pub(crate) fn new(name: impl Into<String>, kinds: Kinds, present: usize) -> Self {
        let name = name.into();
        let (hidden, record, ignores_case) = (false, false, false);
        Self { name, kinds, present, hidden, record, ignores_case, redacted: Hidden::No }
    }

    pub(crate) fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// How `CREATE TABLE` declares it. With the affinity of its kinds, `"zip" = 94105` finds texts
    /// and `"id" = '123'` finds numbers.
    pub(crate) fn declaration(&self) -> String {
        let redacted = self.redacted == Hidden::Whole;
        let kind = match self.kinds {
            _ if redacted => REDACTED,
            _ if self.record => RECORD,
            kinds if kinds.any(Kinds::CONTAINER) => JSON,
            kinds if kinds.any(Kinds::NUMERIC) && !kinds.any(Kinds::TEXT) => {
                if kinds.any(Kinds::HUGE) {
                    HUGE
                } else {
                    "NUMERIC"
                }
            }
            kinds if kinds.any(Kinds::TEXT) && !kinds.any(Kinds::NUMERIC) => "TEXT",
            _ => "BLOB",
        };
        let hidden = if self.hidden { " HIDDEN" } else { "" };
        let name = self.name.replace('"', "\"\"");
        let collation = match self.ignores_case {
            _ if redacted => format!(" COLLATE {COLLATION}"),
            true => " COLLATE NOCASE".into(),
            false => String::new(),
        };
        format!("\"{name}\" {kind}{hidden}{collation}")
    }
}

/// Which kinds of values were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const INTEGER: Self = Self(1);
    pub(crate) const REAL: Self = Self(2);
    pub(crate) const HUGE: Self = Self(4);
    pub(crate) const BOOL: Self = Self(8);
    pub(crate) const TEXT: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    pub(crate) const ARRAY: Self = Self(64);
    pub(crate) const NULL: Self = Self(128);
    pub(crate) const NUMERIC: Self = Self(1 | 2 | 4 | 8);
    pub(crate) const CONTAINER: Self = Self(32 | 64);

    /// Whether any of those was seen.
    pub(crate) fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Those and those.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The kind of a JSON value.
    pub(crate) fn of_json(value: &str) -> Self {
        match Kind::of(value) {
            Kind::Object => Self::OBJECT,
            Kind::Array => Self::ARRAY,
            Kind::String => Self::TEXT,
            Kind::Bool => Self::BOOL,
            Kind::Null => Self::NULL,
            Kind::Number if is_huge(value) => Self::HUGE,
            Kind::Number if value.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) => Self::REAL,
            Kind::Number => Self::INTEGER,
        }
    }

    /// In words: `integer|null`.
    pub(crate) fn words(self) -> String {
        let real = self.any(Self::REAL) || self.any(Self::HUGE);
        let words = [
            (self.any(Self::INTEGER) && !real, "integer"),
            (real, "number"),
            (self.any(Self::BOOL), "boolean"),
            (self.any(Self::TEXT), "text"),
            (self.any(Self::OBJECT), "object"),
            (self.any(Self::ARRAY), "array"),
            (self.any(Self::NULL), "null"),
        ];
        let seen: Vec<&str> = words.into_iter().filter_map(|(seen, word)| seen.then_some(word)).collect();
        seen.join("|")
    }
}

/// Names that differ from each other whatever the case: SQLite's own are compared so.
#[derive(Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// The name, or the name with the first number from 2 that makes it unlike the others.
    pub(crate) fn unique(&mut self, name: &str) -> String {
        // A name ends at a NUL for C.
        let name = &name.replace('\0', "\u{fffd}");
        let free = |name: &str| !self.taken.contains(&name.to_lowercase());
        let name = if name.is_empty() { "_" } else { name };
        let name = if free(name) {
            name.to_owned()
        } else {
            // One of so many is free.
            let numbered = (2..self.taken.len() + 3).map(|n| format!("{name}_{n}"));
            numbered.into_iter().find(|name| free(name)).unwrap_or_default()
        };
        self.taken.insert(name.to_lowercase());
        name
    }

    /// Whether nothing is called so yet.
    pub(crate) fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(&name.to_lowercase())
    }

    /// The name of something that is ours, which gives way: `item`, or `_item` where a field is called so.
    pub(crate) fn ours(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.taken.contains(&name.to_lowercase()) {
            name.insert(0, '_');
        }
        self.taken.insert(name.to_lowercase());
        name
    }
}
