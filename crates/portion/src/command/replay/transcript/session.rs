//! A recorded session: what was called and returned, in order.

use serde_json::Value;

/// A recorded session.
#[derive(Debug, PartialEq)]
pub(in super::super) struct Session {
    /// Name that the client gives itself to servers.
    pub(in super::super) client: &'static str,
    pub(in super::super) id: String,
    pub(in super::super) events: Vec<Event>,
}

/// Something that happened in a session.
#[derive(Debug, PartialEq)]
pub(in super::super) enum Event {
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
pub(in super::super) struct Tool {
    /// Server that has it; `None` for the client's own tools.
    pub(in super::super) server: Option<String>,
    pub(in super::super) name: String,
}

impl Tool {
    /// Creates a tool from the name that Claude Code and Codex give to those of servers: `mcp__SERVER__TOOL`.
    pub(super) fn from_mcp_name(name: &str) -> Self {
        let of_server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
        match of_server {
            Some((server, name)) => Self { server: Some(server.to_owned()), name: name.to_owned() },
            None => Self { server: None, name: name.to_owned() },
        }
    }
}

/// Returns the texts of a content: a text, or a list of blocks with texts.
pub(super) fn texts_of(content: &Value) -> Vec<String> {
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
