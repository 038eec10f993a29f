//! Reports a server that does not answer.

use std::fmt;
use std::process::ExitStatus;

use portion_mcp::upstream::stderr::StderrLines;

/// Exit status of a server, what it wrote to stdout in place of messages, and the end of its stderr.
#[derive(Debug, Default)]
pub(crate) struct ExitReport {
    pub(super) status: Option<ExitStatus>,
    pub(super) noise: Option<String>,
    pub(super) stderr: StderrLines,
}

impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(status) = self.status {
            write!(f, " ({status})")?;
        }
        if let Some(noise) = &self.noise {
            write!(f, "; its stdout has lines that are no messages, such as `{noise}`")?;
        }
        write!(f, "{}", self.stderr)
    }
}
