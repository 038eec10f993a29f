//! Checks the head and the body of a request, before a backend receives it.

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Request, StatusCode};
use portion_net::request_head::{MAX_HEAD_BYTES, head_bytes};

use super::RequestBody;
use super::http_error::{HttpError, RETRY_AFTER_SECONDS};
use super::request_body::RequestBodyError;
use crate::mcp::error_code::{INVALID_REQUEST, PARSE_ERROR, SERVER_BUSY};
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
