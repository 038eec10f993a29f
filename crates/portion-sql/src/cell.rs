//! A value as SQL sees it.

use std::borrow::Cow;

use portion_core::scan::{Kind, decoded};

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

    pub(crate) fn count(n: usize) -> Self {
        Self::Integer(i64::try_from(n).unwrap_or(i64::MAX))
    }

    /// What a JSON value is in SQL: objects and arrays are their text.
    pub(crate) fn of_json(value: &'a str) -> Self {
        match Kind::of(value) {
            Kind::Null => Self::Null,
            Kind::Bool => Self::Integer(i64::from(value.starts_with('t'))),
            Kind::Number => Self::number(value),
            Kind::Object | Kind::Array => Self::text(value),
            Kind::String if memchr::memchr(b'\\', value.as_bytes()).is_some() => {
                Self::Text(Cow::Owned(decoded(value)))
            }
            Kind::String => Self::text(value.get(1..value.len().saturating_sub(1)).unwrap_or_default()),
        }
    }

    fn number(value: &str) -> Self {
        match value.parse() {
            Ok(integer) => Self::Integer(integer),
            Err(_) => value.parse().map_or(Self::Null, Self::Real),
        }
    }
}

/// Whether a JSON number is a whole one that 64 bits cannot hold.
pub(crate) fn is_huge(value: &str) -> bool {
    value.len() > 18 && !value.contains(['.', 'e', 'E']) && value.parse::<i64>().is_err()
}
