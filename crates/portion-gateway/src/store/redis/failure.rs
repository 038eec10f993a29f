//! Failures of the store, and what follows from each.

use redis::{ErrorKind, RedisError, ServerError, ServerErrorKind};
use thiserror::Error;

/// Result of an operation.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

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

    /// Returns true if the server refuses to write, whatever the key: it may be full.
    pub(crate) fn refuses_writes(&self) -> bool {
        let is_refused = matches!(self, Self::Refused { reason, .. } if !reason.starts_with("WRONGTYPE"));
        is_refused && !self.is_missing_key()
    }
}

impl From<RedisError> for Failure {
    fn from(error: RedisError) -> Self {
        if error.is_timeout() {
            return Self::TimedOut;
        }
        let is_answer = matches!(
            error.kind(),
            ErrorKind::Server(_) | ErrorKind::Extension | ErrorKind::UnexpectedReturnType
        );
        let reason = error.to_string();
        if !is_answer || error.is_connection_dropped() {
            return Self::Disconnected(reason);
        }
        // Of several commands, the first that was refused says why.
        let errors = error.into_server_errors();
        match errors.as_deref().and_then(<[_]>::first) {
            Some((_, refusal)) => Self::Refused {
                reason: message(refusal),
                is_read_only: refusal.kind() == Some(ServerErrorKind::ReadOnly),
            },
            None => Self::Refused { reason, is_read_only: false },
        }
    }
}

/// Returns the server's code and message.
fn message(refusal: &ServerError) -> String {
    match refusal.details() {
        Some(details) => format!("{} {details}", refusal.code()),
        None => refusal.code().to_owned(),
    }
}
