//! Parses a file into a tree with the position of every value. YAML and JSON give the same tree.
//!
//! ```
//! use portion_config::document::{NodeValue, yaml};
//!
//! let document = yaml::parse("hardCap: 9000\nredact: [pin]\n").unwrap();
//! let NodeValue::Map(entries) = &document.root.value else { panic!("a mapping") };
//! let (key, value) = &entries[1];
//! assert_eq!((key.text.as_str(), key.position.line, value.position.column), ("redact", 2, 9));
//! ```

pub mod json;
pub mod yaml;

/// Maximum bytes of a document.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// A parsed document.
#[derive(Clone, Debug)]
pub struct Document {
    /// Root value.
    pub root: Node,
    /// Errors that did not prevent parsing: duplicate keys.
    pub errors: Vec<DocumentError>,
}

/// Message for a file that contains only comments.
pub(crate) const EMPTY_MESSAGE: &str =
    "the file is empty: a process that starts uses the defaults, and a running one keeps its configuration";

/// An error in a document, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// Position of the error.
    pub position: TextPosition,
    /// Description of the error. It never repeats the content, which may be secret.
    pub message: String,
    /// Remedy.
    pub fix: String,
}

/// A position in a text: line and column from one, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPosition {
    /// Line number.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// A value with its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value.
    pub value: NodeValue,
    /// Position of its start.
    pub position: TextPosition,
    /// Line in which it ends.
    pub last_line: usize,
}

/// The value of a node. Trees are never deep: deeper documents are rejected.
#[derive(Clone, Debug)]
pub enum NodeValue {
    /// Null.
    Null,
    /// A scalar. Numbers and booleans are plain text, which the key interprets.
    Scalar {
        /// Text of the scalar.
        text: String,
        /// True if it is written without quotes.
        is_plain: bool,
    },
    /// A list.
    List(Vec<Node>),
    /// A map, in order.
    Map(Vec<(MapKey, Node)>),
}

/// The key of a value in a map.
#[derive(Clone, Debug)]
pub struct MapKey {
    /// Text of the key.
    pub text: String,
    /// Position of its start.
    pub position: TextPosition,
}

/// Returns the text of a document without a byte order mark.
///
/// # Errors
/// Returns an error if the text is too large.
fn checked_text(text: &str) -> Result<&str, DocumentError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_DOCUMENT_BYTES {
        let fix = format!("at most {MAX_DOCUMENT_BYTES} bytes are allowed");
        return Err(DocumentError::new(TextPosition::START, "this is too large", fix));
    }
    Ok(text)
}

impl TextPosition {
    const START: Self = Self { line: 1, column: 1 };
}

impl Node {
    /// Creates a scalar without a position.
    pub(crate) fn plain_scalar(text: &str) -> Self {
        let tree = NodeValue::Scalar { text: text.to_owned(), is_plain: true };
        Self { value: tree, position: TextPosition::default(), last_line: 0 }
    }

    /// Returns the text of a scalar.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            NodeValue::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns the name of its kind.
    pub(crate) fn kind_name(&self) -> &'static str {
        match &self.value {
            NodeValue::Null => "nothing",
            NodeValue::Scalar { .. } => "text",
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a map",
        }
    }
}

impl DocumentError {
    fn new(position: TextPosition, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { position, message: message.into(), fix: fix.into() }
    }
}
