//! Failures of the store, and what follows from each.

use redis::{ErrorKind, RedisError, ServerErrorKind};
use thiserror::Error;

/// A failure of an operation. Its text names no credentials.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no connection, or it was lost meanwhile.
    #[error("{0}")]
    Disconnected(String),
    /// No answer in time.
    #[error("it does not answer")]
    TimedOut,
    /// The server refused the operation: it is out of memory, read-only, loading, or the key is of another type.
    #[error("it refuses: {reason}")]
    Refused {
        /// Message of the server.
        reason: String,
        /// True if another server may be the master by now.
        is_read_only: bool,
    },
}

impl Failure {
    /// Returns true if the connection is of no use any more.
    pub(crate) fn ends_connection(&self) -> bool {
        !matches!(self, Self::Refused { .. })
    }

    /// Returns true if the server does not have the key that a command needs.
    pub(crate) fn is_missing_key(&self) -> bool {
        matches!(self, Self::Refused { reason, .. } if reason.contains("no such key"))
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        if error.is_timeout() {
            return Self::TimedOut;
        }
        let kind = error.kind();
        let is_answer =
            matches!(kind, ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::UnexpectedReturnType);
        if is_answer && !error.is_connection_dropped() {
            let is_read_only = kind == ErrorKind::Server(ServerErrorKind::ReadOnly);
            return Self::Refused { reason: reason(&error), is_read_only };
        }
        Self::Disconnected(reason(&error))
    }
}

/// Returns the server's code and message.
fn reason(error: &RedisError) -> String {
    match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    }
}
