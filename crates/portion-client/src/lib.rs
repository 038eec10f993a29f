//! A budgeted client of retrieval tools: orders the chunks of a result by score and keeps whole ones while they fit a
//! token budget. [`check`] reads what a server's tools answer and proposes settings.
//!
//! [`read_chunks`] finds the chunks in the result of a tool, [`select`](select::select) chooses those
//! that are kept. Both are pure: equal input gives equal output. [`fetch`] calls the tool first, with a
//! [`Client`].
//!
//! ```
//! use portion_client::read::{FieldNames, read_chunks};
//! use portion_client::select::{Fill, select};
//! use portion_tokens::Tokenizer;
//!
//! let result = r#"{"content":[],"structuredContent":{"results":[
//!     {"id":"a","text":"A grapple ends when the target breaks free.","score":0.4},
//!     {"id":"b","text":"You can use an action to grapple a creature.","score":0.9}]}}"#;
//! let chunks = read_chunks(result, &FieldNames::default())?;
//! let kept = select(chunks, 11, Tokenizer::Len4.counter(), Fill::Stop);
//! assert_eq!(kept.chunks[0].id.as_deref(), Some("\"b\""));
//! assert_eq!((kept.tokens, kept.dropped.len(), kept.is_truncated()), (11, 1, true));
//! # Ok::<(), portion_client::read::ReadError>(())
//! ```
//!
//! # Modules
//!
//! | module | subject |
//! | --- | --- |
//! | `read` | chunks in a tool's result: `tool_result` takes it apart, `list` finds the list, `fields` has the usual names, `json` steps through JSON text |
//! | `select` | order and budget: the most valuable set of chunks |
//! | `chunk` | `Chunk`, `FetchResult`, and its JSON |
//! | `client` | a small MCP client on the links of `portion-mcp`: `connection` has the requests, and opens a session or uses 2026-07-28, `shortened` reads the rest of a result that a Portion on the way shortened |
//! | `check` | what the tools of a server and their results show, and proposed settings |

pub mod check;
mod chunk;
pub mod client;
pub mod read;
pub mod select;

use portion_tokens::Tokenizer;
use thiserror::Error;

use client::{Client, ClientError};
use read::{FieldNames, ReadError, read_chunks};
use select::{Fill, select};

pub use chunk::{Chunk, DropReason, DroppedChunk, FetchResult};

/// Default of [`FetchRequest::max_context_tokens`].
pub const MAX_CONTEXT_TOKENS: usize = 8192;

/// Names a tool, its arguments and the budget of its chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchRequest {
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the tool, a JSON object.
    pub arguments: String,
    /// Names of the fields of a chunk.
    pub names: FieldNames,
    /// Budget.
    pub max_context_tokens: usize,
    /// Counter of the budget.
    pub tokenizer: Tokenizer,
    /// Treatment of the chunks after one that does not fit.
    pub fill: Fill,
}

/// Reason that nothing was fetched.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The tool could not be called.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The result has no chunks.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl FetchRequest {
    /// Creates a request with the defaults: 8,192 tokens by `len4`, `stop`, the usual names.
    pub fn new(tool: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self {
            tool: tool.into(),
            arguments: arguments.into(),
            names: FieldNames::default(),
            max_context_tokens: MAX_CONTEXT_TOKENS,
            tokenizer: Tokenizer::Len4,
            fill: Fill::Stop,
        }
    }
}

impl FetchError {
    /// Returns the error without the last lines of the server's stderr: see [`ClientError::without_stderr`].
    #[must_use]
    pub fn without_stderr(self) -> Self {
        match self {
            Self::Client(error) => Self::Client(error.without_stderr()),
            other @ Self::Read(_) => other,
        }
    }
}

/// Calls the tool and selects the chunks of its result.
///
/// # Errors
/// Returns [`FetchError`] if the call fails or its result has no chunks.
pub async fn fetch(client: &mut Client, request: &FetchRequest) -> Result<FetchResult, FetchError> {
    let result = client.call_tool(&request.tool, &request.arguments).await?;
    let chunks = read_chunks(&result, &request.names)?;
    Ok(select(chunks, request.max_context_tokens, request.tokenizer.counter(), request.fill))
}
