//! Decodes compressed bodies.

use std::pin::Pin;

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use portion_net::accept_encoding::is_zlib;
use portion_text::display::shortened;
use thiserror::Error;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead};
use tokio_util::io::{ReaderStream, StreamReader};

use super::body::{self, Body, TruncatedBody};

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
    let Some(coding) = fields.get(CONTENT_ENCODING) else { return Ok(body::pass_through(body)) };
    let coding = String::from_utf8_lossy(coding.as_bytes()).trim().to_ascii_lowercase();
    let plain = match coding.as_str() {
        "" | "identity" => body::pass_through(body),
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
    body::from_stream(bytes.map(|bytes| bytes.map_err(|error| TruncatedBody(error.into()))))
}
