//! Finds and reads recorded sessions of clients. A client is a file with a function that reads its format.

mod claude_code;
mod codex;
mod gemini_cli;
mod opencode;
mod session;

use std::path::{Path, PathBuf};
use std::{env, io};

use serde_json::Value;

pub(super) use session::{Event, Session, Tool};

/// Reads the sessions of a file or, for `OpenCode`, of a folder or database. A file of another kind has none.
///
/// # Errors
/// What cannot be read.
pub(super) fn read_sessions(path: &Path) -> Result<Vec<Session>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
    if path.is_dir() {
        return opencode::read_folder(path).map_err(|error| failed(&error));
    }
    if path.extension().is_some_and(|extension| extension == "db") {
        return opencode::read_database(path).map_err(|error| failed(&error));
    }
    let bytes = std::fs::read(path).map_err(|error| failed(&error))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    if let Ok(document) = serde_json::from_slice::<Value>(&bytes)
        && let Some(messages) = document["messages"].as_array()
    {
        let is_export = messages.iter().any(|message| message.get("info").is_some());
        return Ok(vec![if is_export {
            opencode::read_export(&document)
        } else {
            gemini_cli::read_messages(&name, messages.clone())
        }]);
    }
    // The last line of a session that goes on may be incomplete.
    let lines: Vec<Value> =
        bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let has = |key: &str| lines.iter().take(20).any(|line| line.get(key).is_some());
    Ok(if has("projectHash") {
        vec![gemini_cli::read_lines(&name, lines)]
    } else if has("payload") || has("call_id") {
        vec![codex::read_lines(&name, &lines)]
    } else if has("message") {
        claude_code::read_lines(&name, lines)
    } else {
        Vec::new()
    })
}

/// Folders in which clients keep the sessions of this user. Those that do not exist are left out.
pub(super) fn user_folders() -> Vec<PathBuf> {
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
pub(super) fn find_transcripts(path: &Path) -> io::Result<Vec<PathBuf>> {
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
