//! What is wrong with a configuration: everything at once, each with its place and the way on.

use std::error::Error;
use std::fmt;

use crate::origin::Origin;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where.
    pub origin: Origin,
    /// What.
    pub message: String,
    /// The way on.
    pub fix: String,
    /// The line, with a mark below the place; `None` where it may hold a secret.
    pub snippet: Option<String>,
}

/// Everything that is wrong, in order of place. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(pub Vec<Problem>);

/// What is strange, but does not stand in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(pub Vec<Problem>);

impl Problem {
    pub(crate) fn new(at: Origin, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { origin: at, message: message.into(), fix: fix.into(), snippet: None }
    }
}

/// One line: the place, what is wrong, the way on.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.origin, self.message, self.fix)
    }
}

impl Error for Problem {}

/// Each in a line, and below it what stands there.
impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if i == 0 { "" } else { "\n" })?;
            if let Some(snippet) = &problem.snippet {
                write!(f, "\n{snippet}")?;
            }
        }
        Ok(())
    }
}

impl Error for Errors {}
