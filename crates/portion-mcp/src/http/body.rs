//! HTTP bodies: built, streamed, or read as a whole within a limit.
//!
//! ```
//! use portion_mcp::http::body::{full, read_all};
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! assert_eq!(runtime.block_on(read_all(full("{}"), 2)).unwrap(), b"{}");
//! assert!(runtime.block_on(read_all(full("{} "), 2)).is_err());
//! # Ok::<(), std::io::Error>(())
//! ```

use bytes::Bytes;
use futures_util::Stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Body as HttpBody, Frame};
use thiserror::Error;

/// Longest body of an error response that is read, in bytes.
const MAX_ERROR_BODY_BYTES: usize = 64 << 10;

/// Body of a request or response.
pub type Body = UnsyncBoxBody<Bytes, TruncatedBody>;

/// A body that ended too early; its bytes must not be taken for the whole body.
#[derive(Debug, Error)]
#[error("the body was truncated: {0}")]
pub struct TruncatedBody(pub Box<dyn std::error::Error + Send + Sync>);

impl TruncatedBody {
    /// Creates the error from that of another body, which may already be this one.
    pub fn from_error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let error: Box<dyn std::error::Error + Send + Sync> = error.into();
        match error.downcast::<Self>() {
            Ok(truncated) => *truncated,
            Err(other) => Self(other),
        }
    }
}

/// Error of reading a body.
#[derive(Debug, Error)]
pub enum ReadBodyError {
    /// The body is longer than this limit in bytes.
    #[error("the body exceeds {0} bytes")]
    TooLarge(usize),
    /// The body ended too early.
    #[error(transparent)]
    Truncated(#[from] TruncatedBody),
}

/// Returns a body of these bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Returns an empty body.
pub fn empty() -> Body {
    full(Bytes::new())
}

/// Returns a body that streams these chunks.
pub fn from_stream(bytes: impl Stream<Item = Result<Bytes, TruncatedBody>> + Send + 'static) -> Body {
    use futures_util::StreamExt as _;
    StreamBody::new(bytes.map(|bytes| bytes.map(Frame::data))).boxed_unsync()
}

/// Returns a body that forwards a received body.
pub fn pass_through<B>(body: B) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    body.map_err(TruncatedBody::from_error).boxed_unsync()
}

/// Reads a whole body of at most `limit` bytes.
///
/// # Errors
/// Returns [`ReadBodyError`] if it is larger or ends too early.
pub async fn read_all<B>(mut body: B, limit: usize) -> Result<Vec<u8>, ReadBodyError>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let size_hint = body.size_hint();
    if size_hint.lower() > limit as u64 {
        return Err(ReadBodyError::TooLarge(limit));
    }
    // The announced length is not trusted: memory grows with the bytes received.
    let mut all = Vec::with_capacity((size_hint.lower() as usize).min(64 << 10));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(TruncatedBody::from_error)?;
        let Some(bytes) = frame.data_ref() else { continue };
        if bytes.len() > limit - all.len() {
            return Err(ReadBodyError::TooLarge(limit));
        }
        all.extend_from_slice(bytes);
    }
    Ok(all)
}

/// Reads the body of an error response, of at most 64 KiB.
///
/// # Errors
/// Returns [`ReadBodyError`] if it is larger or ends too early.
pub(crate) async fn read_error(body: Body) -> Result<Vec<u8>, ReadBodyError> {
    read_all(body, MAX_ERROR_BODY_BYTES).await
}
