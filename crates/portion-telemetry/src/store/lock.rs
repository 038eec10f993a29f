//! Lock file: one process at a time opens, migrates or moves the file. Corrupt files are moved out of the way and never
//! deleted, because their content may be recoverable.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{io, thread};

use super::error::StoreError;

/// Attempts to take the lock and the pause between two of them. Their product is the maximum wait.
const LOCK_ATTEMPTS: usize = 50;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Exclusive right to open the file, until dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "is held, not used")] File);

impl Lock {
    /// Takes the lock. It is a separate file, because closing a database file in the same process would release
    /// `SQLite`'s locks on it.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let beside = with_suffix(path, ".lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        owner_only(&mut options);
        let io_error = |source| StoreError::Io { path: beside.clone(), source };
        let file = options.open(&beside).map_err(io_error)?;
        for _ in 0..LOCK_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY_INTERVAL),
                Err(TryLockError::Error(source)) => return Err(io_error(source)),
            }
        }
        Err(StoreError::Locked(path.to_owned()))
    }
}

/// Returns the path with `suffix` appended.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Restricts a new file to its owner.
pub(super) fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Maximum number of corrupt files kept.
pub(super) const MAX_CORRUPT_FILES: usize = 9;

/// Moves the file and its `-wal` and `-shm` files, and returns the new path. The caller holds the lock.
pub(super) fn quarantine(path: &Path) -> Result<PathBuf, StoreError> {
    let places = (1..=MAX_CORRUPT_FILES).map(|number| with_suffix(path, &format!(".corrupt-{number}")));
    let place = places.into_iter().find(|place| !place.exists());
    let Some(place) = place else { return Err(StoreError::TooManyCorrupt(path.to_owned())) };
    for suffix in ["-wal", "-shm", ""] {
        let from = with_suffix(path, suffix);
        match fs::rename(&from, with_suffix(&place, suffix)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(StoreError::Io { path: from, source }),
        }
    }
    Ok(place)
}
