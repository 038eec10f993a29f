//! Converts JSON values to SQL values.

use std::borrow::Cow;

use portion_json::scan::{JsonKind, unescape};

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

    /// Converts a JSON value; objects and arrays become their text.
    pub(crate) fn from_json(value: &'a str) -> Self {
        match JsonKind::of_value(value) {
            JsonKind::Null => Self::Null,
            JsonKind::Bool => Self::Integer(i64::from(value.starts_with('t'))),
            JsonKind::Number => Self::from_json_number(value),
            JsonKind::Object | JsonKind::Array => Self::text(value),
            JsonKind::String if memchr::memchr(b'\\', value.as_bytes()).is_some() => {
                Self::Text(Cow::Owned(unescape(value)))
            }
            JsonKind::String => Self::text(value.get(1..value.len().saturating_sub(1)).unwrap_or_default()),
        }
    }

    fn from_json_number(value: &str) -> Self {
        match value.parse() {
            Ok(integer) => Self::Integer(integer),
            Err(_) => value.parse().map_or(Self::Null, Self::Real),
        }
    }
}
