//! The file that holds the records, shared by all processes of a user.
mod open;
mod retain;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};
use thiserror::Error;

pub(crate) use open::{FileKind, NEWEST, file_kind};
pub(crate) use open::{open, with_suffix};
pub(crate) use retain::Keep;

/// The file, open for writing.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    /// Identity of the opened file, to notice that another one took its place.
    identity: Option<open::Identity>,
}

#[cfg(test)]
impl Store {
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}

/// Error of opening or writing the file.
#[derive(Debug, Error)]
pub(crate) enum StoreError {
    /// The file was written by a later version.
    #[error(
        "{path} was written by a newer Portion (schema version {found}, the newest known here is {known}): it is \
             left unchanged and nothing is recorded; update this program, or name another file"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// Newest schema version known here.
        known: i64,
    },
    /// The file is not a telemetry file.
    #[error(
        "{0} is not a Portion telemetry file: it is left unchanged and nothing is recorded; name another file"
    )]
    Foreign(PathBuf),
    /// The file is corrupt and the maximum number of corrupt copies exists.
    #[error("{0} is corrupt, and {max} corrupt copies exist already; remove them", max = open::MAX_CORRUPT_FILES)]
    TooManyCorrupt(PathBuf),
    /// Another process is opening the file.
    #[error("{0} is being opened by another process")]
    Locked(PathBuf),
    /// The file system reported an error.
    #[error("{path}: {source}")]
    Io {
        /// Path that could not be created, opened or moved.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The database reported an error.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

/// Way to recover from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recovery {
    /// Try again later.
    Wait,
    /// Open the file again later.
    Reopen,
    /// Check whether the file is corrupt.
    Inspect,
    /// Drop these records: they would fail again.
    Skip,
}

impl StoreError {
    /// Returns the message with the path; most database errors do not name it.
    pub(crate) fn describe(&self, path: &Path) -> String {
        let (message, path) = (self.to_string(), path.display().to_string());
        if matches!(self, Self::Database(_)) && !message.contains(&path) {
            format!("{path}: {message}")
        } else {
            message
        }
    }

    /// Returns the way to recover.
    pub(crate) fn recovery(&self) -> Recovery {
        let Self::Database(error) = self else { return Recovery::Reopen };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Recovery::Inspect,
            Some(
                ErrorCode::Unknown
                | ErrorCode::TooBig
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::ParameterOutOfRange
                | ErrorCode::ApiMisuse,
            )
            | None => Recovery::Skip,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull) => Recovery::Wait,
            Some(_) => Recovery::Reopen,
        }
    }
}
