//! Decodes compressed bodies.

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use thiserror::Error;
use tokio::io::{AsyncBufRead, AsyncRead};
use tokio_util::io::{ReaderStream, StreamReader};

use super::body::{self, Body, TruncatedBody};

/// A content encoding that is not supported, and was not requested.
#[derive(Debug, Error)]
#[error(
    "the body is compressed as `{0}`, which was not requested; configure the server to send gzip, deflate, br or plain bodies"
)]
pub struct UnsupportedEncoding(String);

/// Decodes a body and adapts its header fields. It is decoded while it is read: the reader must limit its size.
///
/// # Errors
/// Returns [`UnsupportedEncoding`] if it is encoded otherwise than as gzip, deflate or br.
pub fn decode_body(fields: &mut HeaderMap, body: Incoming) -> Result<Body, UnsupportedEncoding> {
    let Some(coding) = fields.get(CONTENT_ENCODING) else { return Ok(body::pass_through(body)) };
    let coding = String::from_utf8_lossy(coding.as_bytes()).trim().to_ascii_lowercase();
    let plain = match coding.as_str() {
        "" | "identity" => body::pass_through(body),
        "gzip" | "x-gzip" => decoded_body(GzipDecoder::new(body_reader(body))),
        "deflate" => decoded_body(ZlibDecoder::new(body_reader(body))),
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

fn decoded_body(decoder: impl AsyncRead + Send + 'static) -> Body {
    let bytes = ReaderStream::new(decoder);
    body::from_stream(
        bytes.map(|bytes: std::io::Result<Bytes>| bytes.map_err(|error| TruncatedBody(error.into()))),
    )
}
