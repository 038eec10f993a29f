//! Bodies: streamed on, read up to the end of a JSON value, or read and decoded as a whole within a limit.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder};
use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use portion_net::forwarding::{SUPPORTED_ENCODINGS, is_zlib};
use portion_text::encoding::decode_as;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::Instant;

/// Pause after a JSON value from which a body without a length is a stream.
const STREAM_PAUSE: Duration = Duration::from_secs(1);
/// Time after a JSON value from which a body without a length that has not ended is a stream.
const STREAM_DETECTION: Duration = Duration::from_secs(10);

/// Longest first JSON value of a stream, in bytes. A longer one is a document whose end comes late.
const MAX_EVENT_BYTES: usize = 32 << 10;

/// Decoded bytes from which the length of a body is counted before it is decoded as a whole.
const COUNTED_FROM: u64 = 8 << 20;

/// Longest byte order mark with a character after it, in bytes.
const MAX_MARK_BYTES: usize = 8;

/// Most content codings of a body.
const MAX_CODINGS: usize = 3;

/// Any error of a service or of its body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The next frame of a body, once it is there.
pub(crate) type PollFrame = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

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
    /// Nothing came for this time.
    #[error("the body paused for more than {} s", .0.as_secs())]
    Silent(Duration),
    /// The body does not end after a JSON value: it is a stream, and has begun with these bytes.
    #[error("the body is a stream")]
    Stream(Bytes),
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

/// Limits of reading a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimits {
    /// Largest length in bytes.
    pub(crate) bytes: usize,
    /// Longest wait for the next bytes.
    pub(crate) silence: Option<Duration>,
    /// The end after which a body that goes on is a stream.
    pub(crate) stream_after: StreamStart,
}

/// The place in a body after which it is a stream if it pauses, or does not end soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamStart {
    /// The body is read to its end.
    Never,
    /// The end of a JSON value.
    JsonValue,
    /// The first bytes of a text.
    FirstBytes,
}

impl ReadLimits {
    /// Returns limits without a time.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Self { bytes, silence: None, stream_after: StreamStart::Never }
    }
}

/// Reads a body within limits.
///
/// # Errors
/// Returns [`ReadBodyError`] if the body is too long, ends too early or pauses for too long, or if it is a stream. The rest of
/// a stream stays in the body.
pub(crate) async fn read(body: &mut Body, limits: ReadLimits) -> Result<Bytes, ReadBodyError> {
    let mut read = Vec::new();
    let mut end = JsonEnd::default();
    let mut stream_deadline = None;
    loop {
        let stream_wait = stream_deadline
            .map(|deadline: Instant| deadline.saturating_duration_since(Instant::now()).min(STREAM_PAUSE));
        let Some(frame) = within(stream_wait.or(limits.silence), body.frame()).await else {
            return Err(match (stream_wait, limits.silence) {
                (None, Some(silence)) => ReadBodyError::Silent(silence),
                _ => ReadBodyError::Stream(read.into()),
            });
        };
        let Some(frame) = frame else { return Ok(read.into()) };
        let frame = frame.map_err(ReadBodyError::Truncated)?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > limits.bytes {
            return Err(ReadBodyError::TooLong);
        }
        if read.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        match limits.stream_after {
            StreamStart::JsonValue if stream_deadline.is_none() && !end.has_ended => {
                end.read(&data);
                let is_event = read.len() + data.len() <= MAX_EVENT_BYTES;
                stream_deadline =
                    end.has_ended.then(|| Instant::now() + STREAM_DETECTION).filter(|_| is_event);
            }
            StreamStart::FirstBytes if stream_deadline.is_none() => {
                stream_deadline = Some(Instant::now() + STREAM_PAUSE);
            }
            _ => {}
        }
        read.extend_from_slice(&data);
    }
}

/// Waits for a future within a time. Returns `None` if it takes longer.
async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

/// Returns true if the first bytes of a body, after a byte order mark and white space, are those of a JSON object or array.
/// They stay in the body.
pub(crate) async fn begins_like_json(body: &mut Body, silence: Option<Duration>) -> bool {
    let mut start: Vec<u8> = Vec::new();
    loop {
        let frame = within(silence, body.frame()).await;
        let is_end = !matches!(&frame, Some(Some(Ok(frame))) if frame.is_data());
        if let Some(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            start.extend_from_slice(data);
        }
        let (text, _) = decode_as("utf-8", &start);
        let first = text.trim_start().chars().next();
        // A byte order mark may be cut.
        let has_mark = start.first().is_some_and(|byte| !byte.is_ascii() || *byte == 0);
        let is_known = first.is_some() && (!has_mark || start.len() >= MAX_MARK_BYTES);
        if is_end || is_known || start.len() > MAX_EVENT_BYTES {
            let mut rest = std::mem::replace(body, full(""));
            if let Some(end) = frame.flatten().filter(|_| is_end) {
                rest = PrefixedBody { start: Some(end), rest }.boxed_unsync();
            }
            *body = if start.is_empty() { rest } else { prefixed(start.into(), rest) };
            return matches!(first, Some('{' | '['));
        }
    }
}

/// Returns a body that begins with these bytes.
pub(crate) fn prefixed(start: Bytes, rest: Body) -> Body {
    PrefixedBody { start: Some(Ok(Frame::data(start))), rest }.boxed_unsync()
}

/// A frame, and the body that follows it.
struct PrefixedBody {
    start: Option<Result<Frame<Bytes>, BoxError>>,
    rest: Body,
}

impl HttpBody for PrefixedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> PollFrame {
        match self.start.take() {
            Some(start) => Poll::Ready(Some(start)),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let start = self.start.as_ref().and_then(|start| start.as_ref().ok()).and_then(Frame::data_ref);
        let start = start.map_or(0, |data| data.len() as u64);
        let rest = self.rest.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(start + rest.lower());
        if let Some(upper) = rest.upper() {
            hint.set_upper(start + upper);
        }
        hint
    }
}

/// Returns the content codings of a body, in the order in which they were applied; `Err` if it cannot be decoded here.
pub(crate) fn content_codings(headers: &HeaderMap) -> Result<Vec<String>, ()> {
    let mut codings = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        for coding in value.to_str().map_err(|_| ())?.split(',') {
            match coding.trim().to_ascii_lowercase() {
                none if none.is_empty() || none == "identity" => {}
                known if SUPPORTED_ENCODINGS.contains(&known.as_str()) => codings.push(known),
                _ => return Err(()),
            }
        }
    }
    if codings.len() <= MAX_CODINGS { Ok(codings) } else { Err(()) }
}

/// Decodes a body with these content codings within a limit in bytes.
///
/// # Errors
/// Returns [`ReadBodyError`] if the body is too long after any of them, or its encoding is invalid.
pub(crate) async fn decode(
    mut bytes: Bytes,
    codings: &[String],
    limit: usize,
) -> Result<Bytes, ReadBodyError> {
    for coding in codings.iter().rev() {
        bytes = decode_one(&bytes, coding, limit).await?;
    }
    Ok(bytes)
}

/// Decodes a body within a limit in bytes. A long one is decoded twice, first to learn its length, so that a body beyond the
/// limit does not take the memory of the limit.
async fn decode_one(bytes: &[u8], coding: &str, limit: usize) -> Result<Bytes, ReadBodyError> {
    let truncated = |error: std::io::Error| ReadBodyError::Truncated(error.into());
    let mut reader = decoder(bytes, coding).take(limit as u64 + 1);
    let mut start = Vec::new();
    (&mut reader).take(COUNTED_FROM).read_to_end(&mut start).await.map_err(truncated)?;
    let rest = tokio::io::copy(&mut reader, &mut tokio::io::sink()).await.map_err(truncated)?;
    let len = start.len() + rest as usize;
    if len > limit {
        return Err(ReadBodyError::TooLong);
    }
    if rest == 0 {
        return Ok(start.into());
    }
    drop(start);
    let mut whole = Vec::with_capacity(len);
    decoder(bytes, coding).read_to_end(&mut whole).await.map_err(truncated)?;
    Ok(whole.into())
}

/// Returns a reader of the decoded bytes.
fn decoder<'b>(bytes: &'b [u8], coding: &str) -> Box<dyn AsyncRead + Send + Unpin + 'b> {
    match coding {
        "br" => Box::new(BrotliDecoder::new(bytes)),
        "deflate" if bytes.first().is_some_and(|first| !is_zlib(*first)) => {
            Box::new(DeflateDecoder::new(bytes))
        }
        "deflate" => Box::new(ZlibDecoder::new(bytes)),
        _ => {
            // A body of gzip may have several members, one after another.
            let mut decoder = GzipDecoder::new(bytes);
            decoder.multiple_members(true);
            Box::new(decoder)
        }
    }
}

/// Returns true if a response with this status may have a body. One that should have none (205) can have one nevertheless.
pub(crate) fn may_have_body(status: StatusCode) -> bool {
    !status.is_informational() && !matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

/// Reads a body up to the end of its first object or array.
#[derive(Debug, Default)]
pub(crate) struct JsonEnd {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    /// True if the value has ended.
    pub(crate) has_ended: bool,
}

impl JsonEnd {
    /// Reads the next bytes.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.has_ended {
                return;
            }
            self.read_byte(*byte);
        }
    }

    fn read_byte(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.is_in_string => self.is_escaped = true,
            b'"' => self.is_in_string = !self.is_in_string,
            _ if self.is_in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.has_ended = self.depth == 0;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{CONTENT_ENCODING, HeaderValue};

    use async_compression::tokio::bufread::{GzipEncoder, ZlibEncoder};
    use tokio::io::AsyncReadExt as _;

    use super::{COUNTED_FROM, ReadBodyError, content_codings, decode, decode_one};

    #[tokio::test]
    async fn a_body_is_decoded_up_to_its_limit() {
        for len in [0, 100, COUNTED_FROM as usize, COUNTED_FROM as usize + 1_000] {
            let text: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
            let mut wire = Vec::new();
            GzipEncoder::new(text.as_slice()).read_to_end(&mut wire).await.expect("it is encoded");
            assert_eq!(decode_one(&wire, "gzip", len).await.expect("it fits"), text);
            let cut = decode_one(&wire[..wire.len() - 1], "gzip", len).await;
            assert!(matches!(cut, Err(ReadBodyError::Truncated(_))), "{len}");
            if let Some(limit) = len.checked_sub(1) {
                let long = decode_one(&wire, "gzip", limit).await;
                assert!(matches!(long, Err(ReadBodyError::TooLong)), "{len}");
            }
        }
    }

    #[tokio::test]
    async fn a_body_that_was_encoded_twice_is_decoded_twice() {
        let text = b"[1,2,3]".as_slice();
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        GzipEncoder::new(text).read_to_end(&mut once).await.expect("it is encoded");
        ZlibEncoder::new(once.as_slice()).read_to_end(&mut twice).await.expect("it is encoded");
        let codings = ["gzip".to_owned(), "deflate".to_owned()];
        assert_eq!(decode(twice.into(), &codings, 100).await.expect("it fits"), text);
        let limited = decode(once.into(), &codings[..1], 6).await;
        assert!(matches!(limited, Err(ReadBodyError::TooLong)));
    }

    #[test]
    fn an_unknown_coding_is_not_decoded() {
        let check = |given: &[&'static str], expect: Result<&[&str], ()>| {
            let mut headers = HeaderMap::new();
            for value in given {
                headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
            }
            let codings = content_codings(&headers);
            assert_eq!(
                codings,
                expect.map(|codings| codings.iter().map(|&name| name.into()).collect()),
                "{given:?}"
            );
        };
        check(&["GZIP"], Ok(&["gzip"]));
        check(&["identity"], Ok(&[]));
        check(&[" gzip , identity,,br"], Ok(&["gzip", "br"]));
        check(&["gzip", "deflate"], Ok(&["gzip", "deflate"]));
        check(&["zstd"], Err(()));
        check(&["gzip, zstd"], Err(()));
        check(&["gzip,gzip,gzip,gzip"], Err(()));
    }
}

#[cfg(test)]
mod json_end_tests {
    use super::JsonEnd;

    #[test]
    fn the_end_is_found_however_the_body_is_split() {
        let check = |body: &str, expect: bool| {
            for size in 1..=body.len().max(1) {
                let mut end = JsonEnd::default();
                body.as_bytes().chunks(size).for_each(|chunk| end.read(chunk));
                assert_eq!(end.has_ended, expect, "{body} in {size}");
            }
        };
        check("", false);
        check(r#"{"a":"}\"]","b":[1,{}"#, false);
        check("{\"a\":[\"]\"]} \n", true);
        check("{}\n{\"a\"", true);
        check("7 ", false);
    }
}
