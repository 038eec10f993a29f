//! JSON in place: validates, locates and selects values without building them.
//!
//! A [`scan::JsonReader`] walks a text and returns [`span::Span`]s. Numbers, key order, duplicate keys and escapes
//! keep their bytes. Nothing here does IO, recurses on the depth of its input, or panics on any input.
//!
//! ```
//! use portion_json::path::value_at;
//! use portion_json::span::Span;
//!
//! let text = r#"{"price": {"total": 12.50}}"#;
//! let total = value_at(text, Span::new(0, text.len()), "price.total").expect("a value");
//! assert_eq!(total.slice(text), "12.50");
//! ```

pub mod columnar;
pub mod containers;
pub mod json_pointer;
pub mod name_list;
mod object_preview;
pub mod path;
pub mod projection;
pub mod scan;
pub mod span;
