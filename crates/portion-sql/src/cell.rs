//! Values of SQL: their conversion from JSON, and the kinds that a column has.

use std::borrow::Cow;

use portion_json::scan::{JsonKind, is_equivalent_json, minified, unescape};

/// One value of one row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'a, str>),
}

impl<'a> Cell<'a> {
    pub(crate) fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    pub(crate) fn from_count(n: usize) -> Self {
        Self::Integer(i64::try_from(n).unwrap_or(i64::MAX))
    }

    /// Returns the value with a text of its own.
    pub(crate) fn into_owned(self) -> Cell<'static> {
        match self {
            Self::Null => Cell::Null,
            Self::Integer(n) => Cell::Integer(n),
            Self::Real(n) => Cell::Real(n),
            Self::Text(text) => Cell::Text(Cow::Owned(text.into_owned())),
        }
    }

    /// Converts a JSON value; objects and arrays become their text without white space, as replies show them.
    pub(crate) fn from_json(value: &'a str) -> Self {
        match JsonKind::of_value(value) {
            JsonKind::Null => Self::Null,
            JsonKind::Bool => Self::Integer(i64::from(value.starts_with('t'))),
            JsonKind::Number => match value.parse() {
                Ok(integer) => Self::Integer(integer),
                Err(_) => value.parse().map_or(Self::Null, Self::Real),
            },
            JsonKind::Object | JsonKind::Array => match minified(value) {
                short if short.len() < value.len() => Self::Text(Cow::Owned(short)),
                _ => Self::text(value),
            },
            JsonKind::String if memchr::memchr(b'\\', value.as_bytes()).is_some() => {
                Self::Text(Cow::Owned(unescape(value)))
            }
            JsonKind::String => Self::text(value.get(1..value.len().saturating_sub(1)).unwrap_or_default()),
        }
    }
}

/// Longest number that a double always holds exactly.
const MAX_EXACT_BYTES: usize = 15;

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ValueKinds(u8);

impl ValueKinds {
    pub(crate) const INTEGER: Self = Self(1);
    pub(crate) const REAL: Self = Self(2);
    pub(crate) const ROUNDED: Self = Self(4);
    pub(crate) const BOOL: Self = Self(8);
    pub(crate) const TEXT: Self = Self(16);
    pub(crate) const OBJECT: Self = Self(32);
    pub(crate) const ARRAY: Self = Self(64);
    pub(crate) const NULL: Self = Self(128);
    pub(crate) const NUMERIC: Self = Self(1 | 2 | 4 | 8);
    pub(crate) const CONTAINER: Self = Self(32 | 64);

    /// Returns true if the sets have a kind in common.
    pub(crate) fn intersects(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Returns the union of both sets.
    pub(crate) const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Returns true if all values are texts or null.
    pub(crate) fn are_texts(self) -> bool {
        self.0 & !Self::NULL.0 == Self::TEXT.0
    }

    /// Returns the kind of a JSON value.
    pub(crate) fn from_json(value: &str) -> Self {
        match JsonKind::of_value(value) {
            JsonKind::Object => Self::OBJECT,
            JsonKind::Array => Self::ARRAY,
            JsonKind::String => Self::TEXT,
            JsonKind::Bool => Self::BOOL,
            JsonKind::Null => Self::NULL,
            JsonKind::Number if is_rounded(value) => Self::ROUNDED,
            JsonKind::Number if value.bytes().any(|b| matches!(b, b'.' | b'e' | b'E')) => Self::REAL,
            JsonKind::Number => Self::INTEGER,
        }
    }

    /// Returns the names of the kinds: `integer|null`.
    pub(crate) fn to_names(self) -> String {
        let real = self.intersects(Self::REAL) || self.intersects(Self::ROUNDED);
        let words = [
            (self.intersects(Self::INTEGER) && !real, "integer"),
            (real, "number"),
            (self.intersects(Self::BOOL), "boolean"),
            (self.intersects(Self::TEXT), "text"),
            (self.intersects(Self::OBJECT), "object"),
            (self.intersects(Self::ARRAY), "array"),
            (self.intersects(Self::NULL), "null"),
        ];
        let present: Vec<&str> =
            words.into_iter().filter_map(|(present, word)| present.then_some(word)).collect();
        present.join("|")
    }
}

/// Returns true if a JSON number is neither a 64-bit integer nor exact as a double in decimal notation.
fn is_rounded(number: &str) -> bool {
    let has_exponent = number.contains(['e', 'E']);
    if number.len() <= MAX_EXACT_BYTES && !has_exponent || number.parse::<i64>().is_ok() {
        return false;
    }
    let shortest = number.parse().ok().and_then(serde_json::Number::from_f64);
    shortest.is_none_or(|shortest| !is_equivalent_json(&shortest.to_string(), number))
}
