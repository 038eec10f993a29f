//! What a file says, with the place of everything in it. YAML and JSON become the same tree.

mod builder;
pub mod json;
pub mod yaml;

/// The most bytes of a document.
pub const MAX_DOCUMENT_BYTES: usize = 1 << 20;

/// A document that could be read.
#[derive(Clone, Debug)]
pub struct Document {
    /// What is in it.
    pub root: Node,
    /// What is wrong with it although it could be read: keys that are given twice.
    pub errors: Vec<DocumentError>,
}

/// What is said of a file in which nothing stands but comments.
pub(crate) const EMPTY_MESSAGE: &str = "the file says nothing: the defaults are in force";

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// Where.
    pub position: TextPosition,
    /// What is wrong. Nothing of what stands there is repeated, for it may be secret.
    pub message: String,
    /// The way on.
    pub fix: String,
}

/// A place in a text: both count from one, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub value: NodeValue,
    /// Where it begins.
    pub position: TextPosition,
    /// The line in which it ends.
    pub last_line: usize,
}

/// What a value is. Trees are never deep: a document that is deeper is refused.
#[derive(Clone, Debug)]
pub enum NodeValue {
    /// Nothing.
    Null,
    /// A text; numbers and truths are plain ones, whose meaning the key decides.
    Scalar {
        /// The text.
        text: String,
        /// Whether it stands without quotes.
        is_plain: bool,
    },
    /// Several values.
    List(Vec<Node>),
    /// Values by name, in order.
    Map(Vec<(MapKey, Node)>),
}

/// The name of a value in a map.
#[derive(Clone, Debug)]
pub struct MapKey {
    /// The name.
    pub text: String,
    /// Where it begins.
    pub position: TextPosition,
}

impl Node {
    /// A text that stands nowhere.
    pub(crate) fn plain_scalar(text: &str) -> Self {
        let tree = NodeValue::Scalar { text: text.to_owned(), is_plain: true };
        Self { value: tree, position: TextPosition::default(), last_line: 0 }
    }

    /// What it is, in words.
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
    fn new(spot: TextPosition, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { position: spot, message: message.into(), fix: fix.into() }
    }
}
