//! Reason that a link was closed.

use std::fmt;

use crate::upstream::stderr::StderrLines;
use crate::upstream::stdio::ServerFailure;

/// Reason that a link was closed. Displays as the message and the last lines of the server's stderr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloseReason {
    message: String,
    stderr: StderrLines,
}

impl CloseReason {
    /// Creates a reason without lines of stderr.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), stderr: StderrLines::default() }
    }

    /// Returns the reason without the lines of stderr, for callers whose own stderr has a copy of them.
    #[must_use]
    pub fn without_stderr(self) -> Self {
        Self::new(self.message)
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.message, self.stderr)
    }
}

impl From<&ServerFailure> for CloseReason {
    fn from(failure: &ServerFailure) -> Self {
        Self { message: failure.sentence(), stderr: failure.stderr().clone() }
    }
}
