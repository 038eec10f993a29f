//! Calls a retrieval tool and keeps the best chunks of its result.

use portion_tokens::Tokenizer;
use thiserror::Error;

use crate::FetchResult;
use crate::client::{Client, ClientError};
use crate::read::{FieldNames, ReadError, read_chunks};
use crate::select::{Fill, select};

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

/// Calls the tool and selects the chunks of its result.
///
/// # Errors
/// Returns [`FetchError`] if the call fails or its result has no chunks.
pub async fn fetch(client: &mut Client, request: &FetchRequest) -> Result<FetchResult, FetchError> {
    let result = client.call_tool(&request.tool, &request.arguments).await?;
    let chunks = read_chunks(&result, &request.names)?;
    Ok(select(chunks, request.max_context_tokens, request.tokenizer.counter(), request.fill))
}
