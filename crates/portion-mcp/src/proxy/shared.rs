//! State shared by all requests and background tasks of a proxy, responses of the proxy itself, and the gateway's own calls to a
//! server: each is a post with the credentials of a client's post.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use portion_gateway::dropped_messages::DropReason;
use portion_gateway::paged_call::PageError;
use tokio::time::timeout;

use super::session::{ProxySession, SessionCache};
use super::upstream_client::{self, ForwardError, ForwardedParts, UpstreamClient, is_event_stream};
use crate::frame::Frame;
use crate::front::http::http_error::HttpError;
use crate::http::body::{self, Body};
use crate::http::sse::{SseParser, SseSegment};
use crate::mcp::envelope::{INTERNAL_ERROR, INVALID_REQUEST, json_rpc_error};
use crate::mcp::request_headers::{METHOD_HEADER, NAME_HEADER, header_fields};
use crate::mcp::{
    McpProcessor, McpProcessorFactory, MessageKind, MessageView, ParsedBatch, ResponseFuture, UpstreamCaller,
};
use crate::message_processor::{MessageProcessor as _, OutgoingMessage};
use crate::once::OneShotFlag;

/// Timeout of an internal request, on which a client's call waits.
const INTERNAL_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

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

impl PostCaller {
    /// Returns the header fields that repeat parts of a call, if the post had such fields.
    fn call_headers(&self, call: &MessageView<'_>) -> Vec<(HeaderName, HeaderValue)> {
        if !self.forwarded.headers.contains_key(METHOD_HEADER) {
            return Vec::new();
        }
        let params = self.session.processor.header_params(&call.name().unwrap_or_default());
        header_fields(call, &params)
    }
}

impl UpstreamCaller for PostCaller {
    fn call<'a>(&'a self, id: &'a str, request: Vec<u8>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let headers = ParsedBatch::read(&request, |batch| {
                batch.messages.first().map(|call| self.call_headers(call)).unwrap_or_default()
            });
            let headers = headers.unwrap_or_default();
            let messages = fetch_internal_response(&self.shared, &self.forwarded, request, headers).await;
            match messages.map_err(PageError::Failed)?.pop() {
                Some(message) if response_id(&message) == Some(id) => Ok(message.into_bytes()),
                _ => Err(PageError::Failed("the server returned something other than the response".into())),
            }
        })
    }
}

/// Sends internal requests until the processor has no further one; no client waits for them.
pub(super) async fn run_internal_requests(
    shared: Arc<ProxyShared>,
    forwarded: ForwardedParts,
    processor: Arc<McpProcessor>,
    request: Vec<u8>,
) {
    let mut requests = VecDeque::from([request]);
    while let Some(request) = requests.pop_front() {
        for frame in send_internal_request(&shared, &forwarded, request).await {
            for outgoing in processor.process_server_frame(frame).await {
                if let OutgoingMessage::InternalRequest(next) = outgoing {
                    requests.push_back(next);
                }
            }
        }
    }
}

/// Sends an internal request and returns the messages of the server, of which the last is the response.
pub(super) async fn send_internal_request(
    shared: &ProxyShared,
    forwarded: &ForwardedParts,
    request: Vec<u8>,
) -> Vec<Frame> {
    let request_id = first_request_id(&request).unwrap_or_default();
    let list_headers = if forwarded.headers.contains_key(METHOD_HEADER) {
        vec![(HeaderName::from_static(METHOD_HEADER), HeaderValue::from_static("tools/list"))]
    } else {
        Vec::new()
    };
    let why = match timeout(
        INTERNAL_REQUEST_TIMEOUT,
        fetch_internal_response(shared, forwarded, request, list_headers),
    )
    .await
    {
        Ok(Ok(messages))
            if messages.last().is_some_and(|message| response_id(message) == Some(&*request_id)) =>
        {
            return messages.into_iter().map(|message| Frame::Message(message.into_bytes())).collect();
        }
        Ok(Ok(_)) => "the server returned something other than the response".to_owned(),
        Ok(Err(why)) => why,
        Err(_) => format!("no response within {} s", INTERNAL_REQUEST_TIMEOUT.as_secs()),
    };
    tracing::warn!(why, "a request of Portion itself failed");
    vec![Frame::Message(json_rpc_error(&request_id, INTERNAL_ERROR, &why).into_bytes())]
}

/// Posts a request and returns the messages of the server up to the response. `call_headers`: header fields that repeat
/// parts of the request.
async fn fetch_internal_response(
    shared: &ProxyShared,
    forwarded: &ForwardedParts,
    request: Vec<u8>,
    call_headers: Vec<(HeaderName, HeaderValue)>,
) -> Result<Vec<String>, String> {
    let ForwardedParts { mut headers, query } = forwarded.clone();
    let param_headers: Vec<_> =
        headers.keys().filter(|name| name.as_str().starts_with("mcp-param-")).cloned().collect();
    for name in param_headers {
        headers.remove(name);
    }
    headers.remove(NAME_HEADER);
    for (name, value) in call_headers {
        headers.insert(name, value);
    }
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let result = shared.upstream.send(&Method::POST, &ForwardedParts { headers, query }, request).await;
    let response = result.map_err(|error: ForwardError| error.to_string())?;
    let (is_stream, limit) = (is_event_stream(&response), shared.processor_factory.max_server_message_bytes);
    let (head, mut body) = upstream_client::decode_response(response).map_err(|error| error.to_string())?;
    if !is_stream {
        let bytes = body::read_all(body, limit).await.map_err(|error| error.to_string())?;
        return match String::from_utf8(bytes) {
            Ok(response) if head.status.is_success() => Ok(vec![response]),
            _ => Err(format!("the server returned status {}", head.status)),
        };
    }
    let (mut parser, mut messages, mut kept_bytes) = (SseParser::new(limit), Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        for segment in parser.push(frame.data_ref().map(|bytes| &bytes[..]).unwrap_or_default()) {
            let SseSegment::Event(event) = segment else { continue };
            let message = String::from_utf8_lossy(&event.data).into_owned();
            if response_id(&message).is_some() {
                messages.push(message);
                return Ok(messages);
            }
            if kept_bytes + message.len() > limit {
                let why = "a message before the response, which together exceed upstreamMessageLimit";
                let gateway = &shared.processor_factory.gateway;
                gateway.record_drop(DropReason::Oversized, message.len(), why);
                continue;
            }
            kept_bytes += message.len();
            messages.push(message);
        }
    }
    Err("the server ended its stream before the response".to_owned())
}

/// Returns the request id of a response.
pub(super) fn response_id(message: &str) -> Option<&str> {
    let batch = ParsedBatch::parse(message).ok()?;
    let first = batch.messages.first().filter(|message| message.kind() == MessageKind::Response)?;
    Some(first.id())
}

/// Returns the id of the first request of a text, as written.
fn first_request_id(bytes: &[u8]) -> Option<String> {
    ParsedBatch::read(bytes, |batch| batch.requests().next().map(|request| request.id().to_owned())).flatten()
}
