//! HTTP requests to an MCP server: connections, and the events of a response.
//!
//! - `server_client`: requests and their responses
//! - `request_error`: errors of requests
//!
//! An [`Authorizer`] is a component that has the credentials of a server.

mod request_error;
mod server_client;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Request, Response, StatusCode};
use portion_net::client::{self, HttpVersions, TlsError, UnreadableHead};
use thiserror::Error;

use crate::http::body::Body;
use crate::http::sse::{SseEvent, SseParser, SseSegment};

pub(crate) use request_error::Result;
pub use request_error::{ErrorStatus, RequestError};
pub(crate) use server_client::{ResponseContent, ServerClient};

/// Future of an [`Authorizer`].
pub type AuthorizationFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Supplies the `Authorization` header of requests to one server.
pub trait Authorizer: Send + Sync {
    /// Returns the header, if there are credentials.
    fn authorization(&self) -> AuthorizationFuture<'_, Option<HeaderValue>>;

    /// Returns another header after a request was rejected; `Ok(None)` if the response has nothing to do with
    /// authorization. May wait for a person.
    fn renew(
        &self,
        rejection: Rejection,
    ) -> AuthorizationFuture<'_, Result<Option<HeaderValue>, AuthorizationError>>;

    /// Returns true while credentials are being obtained.
    fn is_pending(&self) -> bool;
}

/// A response that may ask for other credentials.
#[derive(Debug)]
pub struct Rejection {
    /// The `Authorization` header of the request.
    pub authorization: Option<HeaderValue>,
    /// Status of the response.
    pub status: StatusCode,
    /// Headers of the response.
    pub headers: HeaderMap,
    /// True if the same request was rejected before, with other credentials.
    pub is_repeated: bool,
}

/// Reason that there are no credentials, and what to do.
#[derive(Clone, Debug, Error)]
#[error("{0}")]
pub struct AuthorizationError(pub String);

/// Sends requests over HTTP/1.1, with TLS for `https` URLs.
#[derive(Clone)]
pub struct HttpClient {
    inner: client::Client<Body>,
}

/// A request without a response of HTTP. It is unknown whether the server has acted on it.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct NoResponse {
    message: String,
    /// True if there was a connection, so that the server may have acted.
    pub was_reached: bool,
}

impl HttpClient {
    /// Creates a client. Root certificates are loaded only if `secure` (for TLS) is set.
    ///
    /// # Errors
    /// Returns [`TlsError`] if `secure` is set and no root certificates are found.
    pub fn new(secure: bool) -> Result<Self, TlsError> {
        Ok(Self { inner: client::pooled(secure, HttpVersions::Http1)? })
    }

    /// Sends a request and returns the response as soon as its head has arrived. Dropping the future or the response
    /// closes the exchange, which the server sees.
    ///
    /// # Errors
    /// Returns [`NoResponse`] if no response came.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>, NoResponse> {
        let authority = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let sent = client::send(&self.inner, request).await;
        let response = sent.map_err(|error| NoResponse {
            message: describe_error(&authority, &error),
            was_reached: !error.is_connect(),
        })?;
        // What follows would be of another protocol, and no request asks for one.
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let message = format!("{authority} switched to another protocol (101) in place of a response");
            return Err(NoResponse { message, was_reached: true });
        }
        Ok(response)
    }
}

fn describe_error(authority: &str, error: &client::Error) -> String {
    let unreadable = UnreadableHead::of(error);
    if let Some(reason @ UnreadableHead::TooLarge) = unreadable {
        return format!("{authority} sent a response that cannot be read: {reason}");
    }
    let failure = match unreadable {
        Some(_) => "sent a response that is not HTTP/1.1",
        None if error.is_connect() => "cannot be reached",
        None => "did not respond",
    };
    let mut reasons = vec![format!("{authority} {failure}")];
    reasons.extend(client::causes(error).skip(1).map(ToString::to_string));
    reasons.join(": ")
}

/// Bytes that an event may have besides its data.
const EVENT_OVERHEAD_BYTES: usize = 4 << 10;

/// Upper bound of the retry delay that a server may set.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(5);

/// An incoming stream of events.
pub(crate) struct EventStream {
    body: Body,
    parser: Option<SseParser>,
    queued_segments: VecDeque<SseSegment>,
    max_data_bytes: usize,
    /// Point from which the stream can be resumed.
    pub(crate) resume_point: ResumePoint,
}

/// Parameters for resuming a stream that has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResumePoint {
    /// Id of the last event that had one.
    pub(crate) last_event_id: Option<HeaderValue>,
    /// Delay before resuming, if the server has set one.
    pub(crate) retry_delay: Option<Duration>,
}

/// Item of an [`EventStream`].
pub(crate) enum StreamItem {
    Event(SseEvent),
    /// An event over the limit, which was dropped; its length in bytes.
    TooLarge(u64),
}

impl EventStream {
    /// Reads events with at most `limit` bytes of data. `resume`, of an earlier stream, holds until this stream sets a
    /// new id or delay.
    pub(crate) fn new(body: Body, limit: usize, resume: ResumePoint) -> Self {
        let parser = Some(SseParser::new(limit.saturating_add(EVENT_OVERHEAD_BYTES)));
        Self { body, parser, queued_segments: VecDeque::new(), max_data_bytes: limit, resume_point: resume }
    }

    /// Returns the next event; `None` when the stream has ended or failed.
    pub(crate) async fn next(&mut self) -> Option<StreamItem> {
        loop {
            while let Some(segment) = self.queued_segments.pop_front() {
                self.update_resume_point(&segment);
                match segment {
                    SseSegment::Event(event) if event.data.len() > self.max_data_bytes => {
                        return Some(StreamItem::TooLarge(event.data.len() as u64));
                    }
                    // An event with empty data only sets the point of resumption.
                    SseSegment::Event(event) if event.data.is_empty() => {}
                    SseSegment::Event(event) => return Some(StreamItem::Event(event)),
                    SseSegment::TooLarge(bytes) => return Some(StreamItem::TooLarge(bytes)),
                    SseSegment::NonEvent(_) => {}
                }
            }
            let parser = self.parser.as_mut()?;
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.queued_segments
                        .extend(frame.data_ref().into_iter().flat_map(|bytes| parser.push(bytes)));
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "an event stream was truncated");
                    self.parser = None;
                }
                None => self.parser = None,
            }
        }
    }

    fn update_resume_point(&mut self, segment: &SseSegment) {
        if let Some(id) = segment.id() {
            self.resume_point.last_event_id = HeaderValue::from_bytes(id).ok().filter(|id| !id.is_empty());
        }
        if let Some(retry) = segment.retry() {
            self.resume_point.retry_delay = Some(retry.min(MAX_RETRY_DELAY));
        }
    }
}
