//! Errors of calling a tool.

use std::time::Duration;

use portion_mcp::upstream::link::ConnectError;
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
        reason: String,
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
