//! State shared by all requests and background tasks of a proxy, and responses of the proxy itself.

use bytes::Bytes;
use hyper::header::{ALLOW, HeaderValue};
use hyper::{Response, StatusCode};

use super::session_cache::SessionCache;
use super::upstream_client::UpstreamClient;
use crate::front::http::http_error::HttpError;
use crate::http::body::{self, Body};
use crate::mcp::McpProcessorFactory;
use crate::mcp::error_code::INVALID_REQUEST;
use crate::once::OneShotFlag;

/// State shared by all requests and background tasks.
pub(super) struct ProxyShared {
    pub(super) upstream: UpstreamClient,
    pub(super) processor_factory: McpProcessorFactory,
    pub(super) sessions: SessionCache,
    /// Set when running requests have no more time to finish before the gateway stops.
    pub(super) shutdown_started: OneShotFlag,
}

/// Returns the response to a request in a session that does not exist, or belongs to another caller.
pub(super) fn session_not_found() -> Response<Body> {
    let message =
        "this session does not exist, has ended, or belongs to another caller; send initialize again";
    HttpError::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message).into()
}

/// Returns the response to a method that the proxy does not forward.
pub(super) fn method_not_allowed() -> Response<Body> {
    let message = "this method is not allowed; use POST, GET or DELETE";
    let mut response: Response<Body> =
        HttpError::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).into();
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
    response
}

/// Returns a response with the received head and another body.
pub(super) fn response_with_body(
    head: hyper::http::response::Parts,
    bytes: impl Into<Bytes>,
) -> Response<Body> {
    Response::from_parts(head, body::full(bytes))
}
