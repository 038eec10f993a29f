//! Errors and warnings of a configuration, each with its place and a remedy.

use std::error::Error;
use std::fmt;

use crate::settings::Origin;

/// A problem in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Place of the problem.
    pub origin: Origin,
    /// Description of the problem.
    pub message: String,
    /// Remedy.
    pub fix: String,
    /// The line with a mark below the place; `None` if it may contain a secret.
    pub snippet: Option<String>,
}

/// All errors, ordered by place. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors(pub Vec<Problem>);

/// Problems that do not prevent the use of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings(pub Vec<Problem>);

impl Problem {
    pub(crate) fn new(at: Origin, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { origin: at, message: message.into(), fix: fix.into(), snippet: None }
    }
}

/// Writes one line: the place, the problem, the remedy.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.origin, self.message, self.fix)
    }
}

impl Error for Problem {}

/// Writes one line per error, each followed by its snippet.
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
