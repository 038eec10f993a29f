//! Reports a server that does not answer.

use std::fmt;
use std::process::ExitStatus;

/// Exit status of a server, what it wrote to stdout in place of messages, and the end of its stderr.
#[derive(Debug, Default)]
pub(crate) struct ExitReport {
    pub(super) status: Option<ExitStatus>,
    pub(super) noise: Option<String>,
    pub(super) stderr: String,
}

impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status {
            write!(f, " ({status})")?;
        }
        if let Some(noise) = &self.noise {
            write!(f, "; its stdout has lines that are no messages, such as `{noise}`")?;
        }
        if self.stderr.is_empty() { Ok(()) } else { write!(f, "\nIts stderr ended with:\n{}", self.stderr) }
    }
}
