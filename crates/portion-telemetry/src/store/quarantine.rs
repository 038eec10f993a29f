//! Moves corrupt files out of the way. They are never deleted, because their content may be recoverable.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::lock::with_suffix;

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
