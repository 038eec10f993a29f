//! The answer to a post: JSON where the answer is what comes first, else a stream of events.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::time::{Instant, sleep, sleep_until};

use crate::front::http::batch::join_responses;
use crate::front::http::http_error::HttpError;
use crate::http::body::{self, Body, TruncatedBody};
use crate::http::sse;
use crate::mcp::error_code::INVALID_REQUEST;

/// How long a post may wait in silence before its answer begins as a stream, so that nobody between takes it for dead.
const STREAM_AFTER: Duration = Duration::from_secs(10);
/// How often a silent stream says that it lives.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// How long a client whose stream broke should wait before it comes back: as SDKs do that are not told.
const CLIENT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Where the messages for one client come from.
pub(super) trait MessageSource: Send + 'static {
    /// Waits until something can be taken. May be given up at any time.
    fn wait(&mut self) -> impl Future<Output = ()> + Send;

    /// Takes what there is. Once begun it is carried through.
    fn take(&mut self) -> impl Future<Output = SourceItem> + Send;

    /// From now on the client can tell what it has got.
    fn mark_streamed(&mut self) {}
}

/// What was taken.
#[derive(Debug)]
pub(super) enum SourceItem {
    Message(ResponseMessage),
    /// Nothing yet.
    Pending,
    /// Every answer has been given.
    End,
    /// The rest is lost.
    Truncated(&'static str),
}

/// A message for the client.
#[derive(Debug)]
pub(super) struct ResponseMessage {
    /// By which it may ask for what came after it.
    pub event_id: Option<String>,
    pub data: Bytes,
    /// It answers what was posted.
    pub is_response: bool,
}

/// What a client takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AcceptedTypes {
    pub accepts_json: bool,
    pub accepts_stream: bool,
    /// It names the stream before JSON.
    lists_stream_first: bool,
}

/// What an answer has become.
pub(super) enum PostResponse {
    /// All of it, JSON.
    Json(Vec<u8>),
    /// A stream that goes on.
    Stream(Response<Body>),
    Lost(&'static str),
}

impl AcceptedTypes {
    /// What the client says it takes; everything, where it does not say.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let mut accept = Self { accepts_json: false, accepts_stream: false, lists_stream_first: false };
        let mut said = false;
        for range in headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
        {
            said = true;
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let refused = parts.any(|part| {
                part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0))
            });
            if !refused {
                accept.accepts_json |= matches!(&*kind, "application/json" | "application/*" | "*/*");
                accept.accepts_stream |= matches!(&*kind, "text/event-stream" | "text/*" | "*/*");
                accept.lists_stream_first |= accept.accepts_stream && !accept.accepts_json;
            }
        }
        if said {
            accept
        } else {
            Self { accepts_json: true, accepts_stream: true, lists_stream_first: false }
        }
    }

    /// Only the stream, if that is what the client names first: nothing else says what it would rather have.
    pub(super) fn prefer_listed_first(self) -> Self {
        Self { accepts_json: self.accepts_json && !self.lists_stream_first, ..self }
    }

    /// # Errors
    /// Where it takes neither form of an answer.
    pub(super) fn require_any(self) -> Result<Self, HttpError> {
        if self.accepts_json || self.accepts_stream {
            return Ok(self);
        }
        let message = "answers are application/json or text/event-stream; send Accept with both";
        Err(HttpError::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message))
    }
}

/// The answer to a post, in the form that fits. `batch`: an array was posted, and so is answered. `priming`: the id
/// with which a stream begins, for clients that know such events.
pub(super) async fn respond<S: MessageSource>(
    mut source: S,
    accept: AcceptedTypes,
    batch: bool,
    priming: Option<String>,
) -> PostResponse {
    let mut first = Vec::new();
    if accept.accepts_json {
        let mut silence = pin!(sleep(STREAM_AFTER));
        loop {
            tokio::select! {
                biased;
                () = source.wait() => {}
                () = &mut silence, if accept.accepts_stream => break,
            }
            match source.take().await {
                SourceItem::Message(piece) => {
                    let is_answer = piece.is_response;
                    first.push(piece);
                    if !is_answer {
                        break;
                    }
                }
                SourceItem::Pending => {}
                SourceItem::End if first.is_empty() => return PostResponse::Lost("there is no answer"),
                SourceItem::End => {
                    return PostResponse::Json(join_responses(
                        first.iter().map(|piece| &piece.data[..]),
                        batch,
                    ));
                }
                SourceItem::Truncated(why) => return PostResponse::Lost(why),
            }
        }
    }
    source.mark_streamed();
    PostResponse::Stream(event_stream_response(source, &first, priming))
}

/// A stream of events: `first`, then what comes.
pub(super) fn event_stream_response<S: MessageSource>(
    source: S,
    first: &[ResponseMessage],
    priming: Option<String>,
) -> Response<Body> {
    let primed = priming.map(|id| sse::encode_priming_event(&id, CLIENT_RETRY_DELAY));
    let first: Vec<u8> = primed.into_iter().chain(first.iter().map(encode_message)).flatten().collect();
    let begun = (!first.is_empty()).then(|| first.into());
    let chunks = stream::unfold(Some((source, begun)), |state| async move {
        let (mut source, begun) = state?;
        if let Some(begun) = begun {
            return Some((Ok(begun), Some((source, None))));
        }
        let ping = Instant::now() + PING_INTERVAL;
        loop {
            tokio::select! {
                biased;
                () = source.wait() => {}
                () = sleep_until(ping) => return Some((Ok(Bytes::from_static(sse::PING)), Some((source, None)))),
            }
            match source.take().await {
                SourceItem::Message(piece) => {
                    return Some((Ok(encode_message(&piece).into()), Some((source, None))));
                }
                SourceItem::Pending => {}
                SourceItem::End => return None,
                SourceItem::Truncated(why) => return Some((Err(TruncatedBody(why.into())), None)),
            }
        }
    });
    let mut response = Response::new(body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Asks proxies of the nginx family to pass events at once.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn encode_message(piece: &ResponseMessage) -> Vec<u8> {
    sse::encode_event(piece.event_id.as_deref(), &piece.data)
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{ACCEPT, HeaderValue};

    use super::AcceptedTypes;

    #[test]
    fn reads_what_a_client_takes() {
        let check = |said: &[&'static str], json: bool, stream: bool| {
            let mut headers = HeaderMap::new();
            said.iter().for_each(|value| {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            });
            let accept = AcceptedTypes::from_headers(&headers);
            assert_eq!((accept.accepts_json, accept.accepts_stream), (json, stream), "{said:?}");
            accept.prefer_listed_first()
        };
        assert!(check(&[], true, true).accepts_json);
        assert!(check(&["*/*"], true, true).accepts_json);
        assert!(check(&["application/json, text/event-stream"], true, true).accepts_json);
        assert!(check(&["application/json", "TEXT/event-stream; q=0.5"], true, true).accepts_json);
        assert!(!check(&["text/event-stream, application/json"], true, true).accepts_json);
        check(&["application/json"], true, false);
        check(&["text/event-stream;q=1, */*;q=0"], false, true);
        check(&["text/html, image/*"], false, false);
    }
}
