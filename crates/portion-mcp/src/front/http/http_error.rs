//! HTTP error responses with a JSON-RPC error as body, and responses without content of the server.

use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use crate::http::body::{self, Body, full};
use crate::mcp::error_code::{INVALID_REQUEST, json_rpc_error};

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
