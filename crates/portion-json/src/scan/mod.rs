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
mod minify;
mod offsets;
mod reader;
mod string;

pub use equal::{ParsedNumber, is_equivalent_json, power_of_ten};
pub use minify::{minified, minify, string_end};
pub use offsets::SparseOffsets;
pub use reader::{ExpectedKey, JsonKind, JsonReader, ScanError, is_json};
pub use string::{escape_into, escaped_len, lone_surrogate_count, quote, unescape, unescape_into};
