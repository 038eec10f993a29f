//! Scans JSON in place: validates and locates values without building them.
//!
//! Payloads are shown to a model as the upstream wrote them, so nothing here turns JSON into values. A
//! [`JsonReader`] walks the text and returns [`Span`](crate::span::Span)s; numbers, key order, duplicate
//! keys and escapes keep their bytes. Nesting is tracked in an explicit stack of bits: a million levels
//! cost 125 KB and no recursion.
//!
//! This module is the whole interface of the scanner. A faster implementation may replace `block`,
//! `reader` and `string`; nothing outside depends on how they find a byte.
//!
//! ```
//! use portion_json::scan::{is_json, minified, quote, unescape};
//!
//! assert!(is_json(r#"{ "a" : 1 }"#) && !is_json(r#"{ "a" : 1 } tail"#));
//! assert_eq!(minified(r#"{ "a" : [ 1.0, 2 ] }"#), r#"{"a":[1.0,2]}"#);
//! assert_eq!(unescape(&quote("a \"b\"")), "a \"b\"");
//! ```

mod block;
mod equal;
mod offsets;
mod reader;
mod string;

pub use equal::{ParsedNumber, is_equivalent_json, power_of_ten};
pub use offsets::SparseOffsets;
pub use reader::{ExpectedKey, JsonReader, is_json};
pub use string::{
    escape_into, escaped_len, lone_surrogate_count, minified, minify, quote, string_end, unescape,
    unescape_into,
};

use thiserror::Error;

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

/// The error for text that is not JSON (RFC 8259).
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("not JSON at byte {offset}: {expected}")]
pub struct ScanError {
    /// Offset of the first invalid byte.
    pub offset: usize,
    /// Description of what was expected there.
    pub expected: &'static str,
}

#[inline]
fn is_whitespace(b: u8) -> bool {
    matches!(b, b' ' | b'\n' | b'\r' | b'\t')
}
