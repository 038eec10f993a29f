//! HTTP bodies: built, streamed, decoded, or read as a whole within a limit.
//!
//! ```
//! use portion_mcp::http::body::{full, read_all};
//!
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! assert_eq!(runtime.block_on(read_all(full("{}"), 2)).unwrap(), b"{}");
//! assert!(runtime.block_on(read_all(full("{} "), 2)).is_err());
//! # Ok::<(), std::io::Error>(())
//! ```

use std::pin::Pin;

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Body as HttpBody, Frame, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use portion_net::forwarding::is_zlib;
use portion_text::display::shortened;
use thiserror::Error;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead};
use tokio_util::io::{ReaderStream, StreamReader};

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

/// Returns the media type of a body, in lower case and without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).map(|value| String::from_utf8_lossy(value.as_bytes()));
    value.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
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
pub async fn read_error(body: Body) -> Result<Vec<u8>, ReadBodyError> {
    read_all(body, MAX_ERROR_BODY_BYTES).await
}

/// A content encoding that is not supported, and was not requested.
#[derive(Debug, Error)]
#[error(
    "the body is compressed as `{}`, which was not requested; configure the server to send gzip, deflate, br or plain bodies",
    shortened(.0)
)]
pub struct UnsupportedEncoding(String);

/// Decodes a body and adapts its header fields. It is decoded while it is read: the reader must limit its size.
///
/// # Errors
/// Returns [`UnsupportedEncoding`] if it is encoded otherwise than as gzip, deflate or br.
pub fn decode_body(fields: &mut HeaderMap, body: Incoming) -> Result<Body, UnsupportedEncoding> {
    let Some(coding) = fields.get(CONTENT_ENCODING) else { return Ok(pass_through(body)) };
    let coding = String::from_utf8_lossy(coding.as_bytes()).trim().to_ascii_lowercase();
    let plain = match coding.as_str() {
        "" | "identity" => pass_through(body),
        "gzip" | "x-gzip" => decoded_body(gzip_decoder(body_reader(body))),
        "deflate" => plain_body(stream::once(deflated(body_reader(body))).try_flatten()),
        "br" => decoded_body(BrotliDecoder::new(body_reader(body))),
        _ => return Err(UnsupportedEncoding(coding)),
    };
    fields.remove(CONTENT_ENCODING);
    fields.remove(CONTENT_LENGTH);
    Ok(plain)
}

fn body_reader(body: Incoming) -> impl AsyncBufRead + Send + Unpin {
    let bytes = body.into_data_stream().map_err(std::io::Error::other);
    StreamReader::new(bytes)
}

/// A body of gzip may have several members, one after another.
fn gzip_decoder<R: AsyncBufRead>(reader: R) -> GzipDecoder<R> {
    let mut decoder = GzipDecoder::new(reader);
    decoder.multiple_members(true);
    decoder
}

/// Decodes `deflate`, with or without the header of the zlib format.
async fn deflated(
    mut reader: impl AsyncBufRead + Send + Unpin + 'static,
) -> std::io::Result<Pin<Box<dyn Stream<Item = std::io::Result<Bytes>> + Send>>> {
    Ok(match reader.fill_buf().await?.first() {
        Some(&first) if !is_zlib(first) => Box::pin(ReaderStream::new(DeflateDecoder::new(reader))),
        _ => Box::pin(ReaderStream::new(ZlibDecoder::new(reader))),
    })
}

fn decoded_body(decoder: impl AsyncRead + Send + 'static) -> Body {
    plain_body(ReaderStream::new(decoder))
}

fn plain_body(bytes: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static) -> Body {
    from_stream(bytes.map(|bytes| bytes.map_err(|error| TruncatedBody(error.into()))))
}
