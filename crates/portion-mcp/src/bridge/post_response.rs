//! Builds the response to a post: JSON if the first message is the response, else a stream of events.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use hyper::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::time::{Instant, sleep, sleep_until};

use crate::front::http::http_error::{HttpError, join_messages};
use crate::http::body::{self, Body, TruncatedBody};
use crate::http::sse;
use crate::mcp::envelope::INVALID_REQUEST;

/// Silence after which the response begins as a stream, so that no proxy in between times out.
const STREAM_AFTER: Duration = Duration::from_secs(10);
/// Interval of keepalive comments on a silent stream.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Delay before a client whose stream broke reconnects; the default of the SDKs.
const CLIENT_RETRY_DELAY: Duration = Duration::from_secs(1);

/// Source of the messages for one client.
pub(super) trait MessageSource: Send + 'static {
    /// Waits until an item can be taken. Cancel-safe.
    fn wait(&mut self) -> impl Future<Output = ()> + Send;

    /// Takes the next item. Not cancel-safe.
    fn take(&mut self) -> impl Future<Output = SourceItem> + Send;

    /// Marks the response as a stream: the client can resume it from an event id.
    fn mark_streamed(&mut self) {}
}

/// Item of a [`MessageSource`].
#[derive(Debug)]
pub(super) enum SourceItem {
    Message(ResponseMessage),
    /// No message yet.
    Pending,
    /// All responses have been taken.
    End,
    /// The remaining messages are lost, for this reason.
    Truncated(&'static str),
}

/// A message for the client.
#[derive(Debug)]
pub(super) struct ResponseMessage {
    /// Event id, after which the client can resume the stream.
    pub event_id: Option<String>,
    pub data: Bytes,
    /// True if it responds to the post.
    pub is_response: bool,
}

/// Media types that a client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AcceptedTypes {
    pub accepts_json: bool,
    pub accepts_stream: bool,
    /// True if it lists the event stream before JSON.
    lists_stream_first: bool,
}

/// Form of a response to a post.
pub(super) enum PostResponse {
    /// Complete, as JSON.
    Json(Vec<u8>),
    /// A stream of events.
    Stream(Response<Body>),
    Lost(&'static str),
}

impl AcceptedTypes {
    /// Parses `Accept`; without it, the client accepts everything.
    pub(super) fn from_headers(headers: &HeaderMap) -> Self {
        let mut accepted = Self { accepts_json: false, accepts_stream: false, lists_stream_first: false };
        let mut has_header = false;
        for range in headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
        {
            has_header = true;
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let is_rejected = parts.any(|part| {
                part.strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0))
            });
            if !is_rejected {
                accepted.accepts_json |= matches!(&*kind, "application/json" | "application/*" | "*/*");
                accepted.accepts_stream |= matches!(&*kind, "text/event-stream" | "text/*" | "*/*");
                accepted.lists_stream_first |= accepted.accepts_stream && !accepted.accepts_json;
            }
        }
        if has_header {
            accepted
        } else {
            Self { accepts_json: true, accepts_stream: true, lists_stream_first: false }
        }
    }

    /// Accepts only the stream if the client lists it first: the order is the only sign of a preference.
    pub(super) fn prefer_listed_first(self) -> Self {
        Self { accepts_json: self.accepts_json && !self.lists_stream_first, ..self }
    }

    /// # Errors
    /// Returns an error if the client accepts neither JSON nor a stream.
    pub(super) fn require_any(self) -> Result<Self, HttpError> {
        if self.accepts_json || self.accepts_stream {
            return Ok(self);
        }
        let message = "responses are application/json or text/event-stream; send Accept with both";
        Err(HttpError::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message))
    }
}

/// Builds the response to a post. `batch` is set if an array was posted, and makes the response an array. `priming` is
/// the event id with which a stream begins, for clients that support such events.
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
                SourceItem::Message(message) => {
                    let is_response = message.is_response;
                    first.push(message);
                    if !is_response {
                        break;
                    }
                }
                SourceItem::Pending => {}
                SourceItem::End if first.is_empty() => return PostResponse::Lost("there is no response"),
                SourceItem::End => {
                    return PostResponse::Json(join_messages(
                        first.iter().map(|message| &message.data[..]),
                        batch,
                    ));
                }
                SourceItem::Truncated(reason) => return PostResponse::Lost(reason),
            }
        }
    }
    source.mark_streamed();
    PostResponse::Stream(event_stream_response(source, &first, priming))
}

/// Returns a stream of events: `first`, then the messages of `source`.
pub(super) fn event_stream_response<S: MessageSource>(
    source: S,
    first: &[ResponseMessage],
    priming: Option<String>,
) -> Response<Body> {
    let priming_event = priming.map(|id| sse::encode_priming_event(&id, CLIENT_RETRY_DELAY));
    let first: Vec<u8> =
        priming_event.into_iter().chain(first.iter().map(encode_message)).flatten().collect();
    let initial = (!first.is_empty()).then(|| first.into());
    let chunks = stream::unfold(Some((source, initial)), |state| async move {
        let (mut source, initial) = state?;
        if let Some(initial) = initial {
            return Some((Ok(initial), Some((source, None))));
        }
        let ping_at = Instant::now() + PING_INTERVAL;
        loop {
            tokio::select! {
                biased;
                () = source.wait() => {}
                () = sleep_until(ping_at) => return Some((Ok(Bytes::from_static(sse::PING)), Some((source, None)))),
            }
            match source.take().await {
                SourceItem::Message(message) => {
                    return Some((Ok(encode_message(&message).into()), Some((source, None))));
                }
                SourceItem::Pending => {}
                SourceItem::End => return None,
                SourceItem::Truncated(reason) => return Some((Err(TruncatedBody(reason.into())), None)),
            }
        }
    });
    let mut response = Response::new(body::from_stream(chunks));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Makes nginx forward events without buffering.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

fn encode_message(message: &ResponseMessage) -> Vec<u8> {
    sse::encode_event(message.event_id.as_deref(), &message.data)
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{ACCEPT, HeaderValue};

    use super::AcceptedTypes;

    #[test]
    fn accept_headers_are_parsed() {
        let check = |values: &[&'static str], json: bool, stream: bool| {
            let mut headers = HeaderMap::new();
            values.iter().for_each(|value| {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            });
            let accept = AcceptedTypes::from_headers(&headers);
            assert_eq!((accept.accepts_json, accept.accepts_stream), (json, stream), "{values:?}");
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
