//! The path of this program, as it is written to configurations.

use std::path::{Path, PathBuf};

/// Returns the absolute path of this program. If a directory of `PATH` leads to it, that path is used: package managers
/// keep it over an update, while the file itself moves.
pub(super) fn own_path() -> Result<String, String> {
    let file = std::env::current_exe().map_err(|error| format!("the path of portion is unknown: {error}"))?;
    let path = on_search_path(&file).unwrap_or(file);
    let name = path.display().to_string();
    path.into_os_string().into_string().map_err(|_| {
        format!("{name} is not Unicode, so that no configuration can contain it: move portion to another directory")
    })
}

fn on_search_path(file: &Path) -> Option<PathBuf> {
    let own = file.canonicalize().ok()?;
    let name = file.file_name()?;
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| candidate.canonicalize().is_ok_and(|found| found == own))
}
