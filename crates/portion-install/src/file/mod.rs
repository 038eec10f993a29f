//! Reads and writes configuration files.

mod state;
mod write;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub(crate) use state::Memory;
pub use state::{Record, State};
pub use write::{Replacement, write_all};

/// Largest file that is read.
pub const MAX_BYTES: u64 = 64 << 20;

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Path that was given.
    pub path: PathBuf,
    /// Path of the file itself, with links followed.
    pub target: PathBuf,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Reason that a file is not read or not written.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be read.
    #[error(
        "cannot read {path}: {source}; check the path and its permissions, or leave it out with --client or --file"
    )]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It is a directory or a device.
    #[error("{path} is not a file: name a file with --file")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// It is too large.
    #[error(
        "{path} has {bytes} bytes, and at most {MAX_BYTES} are read: check whether it is a configuration file"
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// It is not UTF-8.
    #[error("{path}:{line}: not UTF-8: save the file as UTF-8")]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Line of the first invalid byte.
        line: usize,
    },
    /// It may not be written.
    #[error("{path} is read-only: make it writable, or leave it out with --client or --file")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another program has written it.
    #[error("{path} has changed since it was read: end the client that writes it, and repeat the command")]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write {path}: {source}; check the permissions of its directory")]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The backup cannot be written.
    #[error("cannot write the backup {path}: {source}; set XDG_STATE_HOME to a writable directory")]
    Backup {
        /// The backup.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl Snapshot {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read whole.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let failed = |source| FileError::Read { path: path.to_owned(), source };
        let target = fs::canonicalize(path).map_err(failed)?;
        let metadata = fs::metadata(&target).map_err(failed)?;
        if !metadata.is_file() {
            return Err(FileError::NotAFile { path: path.to_owned() });
        }
        if metadata.len() > MAX_BYTES {
            return Err(FileError::TooLarge { path: path.to_owned(), bytes: metadata.len() });
        }
        let bytes = fs::read(&target).map_err(failed)?;
        Ok(Self { path: path.to_owned(), target, bytes })
    }

    /// Returns the content as text, byte order mark included.
    ///
    /// # Errors
    /// Returns the line of the first byte that is not UTF-8.
    pub fn text(&self) -> Result<&str, FileError> {
        std::str::from_utf8(&self.bytes).map_err(|error| {
            let before = self.bytes.iter().take(error.valid_up_to());
            let line = before.filter(|byte| **byte == b'\n').count() + 1;
            FileError::NotUtf8 { path: self.path.clone(), line }
        })
    }
}

/// Returns false if there is nothing at a path. What cannot be read counts, and so does a dangling link: [`Snapshot::read`]
/// says why.
pub fn is_present(path: &Path) -> bool {
    !path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
