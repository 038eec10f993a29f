//! Temporary files without a name: of snapshots that the memory has no room for, and of very long messages.

use std::path::PathBuf;

use portion_config::Config;
use portion_gateway::store::spill::{FileOpener, unlinked_in};

/// Returns an opener of temporary files for very long messages of servers, unless `snapshotDisk` is off.
pub(crate) fn overflow_opener(config: &Config) -> Option<FileOpener> {
    (config.snapshot_disk() > 0).then(opener)
}

/// Returns an opener of temporary files in the first directory that can be written. `/tmp` is the last choice, because it is
/// in memory on many systems.
pub(crate) fn opener() -> FileOpener {
    let configured = std::env::var_os("TMPDIR").map(PathBuf::from);
    let on_disk = cfg!(unix).then(|| PathBuf::from("/var/tmp"));
    unlinked_in(configured.into_iter().chain(on_disk).chain([std::env::temp_dir()]).collect())
}
