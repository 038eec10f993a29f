//! Errors as HTTP, with a body that both a program and a person can read.

use hyper::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use portion_core::scan::quote;

use crate::http::body::{Body, full};

/// Why a request goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    status: StatusCode,
    code: i32,
    message: String,
    /// Of the request that it answers.
    raw_id: String,
    /// Seconds after which the client may try again, on another connection.
    with_retry_after: Option<u16>,
}

impl HttpError {
    /// A refusal that answers no request in particular.
    pub fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), raw_id: "null".to_owned(), with_retry_after: None }
    }

    /// The same with the time, in seconds, after which the client may try again; the connection ends.
    #[must_use]
    pub fn retry_after(self, seconds: u16) -> Self {
        Self { with_retry_after: Some(seconds), ..self }
    }

    /// The same as the answer to the request of this id, as it was written. Of a 502 some
    /// clients read nothing but the number, so then it is an answer like any other.
    #[must_use]
    pub fn for_request(self, raw_id: &str) -> Self {
        let lost = self.status == StatusCode::BAD_GATEWAY;
        let status = if lost { StatusCode::OK } else { self.status };
        Self { status, raw_id: raw_id.to_owned(), ..self }
    }
}

impl From<HttpError> for Response<Body> {
    fn from(refusal: HttpError) -> Self {
        let HttpError { status, code, message, raw_id, with_retry_after: retry_after } = refusal;
        let mut response = json_response(status, json_rpc_error(&raw_id, code, &message));
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// An answer of JSON.
pub fn json_response(status: StatusCode, json: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(full(json));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON-RPC error.
pub fn json_rpc_error(raw_id: &str, code: i32, message: &str) -> String {
    let message = quote(message);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{raw_id},\"error\":{{\"code\":{code},\"message\":{message}}}}}")
}
