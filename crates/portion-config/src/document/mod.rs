//! What a file says, with the place of everything in it. YAML and JSON become the same tree.

mod build;
pub mod json;
pub mod yaml;

/// The most bytes of a document.
pub const MOST_BYTES: usize = 1 << 20;

/// A document that could be read.
#[derive(Clone, Debug)]
pub struct Document {
    /// What is in it.
    pub root: Node,
    /// What is wrong with it although it could be read: keys that are given twice.
    pub faults: Vec<Fault>,
}

/// What is said of a file in which nothing stands but comments.
pub(crate) const EMPTY: &str = "the file says nothing: the defaults are in force";

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where.
    pub spot: Spot,
    /// What is wrong. Nothing of what stands there is repeated, for it may be secret.
    pub message: String,
    /// The way on.
    pub fix: String,
}

/// A place in a text: both count from one, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it is.
    pub tree: Tree,
    /// Where it begins.
    pub spot: Spot,
    /// The line in which it ends.
    pub last_line: usize,
}

/// What a value is. Trees are never deep: a document that is deeper is refused.
#[derive(Clone, Debug)]
pub enum Tree {
    /// Nothing.
    Null,
    /// A text; numbers and truths are plain ones, whose meaning the key decides.
    Scalar {
        /// The text.
        text: String,
        /// Whether it stands without quotes.
        plain: bool,
    },
    /// Several values.
    List(Vec<Node>),
    /// Values by name, in order.
    Map(Vec<(Name, Node)>),
}

/// The name of a value in a map.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it begins.
    pub spot: Spot,
}

impl Node {
    /// A text that stands nowhere.
    pub(crate) fn text(text: &str) -> Self {
        let tree = Tree::Scalar { text: text.to_owned(), plain: true };
        Self { tree, spot: Spot::default(), last_line: 0 }
    }

    /// What it is, in words.
    pub(crate) fn what(&self) -> &'static str {
        match &self.tree {
            Tree::Null => "nothing",
            Tree::Scalar { .. } => "text",
            Tree::List(_) => "a list",
            Tree::Map(_) => "a map",
        }
    }
}

impl Fault {
    fn new(spot: Spot, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { spot, message: message.into(), fix: fix.into() }
    }
}
