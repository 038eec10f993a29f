//! The origin of a value.

use std::fmt;
use std::sync::Arc;

use crate::document::TextPosition;

/// The origin of a value, in order of increasing priority.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Origin {
    /// The built-in default.
    #[default]
    Default,
    /// This profile.
    Profile(&'static str),
    /// A file and the position in it.
    File(Arc<str>, FilePosition),
    /// An environment variable.
    Variable(Arc<str>),
    /// An option, without dashes.
    Option(Arc<str>),
}

/// A position in a file: line and column, from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePosition {
    /// Line number.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

impl From<TextPosition> for FilePosition {
    fn from(position: TextPosition) -> Self {
        Self { line: position.line, column: position.column }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Profile(name) => write!(f, "profile {name}"),
            Self::File(file, place) => write!(f, "{file}:{}:{}", place.line, place.column),
            Self::Variable(name) => f.write_str(name),
            Self::Option(name) => write!(f, "--{name}"),
        }
    }
}
