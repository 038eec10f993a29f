//! Finds transcripts: those of the user, or those below a path.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

/// Folders in which clients keep the sessions of this user. Those that do not exist are left out.
pub(crate) fn user_folders() -> Vec<PathBuf> {
    let home = env::home_dir().unwrap_or_default();
    let folder =
        |variable: &str, usual: &str| env::var_os(variable).map_or_else(|| home.join(usual), PathBuf::from);
    let folders = [
        folder("CLAUDE_CONFIG_DIR", ".claude").join("projects"),
        folder("CODEX_HOME", ".codex").join("sessions"),
        home.join(".gemini/tmp"),
        folder("XDG_DATA_HOME", ".local/share").join("opencode"),
    ];
    folders.into_iter().filter(|folder| folder.is_dir()).collect()
}

/// Returns the transcripts below a path, in order: files, and folders of `OpenCode`.
///
/// # Errors
/// If a folder cannot be read.
pub(crate) fn find_transcripts(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![path.to_owned()];
    while let Some(path) = pending.pop() {
        if !path.is_dir() {
            let extension = path.extension().unwrap_or_default();
            let is_database = path.file_name().is_some_and(|name| name == "opencode.db");
            if extension == "jsonl" || extension == "json" || is_database {
                found.push(path);
            }
        } else if path.join("message").is_dir() && path.join("part").is_dir() {
            found.push(path);
        } else {
            for entry in std::fs::read_dir(&path)? {
                let entry = entry?;
                // A link may lead back.
                if !entry.file_type()?.is_symlink() {
                    pending.push(entry.path());
                }
            }
        }
    }
    found.sort();
    Ok(found)
}
