//! The kind of a JSON value.

use super::is_whitespace;

/// The kind of a value, determined by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// `-1.5e3`
    Number,
    /// `true`, `false`
    Bool,
    /// `null`
    Null,
}

impl JsonKind {
    /// Returns the kind of a value that is known to be valid JSON.
    pub fn of_value(value: &str) -> Self {
        match value.bytes().find(|b| !is_whitespace(*b)) {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Bool,
            Some(b'n') => Self::Null,
            _ => Self::Number,
        }
    }

    /// Returns true for an object or an array.
    pub fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}
