//! Bodies: whole within a limit, or as they come.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use thiserror::Error;

/// A body on its way to whoever asked, or to whom we ask.
pub type Body = UnsyncBoxBody<Bytes, TruncatedBody>;

/// A body that ended before its time: whoever reads it must not take it for whole.
#[derive(Debug, Error)]
#[error("the body broke off: {0}")]
pub struct TruncatedBody(pub Box<dyn std::error::Error + Send + Sync>);

/// Why a body could not be read.
#[derive(Debug, Error)]
pub enum ReadBodyError {
    /// It is longer than this many bytes.
    #[error("the body has more than {0} bytes")]
    TooLarge(usize),
    /// It ended before its time.
    #[error(transparent)]
    Truncated(#[from] TruncatedBody),
}

/// A body of these bytes.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body of nothing.
pub fn empty() -> Body {
    full(Bytes::new())
}

/// A body of what comes.
pub fn from_stream(bytes: impl Stream<Item = Result<Bytes, TruncatedBody>> + Send + 'static) -> Body {
    use futures_util::StreamExt as _;
    StreamBody::new(bytes.map(|bytes| bytes.map(Frame::data))).boxed_unsync()
}

/// The same body, which keeps something until it has ended or been given up.
pub fn with_guard<T: Send + Unpin + 'static>(body: Body, thing: T) -> Body {
    GuardedBody { body, _guard: thing }.boxed_unsync()
}

/// A body, and what is dropped with it.
struct GuardedBody<T> {
    body: Body,
    _guard: T,
}

impl<T: Unpin> HttpBody for GuardedBody<T> {
    type Data = Bytes;
    type Error = TruncatedBody;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, TruncatedBody>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body that came, to be passed on as it comes.
pub fn pass_through<B>(body: B) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    body.map_err(|error| TruncatedBody(error.into())).boxed_unsync()
}

/// All of a body that has at most `limit` bytes.
///
/// # Errors
/// [`ReadBodyError`] where it is larger, or breaks off.
pub async fn read_all<B>(mut body: B, limit: usize) -> Result<Vec<u8>, ReadBodyError>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let promised = body.size_hint();
    if promised.lower() > limit as u64 {
        return Err(ReadBodyError::TooLarge(limit));
    }
    // What is promised is not yet there: memory follows what comes.
    let mut all = Vec::with_capacity((promised.lower() as usize).min(64 << 10));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| TruncatedBody(error.into()))?;
        let Some(bytes) = frame.data_ref() else { continue };
        if bytes.len() > limit - all.len() {
            return Err(ReadBodyError::TooLarge(limit));
        }
        all.extend_from_slice(bytes);
    }
    Ok(all)
}
