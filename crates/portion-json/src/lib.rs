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
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `scan` | JSON in place: a validating pull reader, strings, minifying, comparison, sparse offsets. Its public items are the whole interface to the scanner |
//! | `containers` | steps through members and items: the way to read one level. Code that descends uses the reader |
//! | `span`, `json_pointer`, `path` | byte ranges; JSON Pointer steps; the steps of a path and the values below them |
//! | `projection`, `object_preview` | fields of a record as written; short previews of objects |
//! | `name_list` | lists of field names in one text, with quotes around names that have commas |

pub mod columnar;
pub mod containers;
pub mod json_pointer;
pub mod name_list;
mod object_preview;
pub mod path;
pub mod projection;
pub mod scan;
pub mod span;
