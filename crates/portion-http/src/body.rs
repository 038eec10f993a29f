//! Bodies: streamed on, or read and decoded as a whole within a limit.

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body::Body as HttpBody;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use portion_net::accept_encoding::SUPPORTED_ENCODINGS;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Any error of a service or of its body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Body of a response.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Error of reading a body.
#[derive(Debug, Error)]
pub(crate) enum ReadBodyError {
    /// The body, as received or decoded, is longer than the limit.
    #[error("the body is too long")]
    TooLong,
    /// The body ended too early, or its encoding is invalid.
    #[error("the body broke off: {0}")]
    Truncated(BoxError),
}

/// Returns a body of these bytes.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Returns a body that streams another one.
pub(crate) fn streamed<B>(body: B) -> Body
where
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

/// Reads a body within a limit in bytes.
///
/// # Errors
/// Returns [`ReadBodyError`] if it is too long or ends too early.
pub(crate) async fn read<B>(body: B, limit: usize) -> Result<Bytes, ReadBodyError>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let mut body = std::pin::pin!(body);
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| ReadBodyError::Truncated(error.into()))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > limit {
            return Err(ReadBodyError::TooLong);
        }
        if read.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        read.extend_from_slice(&data);
    }
    Ok(read.into())
}

/// Returns the content coding of a body, or `None` if it has none; `Err` if it cannot be decoded here.
pub(crate) fn content_coding(headers: &HeaderMap) -> Result<Option<String>, ()> {
    let Some(value) = headers.get(CONTENT_ENCODING) else { return Ok(None) };
    let coding = value.to_str().map_err(|_| ())?.trim().to_ascii_lowercase();
    match coding.as_str() {
        "" | "identity" => Ok(None),
        known if SUPPORTED_ENCODINGS.contains(&known) => Ok(Some(coding)),
        _ => Err(()),
    }
}

/// Decodes a body within a limit in bytes.
///
/// # Errors
/// Returns [`ReadBodyError`] if the decoded body is too long or its encoding is invalid.
pub(crate) async fn decode(bytes: &[u8], coding: &str, limit: usize) -> Result<Bytes, ReadBodyError> {
    match coding {
        "br" => read_decoded(BrotliDecoder::new(bytes), limit).await,
        "deflate" => read_decoded(ZlibDecoder::new(bytes), limit).await,
        _ => read_decoded(GzipDecoder::new(bytes), limit).await,
    }
}

async fn read_decoded(reader: impl AsyncRead + Unpin, limit: usize) -> Result<Bytes, ReadBodyError> {
    let mut decoded = Vec::new();
    let mut limited = reader.take(limit as u64 + 1);
    limited.read_to_end(&mut decoded).await.map_err(|error| ReadBodyError::Truncated(error.into()))?;
    if decoded.len() > limit { Err(ReadBodyError::TooLong) } else { Ok(decoded.into()) }
}

/// Returns true for `application/json` and types that end with `+json`. Streams of JSON are no JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

/// Returns true if a response with this status has a whole body. A range of a document is no document.
pub(crate) fn may_have_body(status: StatusCode) -> bool {
    !status.is_informational()
        && !matches!(
            status,
            StatusCode::NO_CONTENT
                | StatusCode::RESET_CONTENT
                | StatusCode::PARTIAL_CONTENT
                | StatusCode::NOT_MODIFIED
        )
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{CONTENT_ENCODING, HeaderValue};

    use super::content_coding;

    #[test]
    fn an_unknown_coding_is_not_decoded() {
        let check = |given: &'static str, expect: Result<Option<&str>, ()>| {
            let headers = HeaderMap::from_iter([(CONTENT_ENCODING, HeaderValue::from_static(given))]);
            assert_eq!(content_coding(&headers), expect.map(|coding| coding.map(str::to_owned)), "{given}");
        };
        check("GZIP", Ok(Some("gzip")));
        check("identity", Ok(None));
        check("zstd", Err(()));
        check("gzip, br", Err(()));
    }
}
