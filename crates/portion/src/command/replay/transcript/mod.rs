//! Reads recorded sessions of clients. A client is a file with a function that reads its format.

mod claude_code;
mod codex;
mod find;
mod gemini_cli;
mod opencode;
mod session;

use std::path::Path;

use serde_json::Value;

pub(super) use find::{find_transcripts, user_folders};
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
