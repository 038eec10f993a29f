//! State shared by all requests and background tasks of a proxy, responses of the proxy itself, and the gateway's own calls to a
//! server: each is a post with the credentials of a client's post.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use portion_gateway::paged_call::PageError;

use super::internal_request::{fetch_internal_response, response_id};
use super::session::ProxySession;
use super::session_cache::SessionCache;
use super::upstream_client::{ForwardedParts, UpstreamClient};
use crate::front::http::http_error::HttpError;
use crate::http::body::{self, Body};
use crate::mcp::error_code::INVALID_REQUEST;
use crate::mcp::request_headers::{METHOD_HEADER, NAME_HEADER, PARAM_HEADER_PREFIX, encode_value};
use crate::mcp::{
    HeaderArgument, McpProcessorFactory, MessageView, ParsedBatch, ResponseFuture, UpstreamCaller,
};
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

/// Returns a response with the received head and another body.
pub(super) fn response_with_body(
    head: hyper::http::response::Parts,
    bytes: impl Into<Bytes>,
) -> Response<Body> {
    Response::from_parts(head, body::full(bytes))
}

/// Calls the server with the header fields of a post.
pub(super) struct PostCaller {
    pub(super) shared: Arc<ProxyShared>,
    pub(super) session: Arc<ProxySession>,
    pub(super) forwarded: ForwardedParts,
}

impl fmt::Debug for PostCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostCaller")
    }
}

impl PostCaller {
    /// Returns the header fields that repeat parts of a call, if the post had such fields.
    fn call_headers(&self, call: &MessageView<'_>) -> Vec<(HeaderName, HeaderValue)> {
        if !self.forwarded.headers.contains_key(METHOD_HEADER) {
            return Vec::new();
        }
        let tool = call.name().unwrap_or_default();
        let mut fields = vec![
            (METHOD_HEADER.to_owned(), call.method().into_owned()),
            (NAME_HEADER.to_owned(), encode_value(&tool).into_owned()),
        ];
        for param in self.session.processor.header_params(&tool) {
            let argument = param.find_argument(call.arguments().unwrap_or_default());
            let value = argument.as_ref().and_then(HeaderArgument::header_value);
            let name = format!("{PARAM_HEADER_PREFIX}{}", param.header.to_ascii_lowercase());
            fields.extend(value.map(|value| (name, encode_value(&value).into_owned())));
        }
        let field = |(name, value): (String, String)| Some((name.parse().ok()?, value.parse().ok()?));
        fields.into_iter().filter_map(field).collect()
    }
}

impl UpstreamCaller for PostCaller {
    fn call<'a>(&'a self, id: &'a str, request: Vec<u8>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let headers = {
                let text = String::from_utf8_lossy(&request);
                let batch = ParsedBatch::parse(&text).ok();
                let call = batch.as_ref().and_then(|batch| batch.messages.first());
                call.map(|call| self.call_headers(call)).unwrap_or_default()
            };
            let messages = fetch_internal_response(&self.shared, &self.forwarded, request, headers).await;
            match messages.map_err(PageError::Failed)?.pop() {
                Some(message) if response_id(&message) == Some(id) => Ok(message.into_bytes()),
                _ => Err(PageError::Failed("the server returned something other than the response".into())),
            }
        })
    }
}
