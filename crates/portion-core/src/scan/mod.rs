//! Reading JSON where it lies: validate, find, never rebuild.
//!
//! Payloads are shown to a model as the upstream wrote them, so nothing here turns JSON into values.
//! A [`JsonReader`] walks the text and hands out [`Span`](crate::span::Span)s; numbers, key order,
//! duplicate keys and escapes keep their bytes. Nesting is an explicit bit-stack: a million levels
//! cost 125 KB and no recursion.
//!
//! This module is the whole interface to the scanner. A faster one may replace the inside of
//! `block`, `reader` and `string`; nothing outside depends on how they find a byte.

mod block;
mod equal;
mod minify;
mod nesting;
mod offsets;
mod reader;
mod string;

pub use equal::is_equivalent_json;
pub use minify::minify;
pub(crate) use minify::string_end;
pub use offsets::SparseOffsets;
pub use reader::{ExpectedKey, JsonKind, JsonReader, ScanError};
pub use string::{escape_into, escaped_len, lone_surrogate_count, quote, unescape, unescape_into};
