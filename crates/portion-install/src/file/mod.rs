//! Reads and writes configuration files.

mod state;

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};
use thiserror::Error;

pub(crate) use state::Memory;
pub use state::{Record, State};

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
    #[error("{0} is not a file: name a file with --file")]
    NotAFile(PathBuf),
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
    #[error("{0} is read-only: make it writable, or leave it out with --client or --file")]
    ReadOnly(PathBuf),
    /// Another program has written it.
    #[error("{0} has changed since it was read: end the client that writes it, and repeat the command")]
    Changed(PathBuf),
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
            return Err(FileError::NotAFile(path.to_owned()));
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

/// A file and its new content.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// The file as it was read.
    pub old: &'a Snapshot,
    /// New content.
    pub bytes: &'a [u8],
}

/// Replaces the files, each by a rename. `before_rename` runs when all new contents are on disk and no file has changed.
///
/// If a rename fails, the files that were already replaced get their old bytes back.
///
/// # Errors
/// Returns an error if a file is read-only, has changed since it was read, or cannot be written, and any error of
/// `before_rename`. Then all files are as they were.
pub fn write_all(
    replacements: &[Replacement<'_>],
    before_rename: impl FnOnce() -> Result<(), FileError>,
) -> Result<(), FileError> {
    let prepared = replacements.iter().map(|one| prepare(one.old, one.bytes));
    let prepared = prepared.collect::<Result<Vec<NamedTempFile>, FileError>>()?;
    before_rename()?;
    for one in replacements {
        check_unchanged(one.old)?;
    }
    for (index, (one, new)) in replacements.iter().zip(prepared).enumerate() {
        if let Err(error) = replace(one.old, new) {
            for Replacement { old, .. } in &replacements[..index] {
                let _ = prepare(old, &old.bytes).and_then(|back| replace(old, back));
            }
            return Err(error);
        }
        sync_folder(&one.old.target);
    }
    Ok(())
}

fn failed(file: &Snapshot, source: io::Error) -> FileError {
    FileError::Write { path: file.path.clone(), source }
}

fn replace(old: &Snapshot, new: NamedTempFile) -> Result<(), FileError> {
    new.persist(&old.target).map(drop).map_err(|error| failed(old, error.error))
}

/// Writes a new content beside the file, with its permissions and owner. Dropped, it is removed.
fn prepare(old: &Snapshot, bytes: &[u8]) -> Result<NamedTempFile, FileError> {
    let metadata = fs::metadata(&old.target).map_err(|source| failed(old, source))?;
    if metadata.permissions().readonly() {
        return Err(FileError::ReadOnly(old.path.clone()));
    }
    let fill = || -> io::Result<NamedTempFile> {
        let folder = old.target.parent().unwrap_or(Path::new("."));
        let mut new = Builder::new().prefix(".portion-").tempfile_in(folder)?;
        new.write_all(bytes)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt as _;
            // Only root may give a file away. Another user keeps it.
            let _ = std::os::unix::fs::fchown(new.as_file(), Some(metadata.uid()), Some(metadata.gid()));
        }
        new.as_file().set_permissions(metadata.permissions())?;
        new.as_file().sync_all()?;
        Ok(new)
    };
    fill().map_err(|source| failed(old, source))
}

fn check_unchanged(file: &Snapshot) -> Result<(), FileError> {
    let same_target = fs::canonicalize(&file.path).is_ok_and(|target| target == file.target);
    let same_bytes = fs::read(&file.target).is_ok_and(|bytes| bytes == file.bytes);
    if same_target && same_bytes { Ok(()) } else { Err(FileError::Changed(file.path.clone())) }
}

/// Makes a rename durable, where the system can.
fn sync_folder(target: &Path) {
    if let Some(folder) = target.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
}
