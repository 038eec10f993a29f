//! HTTP error responses with a JSON-RPC error as body, also in place of the backend's response to a post, and responses without
//! content of the server.

use std::fmt::Display;

use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use super::RequestBody;
use crate::http::body::{self, Body, full};
use crate::mcp::envelope::{INTERNAL_ERROR, INVALID_REQUEST, json_rpc_error};

/// Seconds after which a rejected client should retry.
pub(super) const RETRY_AFTER_SECONDS: u16 = 1;

/// Rejection of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    status: StatusCode,
    code: i32,
    message: String,
    /// Raw id of the request that it answers.
    raw_id: String,
    /// Seconds after which the client may retry.
    with_retry_after: Option<u16>,
    closes_connection: bool,
}

/// Response to a request, or its rejection.
pub type HttpResult<T = Response<Body>> = Result<T, HttpError>;

impl HttpError {
    /// Creates an error with the id `null`.
    pub fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            raw_id: "null".to_owned(),
            with_retry_after: None,
            closes_connection: false,
        }
    }

    /// Sets the time in seconds after which the client may retry; the connection is closed.
    #[must_use]
    pub fn retry_after(self, seconds: u16) -> Self {
        self.retry_after_here(seconds).closing()
    }

    /// Sets the time in seconds after which the client may retry, on the same connection.
    #[must_use]
    pub fn retry_after_here(self, seconds: u16) -> Self {
        Self { with_retry_after: Some(seconds), ..self }
    }

    /// Closes the connection after the response.
    #[must_use]
    pub fn closing(self) -> Self {
        Self { closes_connection: true, ..self }
    }

    /// Makes it the response to the request with this raw id. A 502 is sent as 200, because some clients ignore the
    /// body of a 502.
    #[must_use]
    pub fn for_request(self, raw_id: &str) -> Self {
        let is_bad_gateway = self.status == StatusCode::BAD_GATEWAY;
        let status = if is_bad_gateway { StatusCode::OK } else { self.status };
        Self { status, raw_id: raw_id.to_owned(), ..self }
    }

    /// Returns the JSON-RPC error for the request with this raw id.
    pub(super) fn json_for(&self, raw_id: &str) -> String {
        json_rpc_error(raw_id, self.code, &self.message)
    }
}

impl From<HttpError> for Response<Body> {
    fn from(error: HttpError) -> Self {
        let mut response = json_response(error.status, error.json_for(&error.raw_id));
        if let Some(seconds) = error.with_retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if error.closes_connection {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Returns a JSON response.
pub fn json_response(status: StatusCode, json: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(full(json));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the error for an invalid request.
pub(crate) fn bad_gateway(reason: &dyn Display) -> HttpError {
    HttpError::new(StatusCode::BAD_GATEWAY, INTERNAL_ERROR, reason.to_string())
}

/// Returns the error of a request that is not valid.
pub(crate) fn bad_request(message: impl Into<String>) -> HttpError {
    HttpError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
}

/// Returns the response to a method that the path does not support.
pub(crate) fn method_not_allowed(allowed: &'static str) -> Response<Body> {
    let message = format!("this method is not allowed; use {allowed}");
    let mut response: Response<Body> =
        HttpError::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Returns an empty 202 response.
pub(crate) fn accepted() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Returns the text of a header field that may occur once.
pub(crate) fn header_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Ids of the requests of a post.
#[derive(Debug, Default)]
pub(super) struct PostedRequests {
    raw_ids: Vec<Box<str>>,
    is_batch: bool,
}

impl PostedRequests {
    /// Returns the requests in a body.
    pub(super) fn of(body: &RequestBody) -> Self {
        let RequestBody::Messages(batch) = body else { return Self::default() };
        let batch = batch.view();
        Self {
            raw_ids: batch.requests().map(|request| request.id().into()).collect(),
            is_batch: batch.is_batch,
        }
    }

    /// Returns the response in which each request gets the error. Its status is 200, because some clients ignore the body
    /// of others; without a request it is that of the error.
    pub(super) fn fail(&self, error: HttpError) -> Response<Body> {
        if self.raw_ids.is_empty() {
            return error.into();
        }
        let errors: Vec<String> = self.raw_ids.iter().map(|id| error.json_for(id)).collect();
        json_response(StatusCode::OK, join_messages(errors.iter().map(String::as_bytes), self.is_batch))
    }
}

/// Joins messages. A single message is returned unchanged; several become one array, into which arrays are
/// flattened. If `batch` is set, the result is an array, as for responses to an array.
pub(crate) fn join_messages<'a>(messages: impl IntoIterator<Item = &'a [u8]>, batch: bool) -> Vec<u8> {
    let messages: Vec<&[u8]> = messages.into_iter().collect();
    match messages.as_slice() {
        [] => return Vec::new(),
        [single] if !batch || single.trim_ascii_start().first() == Some(&b'[') => return single.to_vec(),
        _ => {}
    }
    let inside = messages.iter().map(|message| {
        let message = message.trim_ascii();
        message.strip_prefix(b"[").and_then(|message| message.strip_suffix(b"]")).unwrap_or(message)
    });
    let inside: Vec<&[u8]> = inside.collect();
    [b"[", inside.join(&b',').as_slice(), b"]"].concat()
}

#[cfg(test)]
mod posted_requests_tests {
    use super::*;
    use crate::http::body::read_all;
    use crate::mcp::OwnedBatch;
    use crate::mcp::envelope::SERVER_BUSY;

    #[tokio::test]
    async fn each_request_gets_the_error() {
        let check = async |posted: &str, status: u16, expect: &str| {
            let batch = OwnedBatch::parse(posted.to_owned()).expect("messages");
            let requests = PostedRequests::of(&RequestBody::Messages(batch));
            let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, SERVER_BUSY, "no");
            let response = requests.fail(error);
            assert_eq!(response.status().as_u16(), status, "{posted}");
            let body = read_all(response.into_body(), 1000).await.expect("a small body");
            assert_eq!(String::from_utf8_lossy(&body), expect, "{posted}");
        };
        let request = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let error =
            |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"no"}}}}"#);
        check(&request("\"é\""), 200, &error("\"é\"")).await;
        let note = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
        check(note, 503, &error("null")).await;
        let batch = format!("[{},{note},{}]", request("1"), request("2.0"));
        check(&batch, 200, &format!("[{},{}]", error("1"), error("2.0"))).await;
        check(&format!("[{}]", request("1")), 200, &format!("[{}]", error("1"))).await;
    }

    fn check(answers: &[&str], batch: bool, expect: &str) {
        let joined = join_messages(answers.iter().map(|answer| answer.as_bytes()), batch);
        assert_eq!(String::from_utf8_lossy(&joined), expect);
    }

    #[test]
    fn a_batch_is_answered_by_an_array() {
        check(&[], false, "");
        check(&["{} "], false, "{} ");
        check(&["{}"], true, "[{}]");
        check(&[" [{},{}]"], true, " [{},{}]");
        check(&["[{\"a\":1}]", "{\"b\":[2]} "], true, "[{\"a\":1},{\"b\":[2]}]");
        check(&["{}", "{}"], false, "[{},{}]");
    }
}
