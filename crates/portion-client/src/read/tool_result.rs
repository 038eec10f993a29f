//! The result of `tools/call`: its texts and its structured content.

use portion_json::scan::JsonKind;

use super::error::ReadError;
use super::json;

/// Longest text of a failed tool that an error repeats, in characters.
const MAX_MESSAGE: usize = 2000;

/// Content of a result.
#[derive(Debug)]
pub(super) struct ToolResult {
    /// Texts of the blocks and of embedded resources. Images, sounds and links have none.
    pub(super) texts: Vec<String>,
    /// `structuredContent`, if it is there and not null.
    pub(super) structured: Option<String>,
    /// True if there are no blocks and no structured content.
    pub(super) is_empty: bool,
}

impl ToolResult {
    pub(super) fn parse(result: &str) -> Result<Self, ReadError> {
        let shown = || result.chars().take(60).collect::<String>();
        let members = json::members(result).ok_or_else(|| ReadError::NotAResult(shown()))?;
        let state = json::member(&members, "resultType").and_then(json::string);
        if let Some(state) = state.filter(|state| state != "complete") {
            return Err(ReadError::Incomplete(state));
        }
        let content = json::member(&members, "content");
        let structured = json::member(&members, "structuredContent").filter(|value| *value != "null");
        if content.is_none() && structured.is_none() {
            return Err(ReadError::NotAResult(shown()));
        }
        let blocks = content.and_then(json::items).unwrap_or_default();
        let is_empty = blocks.is_empty() && structured.is_none();
        let texts: Vec<String> = blocks.into_iter().filter_map(text_of_block).collect();
        if json::member(&members, "isError") == Some("true") {
            let message = texts.join("\n");
            let message = message.trim();
            return Err(ReadError::Tool(match message.char_indices().nth(MAX_MESSAGE) {
                Some((end, _)) => format!("{}…", &message[..end]),
                None if message.is_empty() => "without a message".to_owned(),
                None => message.to_owned(),
            }));
        }
        Ok(Self { texts, structured: structured.map(str::to_owned), is_empty })
    }
}

fn text_of_block(block: &str) -> Option<String> {
    let members = json::members(block)?;
    if let Some(text) = json::member(&members, "text") {
        return json::string(text);
    }
    let resource = json::member(&members, "resource")?;
    if JsonKind::of_value(resource) != JsonKind::Object {
        return None;
    }
    json::member(&json::members(resource)?, "text").and_then(json::string)
}
