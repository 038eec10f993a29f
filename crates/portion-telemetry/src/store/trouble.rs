//! Why nothing can be written, and what is to be done about it.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why nothing can be written.
#[derive(Debug, Error)]
pub(crate) enum Trouble {
    /// A later version of this program made the file.
    #[error(
        "{path} was written by a newer Portion (version {found} of the records, {known} is the newest known): it is \
             left as it is, and nothing is recorded; update this program, or name another file"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its schema.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// It is no file of ours.
    #[error("{0} is no file of telemetry: it is left as it is, and nothing is recorded; name another file")]
    Foreign(PathBuf),
    /// Corrupt files stand beside it already, as many as are kept.
    #[error("{0} is corrupt, and so are the {most} files that stand beside it; remove those", most = super::aside::MOST)]
    Littered(PathBuf),
    /// Another process is opening it.
    #[error("{0} is being opened by another process")]
    Locked(PathBuf),
    /// The file system said no.
    #[error("{path}: {source}")]
    Files {
        /// What could not be made, opened, or moved.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The database said no.
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cure {
    /// Try again later: it may pass.
    Wait,
    /// Open the file anew, later.
    Reopen,
    /// See whether the file is corrupt.
    Inspect,
    /// Do without these records: they would fail again.
    Skip,
}

impl Trouble {
    /// What is wrong with that file, by its name: what the database says mostly has none.
    pub(crate) fn of(&self, path: &Path) -> String {
        let (said, path) = (self.to_string(), path.display().to_string());
        if matches!(self, Self::Database(_)) && !said.contains(&path) {
            format!("{path}: {said}")
        } else {
            said
        }
    }

    /// What is to be done.
    pub(crate) fn cure(&self) -> Cure {
        let Self::Database(error) = self else { return Cure::Reopen };
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Cure::Inspect,
            Some(
                ErrorCode::Unknown
                | ErrorCode::TooBig
                | ErrorCode::ConstraintViolation
                | ErrorCode::TypeMismatch
                | ErrorCode::ParameterOutOfRange
                | ErrorCode::ApiMisuse,
            )
            | None => Cure::Skip,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull) => Cure::Wait,
            Some(_) => Cure::Reopen,
        }
    }
}
