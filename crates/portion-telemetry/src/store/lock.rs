//! One process at a time opens the file, migrates it, or sets it aside.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::trouble::Trouble;

/// How often it is tried, and what lies between: together what opening may take.
const TRIES: usize = 50;
const BETWEEN: Duration = Duration::from_millis(20);

/// The right to open the file, until dropped.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "is held, not used")] File);

impl Lock {
    /// Takes it. It is a file of its own: whoever closes a database file beside `SQLite` ends `SQLite`'s locks on it.
    pub(super) fn take(path: &Path) -> Result<Self, Trouble> {
        let beside = with_suffix(path, ".lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        owner_only(&mut options);
        let told = |source| Trouble::Files { path: beside.clone(), source };
        let file = options.open(&beside).map_err(told)?;
        for _ in 0..TRIES {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN),
                Err(TryLockError::Error(source)) => return Err(told(source)),
            }
        }
        Err(Trouble::Locked(path.to_owned()))
    }
}

/// The path with something at its end.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A file that is made is its owner's alone.
pub(super) fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}
