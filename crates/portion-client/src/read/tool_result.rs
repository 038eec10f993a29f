//! The result of `tools/call`: its texts and its structured content, or why it has no chunks.

use portion_json::scan::JsonKind;
use thiserror::Error;

use super::json;

/// Reason that a result has no chunks that can be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReadError {
    /// The tool reported an error.
    #[error("the tool reported an error: {0}")]
    Tool(String),
    /// The message is not the result of a tool.
    #[error("the answer is not the result of a tool: {0}")]
    NotAResult(String),
    /// The result is not the final one.
    #[error("the tool did not finish: its result is `{0}`, and only complete results can be read")]
    Incomplete(String),
    /// There is no list of chunks.
    #[error("no list of chunks in the result ({0}): name the member that holds it with --list-field")]
    NoList(String),
    /// The named list is not there.
    #[error(
        "no list at `{name}` in the result ({found}): --list-field names the member that holds the chunks"
    )]
    ListNotFound {
        /// The given name.
        name: String,
        /// Description of what there is.
        found: String,
    },
    /// There are several lists, and none comes first.
    #[error(
        "the result has chunks in several places ({0}): name the member that holds their list with --list-field"
    )]
    SeveralLists(String),
    /// No record has a text.
    #[error("no chunk has a text in `{name}` (its fields: {fields}): name the field with --text-field")]
    NoText {
        /// The given name, or the first of the common ones.
        name: String,
        /// Fields of the first record.
        fields: String,
    },
    /// No record has the named score.
    #[error("no chunk has a number in `{name}` (its fields: {fields}): name the field with --score-field")]
    NoScore {
        /// The given name.
        name: String,
        /// Fields of the first record.
        fields: String,
    },
}

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
