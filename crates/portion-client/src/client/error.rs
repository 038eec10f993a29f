//! Errors of calling a tool.

use std::time::Duration;

use portion_mcp::upstream::link::{CloseReason, ConnectError};
use thiserror::Error;

/// Reason that there is no result.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The server cannot be reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection ended before the response.
    #[error("the server did not answer {during}: {reason}")]
    Closed {
        /// The request.
        during: String,
        /// Reason that the link gave.
        reason: CloseReason,
    },
    /// The server answered with an error.
    #[error("the server refused {during}: {message}")]
    Refused {
        /// The request.
        during: String,
        /// Message of the server.
        message: String,
    },
    /// The response is larger than a message may be.
    #[error("the answer to {during} has {bytes} bytes, more than a message may have")]
    TooLarge {
        /// The request.
        during: String,
        /// Size of the response.
        bytes: u64,
    },
    /// There was no response in time.
    #[error("no answer from {during} within {} s: raise --timeout, or ask for less", time_limit.as_secs_f64())]
    Timeout {
        /// The request.
        during: String,
        /// Time limit of the whole call.
        time_limit: Duration,
    },
    /// A Portion on the way shortened the result, and the rest cannot be read.
    #[error("a Portion before the server shortened the result, and the rest cannot be read: {0}")]
    Shortened(String),
}

impl ClientError {
    /// Returns the error without the last lines of the server's stderr, for callers whose own stderr has a copy of them.
    #[must_use]
    pub fn without_stderr(self) -> Self {
        match self {
            Self::Closed { during, reason } => Self::Closed { during, reason: reason.without_stderr() },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn the_last_lines_of_stderr_are_apart_from_the_message() {
        use std::time::Duration;

        use portion_mcp::upstream::link::ChildConnector;
        use portion_mcp::upstream::stdio::Program;

        use crate::client::Client;

        let connector = ChildConnector {
            program: Program::new("sh", ["-c", "echo boom >&2; read line; exit 3"]),
            message_limit: 1024,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let error = runtime
            .block_on(Client::connect(&connector, Duration::from_secs(30)))
            .expect_err("the server ends without an answer");
        let message = "the server did not answer `initialize`: the server `sh` exited with code 3";
        assert_eq!(error.to_string(), format!("{message}\nIts stderr ended with:\nboom"));
        assert_eq!(error.without_stderr().to_string(), message);
    }
}
