//! Recorded sessions of clients: what was called and returned, in order.
//!
//! A client is a file with a function that reads its format.

mod claude_code;
mod codex;
mod find;
mod gemini_cli;
mod opencode;

use std::path::Path;

use serde_json::Value;

pub(super) use find::{find_transcripts, user_folders};

/// A recorded session.
#[derive(Debug, PartialEq)]
pub(super) struct Session {
    /// Name that the client gives itself to servers.
    pub(super) client: &'static str,
    pub(super) id: String,
    pub(super) events: Vec<Event>,
}

/// Something that happened in a session.
#[derive(Debug, PartialEq)]
pub(super) enum Event {
    /// A text of the user.
    Prompt(String),
    /// A request to the model: all that was before it is sent. With the tokens of the whole, if they are recorded.
    Turn(Option<u64>),
    Call {
        id: String,
        tool: Tool,
        arguments: Value,
    },
    Result {
        id: String,
        /// Texts of the result as the tool returned them.
        texts: Vec<String>,
        /// What the client sent of them, if that differs.
        sent: Option<String>,
        is_error: bool,
    },
    /// Earlier results are no longer sent.
    Compaction,
}

/// A called tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tool {
    /// Server that has it; `None` for the client's own tools.
    pub(super) server: Option<String>,
    pub(super) name: String,
}

impl Tool {
    /// Creates a tool from the name that Claude Code and Codex give to those of servers: `mcp__SERVER__TOOL`.
    fn from_mcp_name(name: &str) -> Self {
        let of_server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        match of_server {
            Some((server, name)) => Self { server: Some(server.to_owned()), name: name.to_owned() },
            None => Self { server: None, name: name.to_owned() },
        }
    }
}

/// Reads the sessions of a file or, for OpenCode, of a folder or database. A file of another kind has none.
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
        return Ok(match messages.iter().any(|message| message.get("info").is_some()) {
            true => vec![opencode::read_export(&document)],
            false => vec![gemini_cli::read_messages(&name, messages.clone())],
        });
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

/// Returns the texts of a content: a text, or a list of blocks with texts.
fn texts_of(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            let text = |block: &Value| block["text"].as_str().map(str::to_owned);
            blocks
                .iter()
                .filter_map(|block| text(block).or_else(|| block.as_str().map(str::to_owned)))
                .collect()
        }
        _ => Vec::new(),
    }
}
