//! Reading what was compressed.

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue};
use thiserror::Error;
use tokio::io::{AsyncBufRead, AsyncRead};
use tokio_util::io::{ReaderStream, StreamReader};

use super::body::{self, Body, Broken};

/// A compression that is not read here, though it was not asked for.
#[derive(Debug, Error)]
#[error(
    "the body is compressed as `{0}`, which was not asked for; have the server send gzip, deflate, br or plain bodies"
)]
pub struct Unknown(String);

/// Asks only for what can be read here, of what was asked for.
pub fn ask_for_readable(fields: &mut HeaderMap) {
    let asked: Vec<&str> =
        fields.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok()).collect();
    let asked = asked.join(",");
    let readable = |coding: &&str| {
        let name = coding.split(';').next().unwrap_or_default().trim();
        ["gzip", "x-gzip", "deflate", "br", "identity"].iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    let kept: Vec<&str> = asked.split(',').map(str::trim).filter(readable).collect();
    let value = if kept.is_empty() { "identity".to_owned() } else { kept.join(", ") };
    fields.remove(ACCEPT_ENCODING);
    if let Ok(value) = HeaderValue::from_str(&value) {
        fields.insert(ACCEPT_ENCODING, value);
    }
}

/// The body as it was before it was compressed, and its fields to match. It expands as it is read: whoever
/// reads it sets the limit.
///
/// # Errors
/// [`Unknown`] where it cannot be read.
pub fn plain(fields: &mut HeaderMap, body: Incoming) -> Result<Body, Unknown> {
    let Some(coding) = fields.get(CONTENT_ENCODING) else { return Ok(body::passed(body)) };
    let coding = String::from_utf8_lossy(coding.as_bytes()).trim().to_ascii_lowercase();
    let plain = match coding.as_str() {
        "" | "identity" => body::passed(body),
        "gzip" | "x-gzip" => read(GzipDecoder::new(reader(body))),
        "deflate" => read(ZlibDecoder::new(reader(body))),
        "br" => read(BrotliDecoder::new(reader(body))),
        _ => return Err(Unknown(coding)),
    };
    fields.remove(CONTENT_ENCODING);
    fields.remove(CONTENT_LENGTH);
    Ok(plain)
}

fn reader(body: Incoming) -> impl AsyncBufRead + Send + Unpin {
    let bytes = body.into_data_stream().map_err(std::io::Error::other);
    StreamReader::new(bytes)
}

fn read(decoder: impl AsyncRead + Send + 'static) -> Body {
    let bytes = ReaderStream::new(decoder);
    body::streamed(bytes.map(|bytes: std::io::Result<Bytes>| bytes.map_err(|error| Broken(error.into()))))
}

#[cfg(test)]
mod tests {
    use super::ask_for_readable;
    use hyper::HeaderMap;
    use hyper::header::{ACCEPT_ENCODING, HeaderValue};

    fn check(asked: &[&'static str], expect: &str) {
        let mut fields = HeaderMap::new();
        for value in asked {
            fields.append(ACCEPT_ENCODING, HeaderValue::from_static(value));
        }
        ask_for_readable(&mut fields);
        assert_eq!(fields[ACCEPT_ENCODING], expect);
    }

    #[test]
    fn asks_for_what_it_can_read() {
        check(&["gzip, deflate, br, zstd"], "gzip, deflate, br");
        check(&["zstd", "gzip;q=0.5"], "gzip;q=0.5");
        check(&[], "identity");
        check(&["*"], "identity");
    }
}
