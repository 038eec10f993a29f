//! Temporary files without a name, of snapshots that the memory has no room for.

use std::path::PathBuf;

use portion_gateway::store::spill::{FileOpener, unlinked_in};

/// Returns an opener of temporary files in the first directory that can be written. `/tmp` is the last choice, because it is
/// in memory on many systems.
pub(crate) fn opener() -> FileOpener {
    let configured = std::env::var_os("TMPDIR").map(PathBuf::from);
    let on_disk = cfg!(unix).then(|| PathBuf::from("/var/tmp"));
    unlinked_in(configured.into_iter().chain(on_disk).chain([std::env::temp_dir()]).collect())
}
