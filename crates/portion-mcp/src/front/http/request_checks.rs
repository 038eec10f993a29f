//! Limits of one HTTP listener, and checks of a request within them, before a backend receives it.
//!
//! Bodies have a limit of size and time, and a memory budget that all requests share. Memory grows with the bytes received, not
//! with the announced length. The first [`UNCOUNTED_BYTES`] bytes of each body are not counted, so that ordinary calls pass while
//! large ones exhaust the budget.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, StatusCode};
use portion_gateway::overload::OverloadLimit;
use portion_net::request_body::{SlowBody, TimedBody};
use portion_net::serve::{MAX_HEAD_BYTES, ServeLimits, head_bytes};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::RequestBody;
use super::http_error::{HttpError, RETRY_AFTER_SECONDS};
use crate::http::body::TruncatedBody;
use crate::mcp::envelope::{INVALID_REQUEST, PARSE_ERROR, SERVER_BUSY};
use crate::mcp::{InvalidMessage, NULL_ID, OwnedBatch};

/// Kind of a post, as far as it matters for shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostKind {
    /// A request whose response ends.
    Request,
    /// A request whose response is an endless stream of notifications.
    Subscription,
    /// Notifications or responses.
    NoRequest,
}

impl PostKind {
    /// Returns the kind of posted messages; `None` for any other body.
    pub(super) fn of(body: &RequestBody) -> Option<Self> {
        let RequestBody::Messages(batch) = body else { return None };
        Some(match batch.view().requests().next() {
            None => Self::NoRequest,
            Some(request) if request.method() == "subscriptions/listen" => Self::Subscription,
            Some(_) => Self::Request,
        })
    }
}

/// Methods of requests that are answered even under overload: they need no work, or end some.
const LIGHT_METHODS: [&str; 3] = ["ping", "tasks/cancel", "subscriptions/listen"];

/// Returns true if posted messages contain a request that begins work.
pub(super) fn begins_work(body: &RequestBody) -> bool {
    let RequestBody::Messages(batch) = body else { return false };
    batch.view().requests().any(|request| !LIGHT_METHODS.contains(&&*request.method()))
}

/// Returns the response to a request that is rejected because the processors are overloaded. The connection stays open:
/// a new one would cost more than the rejection.
pub(super) fn overloaded() -> HttpError {
    let message = "the gateway is overloaded; retry in a moment";
    HttpError::new(StatusCode::SERVICE_UNAVAILABLE, SERVER_BUSY, message)
        .retry_after_here(RETRY_AFTER_SECONDS)
}

/// Rejects a request whose head is too large.
pub(super) fn check_head_size<B>(request: &Request<B>) -> Result<(), HttpError> {
    if head_bytes(request) <= MAX_HEAD_BYTES {
        return Ok(());
    }
    let message = "the request head is too large; send fewer or shorter header fields";
    Err(HttpError::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, INVALID_REQUEST, message).closing())
}

/// Rejects posts that web pages can send without a CORS preflight, and headers that two readers may interpret
/// differently.
pub(super) fn check_head(headers: &HeaderMap, is_message: bool) -> Result<(), HttpError> {
    if has_duplicate_session_id(headers) {
        let message = "the header field Mcp-Session-Id is repeated";
        return Err(HttpError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message));
    }
    let is_json = |value: &HeaderValue| {
        let kind = value.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
    };
    if is_message && !headers.get_all(CONTENT_TYPE).iter().all(is_json) {
        let message = "messages must be application/json; send Content-Type: application/json";
        return Err(HttpError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, message));
    }
    Ok(())
}

/// Parses a post. Returns an error if it is not a JSON-RPC message or batch.
pub(super) fn parse_post(body: Vec<u8>) -> Result<OwnedBatch, HttpError> {
    let bad_request = |code, why: &str| {
        let message = format!("the body is not a JSON-RPC 2.0 message: {why}");
        HttpError::new(StatusCode::BAD_REQUEST, code, message)
    };
    let text = String::from_utf8(body).map_err(|_| bad_request(PARSE_ERROR, "it is not UTF-8"))?;
    let batch = OwnedBatch::parse(text).map_err(|why| match why {
        InvalidMessage::Json(error) => bad_request(PARSE_ERROR, &error.to_string()),
        InvalidMessage::NotJsonRpc(_) | InvalidMessage::BatchTooLarge => {
            bad_request(INVALID_REQUEST, &why.to_string())
        }
    })?;
    if batch.view().requests().any(|request| request.id() == "null") {
        return Err(bad_request(INVALID_REQUEST, NULL_ID));
    }
    Ok(batch)
}

/// Returns the response to a request whose body cannot be read.
pub(super) fn body_error_response(why: &RequestBodyError) -> HttpError {
    let (status, code) = match why {
        RequestBodyError::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST),
        RequestBodyError::Truncated(_) => (StatusCode::BAD_REQUEST, INVALID_REQUEST),
        RequestBodyError::TooSlow(_) => (StatusCode::REQUEST_TIMEOUT, INVALID_REQUEST),
        RequestBodyError::BudgetExhausted(_) => (StatusCode::SERVICE_UNAVAILABLE, SERVER_BUSY),
    };
    let refusal = HttpError::new(status, code, why.to_string());
    if status == StatusCode::SERVICE_UNAVAILABLE { refusal.retry_after(RETRY_AFTER_SECONDS) } else { refusal }
}

/// Returns true if a request has more than one session id: two readers could use different ones.
fn has_duplicate_session_id(headers: &HeaderMap) -> bool {
    let mut ids = headers.get_all("mcp-session-id").iter().map(HeaderValue::as_bytes);
    ids.next().is_some() && ids.next().is_some()
}

/// Limits of one HTTP listener.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Limits of connections. The stall timeout is also that of bodies.
    pub connections: ServeLimits,
    /// Bytes of a request body.
    pub max_body_bytes: usize,
    /// Total bytes of the bodies of all unanswered requests.
    pub max_total_body_bytes: usize,
    /// Load of this process beyond which requests that begin work are rejected; `None`: they are not.
    pub overload: Option<OverloadLimit>,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: ServeLimits::default(),
            max_body_bytes: 64 << 20,
            max_total_body_bytes: 72 << 20,
            overload: None,
        }
    }
}

impl HttpLimits {
    /// Sets the limit of a body, and the total to an eighth more: clients that never finish their bodies make the process hold
    /// little more than one body of that size.
    #[must_use]
    pub fn with_max_body_bytes(self, body: usize) -> Self {
        Self { max_body_bytes: body, max_total_body_bytes: body.saturating_add(body / 8), ..self }
    }
}

/// Bytes of each body that do not count towards the budget.
const UNCOUNTED_BYTES: usize = 16 << 10;
/// Timeout for a whole body.
const BODY_TIMEOUT: Duration = Duration::from_mins(2);

/// Memory budget shared by all request bodies; a permit is a byte.
#[derive(Clone, Debug)]
pub(super) struct BodyBudget {
    available: Arc<Semaphore>,
    total_bytes: usize,
}

/// Part of the budget held by one body; returned when this is dropped.
pub(super) type BodyReservation = OwnedSemaphorePermit;

/// Error of reading a request body.
#[derive(Debug, Error)]
pub(super) enum RequestBodyError {
    /// The body is longer than this limit in bytes.
    #[error("the body exceeds {0} bytes; send less, or raise clientMessageLimit")]
    TooLarge(usize),
    /// Other requests hold the budget of this many bytes.
    #[error("pending requests use all {0} bytes allowed for bodies; retry in a moment")]
    BudgetExhausted(usize),
    /// The body arrives too slowly.
    #[error(transparent)]
    TooSlow(#[from] SlowBody),
    /// The body ended too early.
    #[error(transparent)]
    Truncated(#[from] TruncatedBody),
}

impl BodyBudget {
    /// Creates a budget of this many bytes.
    pub(super) fn new(total_bytes: usize) -> Self {
        Self { available: Arc::new(Semaphore::new(total_bytes)), total_bytes }
    }

    fn reserve(&self, bytes: usize) -> Result<BodyReservation, RequestBodyError> {
        let bytes = u32::try_from(bytes).ok();
        let reserved = bytes.and_then(|bytes| Arc::clone(&self.available).try_acquire_many_owned(bytes).ok());
        reserved.ok_or(RequestBodyError::BudgetExhausted(self.total_bytes))
    }
}

/// Reads a body. The reservation must be kept as long as the bytes.
///
/// # Errors
/// Returns [`RequestBodyError`] if the body is too large, too slow or truncated, or the budget is exhausted.
pub(super) async fn read_body<B>(
    body: B,
    limits: &HttpLimits,
    budget: &BodyBudget,
) -> Result<(Vec<u8>, BodyReservation), RequestBodyError>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let announced_bytes = body.size_hint().lower();
    if announced_bytes > limits.max_body_bytes as u64 {
        return Err(RequestBodyError::TooLarge(limits.max_body_bytes));
    }
    let mut body = TimedBody::new(body, limits.connections.stall_timeout);
    let deadline = Instant::now() + BODY_TIMEOUT;
    let mut reservation = budget.reserve(0)?;
    let mut all = Vec::with_capacity((announced_bytes as usize).min(UNCOUNTED_BYTES));
    while let Some(frame) = timeout_at(deadline, body.frame()).await.map_err(|_| SlowBody)? {
        let frame = frame.map_err(|error| match error.downcast::<SlowBody>() {
            Ok(slow) => RequestBodyError::TooSlow(*slow),
            Err(other) => TruncatedBody::from_error(other).into(),
        })?;
        let Some(bytes) = frame.data_ref() else { continue };
        if bytes.len() > limits.max_body_bytes - all.len() {
            return Err(RequestBodyError::TooLarge(limits.max_body_bytes));
        }
        let counted = (all.len() + bytes.len()).saturating_sub(UNCOUNTED_BYTES);
        reservation.merge(budget.reserve(counted.saturating_sub(reservation.num_permits()))?);
        all.extend_from_slice(bytes);
    }
    Ok((all, reservation))
}

#[cfg(test)]
mod request_body_tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use portion_net::serve::ServeLimits;

    use super::*;

    fn limits() -> HttpLimits {
        let connections = ServeLimits { stall_timeout: Duration::from_secs(1), ..ServeLimits::default() };
        HttpLimits { connections, max_body_bytes: 1 << 20, max_total_body_bytes: TOTAL_BYTES, overload: None }
    }

    const TOTAL_BYTES: usize = 100 << 10;

    fn body(pieces: Vec<usize>) -> impl Body<Data = Bytes, Error = Infallible> + Unpin {
        let piece = |bytes| Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes])));
        StreamBody::new(stream::iter(pieces.into_iter().map(piece)))
    }

    #[tokio::test]
    async fn bodies_together_stay_within_the_budget() {
        let budget = BodyBudget::new(TOTAL_BYTES);
        let read = async |bytes: usize| {
            read_body(body(vec![bytes / 2, bytes - bytes / 2]), &limits(), &budget).await
        };
        let (first, held) = read(80 << 10).await.expect("there is room");
        assert_eq!(first.len(), 80 << 10);
        assert!(
            matches!(read(80 << 10).await, Err(RequestBodyError::BudgetExhausted(_))),
            "64 of 100 KiB are held"
        );
        let small = read(UNCOUNTED_BYTES).await.expect("a small one is not counted");
        drop((small, held));
        assert!(read(80 << 10).await.is_ok(), "what was held is given back, refused bodies' shares too");
        let small = HttpLimits { max_body_bytes: 50 << 10, ..limits() };
        let read = read_body(body(vec![30 << 10, 30 << 10]), &small, &budget).await;
        assert!(matches!(read, Err(RequestBodyError::TooLarge(_))));
        assert_eq!(budget.available.available_permits(), TOTAL_BYTES);
    }

    #[tokio::test]
    async fn a_body_that_stalls_or_is_too_slow_is_rejected() {
        let budget = BodyBudget::new(TOTAL_BYTES);
        let every = async |pause: Duration, bytes: usize| {
            let drip = stream::unfold((), move |()| async move {
                tokio::time::sleep(pause).await;
                Some((Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; bytes]))), ()))
            });
            read_body(StreamBody::new(Box::pin(drip)), &limits(), &budget).await.err()
        };
        let error = every(Duration::from_hours(1), 1).await;
        assert!(matches!(error, Some(RequestBodyError::TooSlow(_))), "{error:?}");
        let error = every(Duration::from_millis(20), 1).await;
        assert!(matches!(error, Some(RequestBodyError::TooSlow(_))), "{error:?}");
        // A slow body is read to its end.
        let error = every(Duration::from_millis(200), 16 << 10).await;
        assert!(matches!(error, Some(RequestBodyError::BudgetExhausted(_))), "{error:?}");
    }
}
