//! Corrupt files are set aside, never deleted: someone may want to save what is in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lock::with_suffix;
use super::trouble::Trouble;

/// Corrupt files that are kept.
pub(super) const MOST: usize = 9;

/// Moves the file, and what `SQLite` keeps beside it, out of the way, and tells where it is. The lock is held.
pub(super) fn set_aside(path: &Path) -> Result<PathBuf, Trouble> {
    let places = (1..=MOST).map(|number| with_suffix(path, &format!(".corrupt-{number}")));
    let place = places.into_iter().find(|place| !place.exists());
    let Some(place) = place else { return Err(Trouble::Littered(path.to_owned())) };
    for suffix in ["-wal", "-shm", ""] {
        let from = with_suffix(path, suffix);
        match fs::rename(&from, with_suffix(&place, suffix)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Trouble::Files { path: from, source }),
        }
    }
    Ok(place)
}
