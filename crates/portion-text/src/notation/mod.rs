//! Notations of data other than JSON, each read as JSON.
//!
//! Many servers return rows as their language prints them. Read as JSON, such a text is a list with columns. A notation is one file
//! and one line in `NOTATIONS`. Each reader is total and linear, and does not recurse.
//!
//! ```
//! use portion_text::notation::read;
//!
//! let found = read("[{'id': 1, 'paid': True, 'total': Decimal('9.50')}]").expect("Python literals");
//! assert_eq!(found.json, r#"[{"id":1,"paid":true,"total":9.50}]"#);
//! assert_eq!(found.notation, "Python literals");
//! assert!(read("- milk\n- bread\n").is_none());
//! ```

mod blocks;
mod python;
mod tables;
mod terminal;
mod toon;
mod values;
mod xml;
mod yaml;

use portion_json::span::Span;

pub use terminal::{TerminalColumn, terminal_columns};

/// Data that were found in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundData {
    /// Name of the notation, for readers.
    pub notation: &'static str,
    /// Place of the data in the text.
    pub span: Span,
    /// The data as JSON: one value, or one on each line.
    pub json: String,
    /// Number of comments, which are none of the data.
    pub comments: usize,
}

/// Reads a text of one notation. Returns the place of the data in the text, and the data as JSON.
type Reader = fn(&str) -> Option<(Span, String)>;

/// All notations: their names and their readers.
const NOTATIONS: &[(&str, Reader)] = &[
    ("JSON values", values::read),
    ("Python literals", python::read),
    (YAML, yaml::read),
    (XML, xml::read),
    ("TOON", toon::read),
    ("a table of a terminal", terminal::read),
    ("tables", tables::read),
    ("records of lines", blocks::read),
];
/// Names of the notations that have comments.
const YAML: &str = "YAML";
const XML: &str = "XML";

/// Reads a text of YAML, whether it holds records or not.
pub fn read_yaml(text: &str) -> Option<FoundData> {
    yaml::read_any(text).map(|(span, json)| FoundData { notation: YAML, span, json, comments: 0 })
}

/// Reads a text that is data in one of the notations. Returns `None` for other texts, JSON included.
pub fn read(text: &str) -> Option<FoundData> {
    NOTATIONS.iter().find_map(|(notation, reader)| {
        let (span, json) = reader(text)?;
        let comments = match *notation {
            YAML => yaml::comment_count(span.slice(text)),
            XML => span.slice(text).matches("<!--").count(),
            _ => 0,
        };
        Some(FoundData { notation, span, json, comments })
    })
}
