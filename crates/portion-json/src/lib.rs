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
//! | `containers` | steps through members and items: the way to read one level. Code that descends uses the reader. Names of columns that a table states once |
//! | `span`, `path` | byte ranges; the steps of a path or JSON Pointer, and the values below them; short previews of objects |
//! | `projection` | fields of a record as written; lists of their names in one text, with quotes around names that have commas |

pub mod containers;
pub mod path;
pub mod projection;
pub mod scan;
pub mod span;
