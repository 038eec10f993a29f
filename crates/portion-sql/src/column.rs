//! The columns of a table: what they are called, what they hold, how SQLite is told.

use std::collections::HashSet;

use portion_core::scan::JsonKind;

use crate::cell::exceeds_i64;
use crate::redaction::REDACTED_COLLATION;

/// One column.
#[derive(Clone, Debug)]
pub(crate) struct ColumnDef {
    /// Its name, unlike all others of its table whatever the case.
    pub(crate) name: String,
    /// What is in it.
    pub(crate) kinds: ValueKinds,
    /// How many rows have it.
    pub(crate) present_count: usize,
    /// Whether it must be asked for by name: `SELECT *` leaves it out.
    pub(crate) is_hidden: bool,
    /// Whether it is the record itself.
    pub(crate) is_record: bool,
    /// Whether `error` is `ERROR` in it.
    pub(crate) ignores_case: bool,
    /// Whether its values were redacted.
    pub(crate) redaction: Redaction,
}

/// How much of a column was redacted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Redaction {
    /// Nothing.
    #[default]
    Unredacted,
    /// Its values.
    Whole,
    /// Fields of the objects in it.
    Nested,
}

/// The declared types that tell the columns of a result apart. Their words also make the affinity: BLOB is none,
/// REAL is REAL (<https://www.sqlite.org/datatype3.html#determination_of_column_affinity>).
pub(crate) const RECORD_TYPE: &str = "JSON RECORD BLOB";
pub(crate) const JSON_TYPE: &str = "JSON BLOB";
pub(crate) const BIG_INTEGER_TYPE: &str = "HUGE REAL";
pub(crate) const REDACTED_TYPE: &str = "REDACTED TEXT";

impl ColumnDef {
    pub(crate) fn new(name: impl Into<String>, kinds: ValueKinds, present: usize) -> Self {
        let name = name.into();
        let (hidden, record, ignores_case) = (false, false, false);
        Self {
            name,
            kinds,
            present_count: present,
            is_hidden: hidden,
            is_record: record,
            ignores_case,
            redaction: Redaction::Unredacted,
        }
    }

    pub(crate) fn into_hidden(mut self) -> Self {
        self.is_hidden = true;
        self
    }

    /// How `CREATE TABLE` declares it. With the affinity of its kinds, `"zip" = 94105` finds texts
    /// and `"id" = '123'` finds numbers.
    pub(crate) fn declaration(&self) -> String {
        let redacted = self.redaction == Redaction::Whole;
        let kind = match self.kinds {
            _ if redacted => REDACTED_TYPE,
            _ if self.is_record => RECORD_TYPE,
            kinds if kinds.intersects(ValueKinds::CONTAINER) => JSON_TYPE,
            kinds if kinds.intersects(ValueKinds::NUMERIC) && !kinds.intersects(ValueKinds::TEXT) => {
                if kinds.intersects(ValueKinds::BIG_INTEGER) { BIG_INTEGER_TYPE } else { "NUMERIC" }
            }
            kinds if kinds.intersects(ValueKinds::TEXT) && !kinds.intersects(ValueKinds::NUMERIC) => "TEXT",
            _ => "BLOB",
        };
        let hidden = if self.is_hidden { " HIDDEN" } else { "" };
        let name = self.name.replace('"', "\"\"");
        let collation = match self.ignores_case {
            _ if redacted => format!(" COLLATE {REDACTED_COLLATION}"),
            true => " COLLATE NOCASE".into(),
            false => String::new(),
        };
        format!("\"{name}\" {kind}{hidden}{collation}")
    }
}

/// Which kinds of values were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueKinds(u8);

impl ValueKinds {
    pub(crate) const INTEGER: Self = Self(1);
    pub(crate) const REAL: Self = Self(2);
    pub(crate) const BIG_INTEGER: Self = Self(4);
    pub(crate) const BOOL: Self = Self(8);
    pub(crate) const TEXT: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    pub(crate) const ARRAY: Self = Self(64);
    pub(crate) const NULL: Self = Self(128);
    pub(crate) const NUMERIC: Self = Self(1 | 2 | 4 | 8);
    pub(crate) const CONTAINER: Self = Self(32 | 64);

    /// Whether any of those was seen.
    pub(crate) fn intersects(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Those and those.
    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The kind of a JSON value.
    pub(crate) fn from_json(value: &str) -> Self {
        match JsonKind::of_value(value) {
            JsonKind::Object => Self::OBJECT,
            JsonKind::Array => Self::ARRAY,
            JsonKind::String => Self::TEXT,
            JsonKind::Bool => Self::BOOL,
            JsonKind::Null => Self::NULL,
            JsonKind::Number if exceeds_i64(value) => Self::BIG_INTEGER,
            JsonKind::Number if value.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) => Self::REAL,
            JsonKind::Number => Self::INTEGER,
        }
    }

    /// In words: `integer|null`.
    pub(crate) fn to_names(self) -> String {
        let real = self.intersects(Self::REAL) || self.intersects(Self::BIG_INTEGER);
        let words = [
            (self.intersects(Self::INTEGER) && !real, "integer"),
            (real, "number"),
            (self.intersects(Self::BOOL), "boolean"),
            (self.intersects(Self::TEXT), "text"),
            (self.intersects(Self::OBJECT), "object"),
            (self.intersects(Self::ARRAY), "array"),
            (self.intersects(Self::NULL), "null"),
        ];
        let seen: Vec<&str> = words.into_iter().filter_map(|(seen, word)| seen.then_some(word)).collect();
        seen.join("|")
    }
}

/// Names that differ from each other whatever the case: SQLite's own are compared so.
#[derive(Default)]
pub(crate) struct UniqueNames {
    taken: HashSet<String>,
}

impl UniqueNames {
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
    pub(crate) fn unique_builtin(&mut self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.taken.contains(&name.to_lowercase()) {
            name.insert(0, '_');
        }
        self.taken.insert(name.to_lowercase());
        name
    }
}
