//! Where a value comes from.

use std::fmt;
use std::sync::Arc;

use crate::document::TextPosition;

/// Where a value comes from. What is further down counts more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Nobody wrote it.
    Default,
    /// Nobody wrote it but this profile.
    Profile(&'static str),
    /// A file, and the place in it.
    File(Arc<str>, FilePosition),
    /// An environment variable.
    Variable(Arc<str>),
    /// An option, without dashes.
    Option(Arc<str>),
}

/// A place in a file: line and column, from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePosition {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl From<TextPosition> for FilePosition {
    fn from(spot: TextPosition) -> Self {
        Self { line: spot.line, column: spot.column }
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
