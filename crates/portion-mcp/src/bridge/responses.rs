//! Responses without content of the server, and the header fields of requests.

use hyper::header::{ALLOW, HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

use crate::front::http::http_error::HttpError;
use crate::http::body::{self, Body};
use crate::mcp::error_code::INVALID_REQUEST;

/// Returns the error for an invalid request.
pub(super) fn bad_request(message: impl Into<String>) -> HttpError {
    HttpError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
}

/// Returns the response to a method that the path does not support.
pub(super) fn method_not_allowed(allowed: &'static str) -> Response<Body> {
    let message = format!("this method is not allowed; use {allowed}");
    let mut response: Response<Body> =
        HttpError::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Returns an empty 202 response.
pub(super) fn accepted() -> Response<Body> {
    let mut response = Response::new(body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

/// Returns the text of a header field that may occur once.
pub(super) fn header_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
