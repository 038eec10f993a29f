//! Forwards a post to the server and its response to the client.

use std::collections::VecDeque;
use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Method, Response, StatusCode};
use portion_text::display::shortened;

use super::session::{ProxySession, ReservedIds, session_id};
use super::shared::{
    PostCaller, ProxyShared, response_with_body, run_internal_requests, send_internal_request,
    session_not_found,
};
use super::stream;
use super::upstream_client::{self, ForwardedParts, is_event_stream, is_json};
use crate::frame::{DroppedLine, Frame};
use crate::front::http::http_error::{self, accepted, bad_gateway, bad_request, join_messages};
use crate::front::http::{InboundRequest, RequestBody};
use crate::http::body::{self, Body, ReadBodyError, TruncatedBody};
use crate::mcp::envelope::{INTERNAL_ERROR, json_rpc_error};
use crate::mcp::{McpProcessor, OwnedBatch, ParsedBatch};
use crate::message_processor::{GATEWAY_STOPS, MessageProcessor as _, OutgoingMessage};

/// Characters of the large body of an error that are shown.
const MAX_SHOWN_ERROR_CHARS: usize = 1000;

/// A post in progress.
pub(super) struct PostExchange {
    pub(super) shared: Arc<ProxyShared>,
    pub(super) session: Arc<ProxySession>,
    pub(super) processor: Arc<McpProcessor>,
    pub(super) forwarded: ForwardedParts,
    /// Ids of its requests; an unreadable response counts as the response to all that are pending.
    request_ids: Vec<Box<str>>,
    /// True if an array was posted; the response is an array, too.
    is_batch: bool,
    pub(super) reserved_ids: ReservedIds,
}

/// Properties of a post that determine how it is processed.
struct PostSummary {
    request_ids: Vec<Box<str>>,
    is_batch: bool,
    is_initialize: bool,
    is_initialized_notification: bool,
    /// True if the response may have to be changed.
    must_read_response: bool,
}

/// Forwards a post and returns the response.
pub(super) async fn forward_post(shared: Arc<ProxyShared>, request: InboundRequest) -> Response<Body> {
    let InboundRequest { headers, query, body, principal, .. } = request;
    let RequestBody::Messages(posted) = body else {
        // `HttpServer` rejects all other posts.
        return bad_request("the body is not a message").into();
    };
    let summary = PostSummary::of(&posted.view());
    if !shared.sessions.is_own(&principal) {
        return session_not_found();
    }
    let session = if summary.is_initialize {
        Arc::new(ProxySession::without_id(&principal, &shared.processor_factory))
    } else {
        shared.sessions.get_or_insert(&principal, &shared.processor_factory)
    };
    let (reserved_ids, taken_ids) = session.reserve_ids(summary.request_ids.iter().map(|id| &**id));
    let forwarded = ForwardedParts { headers, query };
    let caller = PostCaller {
        shared: Arc::clone(&shared),
        session: Arc::clone(&session),
        forwarded: forwarded.clone(),
    };
    let processor = session.post_processor().with_taken_ids(taken_ids).with_upstream_caller(Arc::new(caller));
    let processor = Arc::new(processor);
    let is_batch = summary.is_batch;
    let mut post = PostExchange {
        shared,
        session,
        processor,
        forwarded,
        request_ids: summary.request_ids,
        is_batch,
        reserved_ids,
    };
    let (to_server, mut answers) = post.process_request(posted).await;
    let Some(to_server) = to_server else { return local_response(&answers, is_batch) };
    if !post.request_ids.is_empty() {
        post.session.opening.wait_for_stream().await;
    }
    let sending = post.shared.upstream.send(&Method::POST, &post.forwarded, to_server);
    let response = match post.wait_or_timeout(sending, &mut answers).await {
        Some(Ok(response)) => response,
        Some(Err(error)) if error.was_reached() => return post.failure_response(&error, answers),
        Some(Err(error)) => return post.unreachable_response(&error, answers),
        None => return local_response(&answers, is_batch),
    };
    if response.status().is_success() {
        if summary.is_initialize {
            let now = post.shared.processor_factory.gateway.now();
            let id = session_id(response.headers());
            post.shared.sessions.insert_started(&principal, id, &post.processor, now);
        }
        if summary.is_initialized_notification {
            post.session.opening.mark_client_ready();
        }
    } else if principal.session_id().is_some() && response.status() == StatusCode::NOT_FOUND {
        post.shared.sessions.remove(&principal);
    }
    if is_event_stream(&response) {
        stream::relay_post_stream(post, response, answers)
    } else if is_json(&response) && (summary.must_read_response || !answers.is_empty()) {
        post.read_json_response(response, answers).await
    } else if is_json(&response) && response.status().is_success() {
        post.processor.discard_all_pending(response.body().size_hint().lower() as usize);
        upstream_client::pass_through(response)
    } else {
        post.read_other_response(response, answers).await
    }
}

impl PostSummary {
    fn of(batch: &ParsedBatch<'_>) -> Self {
        let has_method = |method: &str| batch.messages.iter().any(|message| message.method() == method);
        Self {
            request_ids: batch.requests().map(|message| message.id().into()).collect(),
            is_batch: batch.is_batch,
            is_initialize: has_method("initialize"),
            is_initialized_notification: has_method("notifications/initialized"),
            // A server may stream a subscription as JSON.
            must_read_response: batch.requests().any(|request| request.method() != "subscriptions/listen"),
        }
    }
}

impl PostExchange {
    /// Creates an exchange for a response that arrives on another stream because that of its post has ended.
    pub(super) fn from_resumed_stream(
        shared: &Arc<ProxyShared>,
        session: &Arc<ProxySession>,
        forwarded: &ForwardedParts,
        processor: Arc<McpProcessor>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            session: Arc::clone(session),
            processor,
            forwarded: forwarded.clone(),
            request_ids: Vec::new(),
            is_batch: false,
            reserved_ids: ReservedIds::empty(session),
        }
    }

    /// Processes the posted message. Returns the message to forward, if any, and the messages answered here. Sends
    /// internal requests that must be answered first.
    async fn process_request(&mut self, posted: OwnedBatch) -> (Option<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut to_server, mut answers) = (Vec::new(), Vec::new());
        let mut queue = VecDeque::from(self.processor.process_client_batch(posted).await);
        while let Some(next) = queue.pop_front() {
            match next {
                OutgoingMessage::ToServer(message) => to_server.push(message),
                OutgoingMessage::ToClient(message) => answers.push(message),
                OutgoingMessage::InternalRequest(request) => {
                    for frame in send_internal_request(&self.shared, &self.forwarded, request).await {
                        queue.extend(self.processor.process_server_frame(frame).await);
                    }
                }
            }
        }
        // Calls of a batch that waited for an internal request follow the other messages.
        let has_message = !to_server.is_empty();
        let joined = has_message.then(|| join_messages(to_server.iter().map(Vec::as_slice), false));
        (joined, answers)
    }

    /// Reads a JSON response as a whole and processes it.
    async fn read_json_response(
        self,
        response: Response<Incoming>,
        mut answers: Vec<Vec<u8>>,
    ) -> Response<Body> {
        let (mut head, body) = match upstream_client::decode_response(response) {
            Ok(parts) => parts,
            Err(error) => return self.failure_response(&error, answers),
        };
        let limit = self.shared.processor_factory.max_server_message_bytes;
        let mut size = 0;
        let Some(result) = self.wait_or_timeout(body::read_all(body, limit), &mut answers).await else {
            return local_response(&answers, self.is_batch);
        };
        let frame = match result {
            Ok(bytes) if !head.status.is_success() && !is_message(&bytes) => {
                return self.error_response(head, &bytes);
            }
            Ok(bytes) => {
                size = bytes.len();
                Frame::Message(bytes)
            }
            Err(ReadBodyError::TooLarge(bytes)) => self.too_large_frame(bytes as u64),
            Err(error @ ReadBodyError::Truncated(_)) => return self.failure_response(&error, answers),
        };
        answers.extend(self.process_server_frame(frame).await);
        if self.processor.pending_count() > 0 && head.status.is_success() {
            return self.failure_response(&"the server returned something other than the response", answers);
        }
        self.processor.discard_all_pending(size);
        if answers.is_empty() {
            head.status = StatusCode::ACCEPTED;
        }
        response_with_body(head, join_for_client(&answers, self.is_batch))
    }

    /// Reads a response that contains no message, so that no pending request will be answered.
    async fn read_other_response(
        self,
        response: Response<Incoming>,
        mut answers: Vec<Vec<u8>>,
    ) -> Response<Body> {
        let (head, body) = match upstream_client::decode_response(response) {
            Ok(parts) => parts,
            Err(error) => return self.failure_response(&error, answers),
        };
        if head.status.is_success() && self.processor.pending_count() > 0 {
            let kind: String = match head.headers.get(CONTENT_TYPE) {
                Some(kind) => shortened(&String::from_utf8_lossy(kind.as_bytes())).into_owned(),
                None => match self.wait_or_timeout(is_empty(body), &mut answers).await {
                    Some(Ok(true)) => "an empty body".to_owned(),
                    Some(Ok(false)) => "a body without Content-Type".to_owned(),
                    Some(Err(error)) => return self.failure_response(&error, answers),
                    None => return local_response(&answers, self.is_batch),
                },
            };
            let why = format!("the server answered with {kind}, which is no response of MCP");
            return self.failure_response(&why, answers);
        }
        if head.status.is_success() && !answers.is_empty() {
            return local_response(&answers, self.is_batch);
        }
        let Some(read) = self.wait_or_timeout(body::read_error(body), &mut answers).await else {
            return local_response(&answers, self.is_batch);
        };
        match read {
            Ok(bytes) => self.error_response(head, &bytes),
            Err(ReadBodyError::TooLarge(_)) => self.error_response(head, b"(a body over 64 KiB)"),
            Err(error @ ReadBodyError::Truncated(_)) => self.failure_response(&error, answers),
        }
    }

    /// Returns a response without messages, with a body that is small and has no hidden values. Of a larger one, an error
    /// contains the beginning.
    fn error_response(&self, mut head: Parts, bytes: &[u8]) -> Response<Body> {
        self.processor.discard_all_pending(bytes.len());
        let text = String::from_utf8_lossy(bytes);
        let redacted = self.processor.redacted(&text);
        if bytes.len() <= stream::MAX_NON_MESSAGE_BYTES {
            return if redacted == text {
                response_with_body(head, bytes.to_vec())
            } else {
                response_with_body(head, redacted)
            };
        }
        let begin: String = redacted.chars().take(MAX_SHOWN_ERROR_CHARS).collect();
        let message = format!("the server answered {}: {begin} … ({} bytes)", head.status, bytes.len());
        head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let id = self.request_ids.first().map_or("null", |id| &**id);
        response_with_body(head, json_rpc_error(id, INTERNAL_ERROR, &message))
    }

    /// Waits for a result of the server. Returns `None` if all pending requests have timed out, or the gateway stops;
    /// `answers` then contains their errors.
    async fn wait_or_timeout<T>(
        &self,
        result: impl Future<Output = T>,
        answers: &mut Vec<Vec<u8>>,
    ) -> Option<T> {
        let mut result = pin!(result);
        loop {
            tokio::select! {
                result = &mut result => return Some(result),
                expired = self.next_timeout() => answers.extend(expired),
                () = self.shared.shutdown_started.wait(), if self.processor.pending_count() > 0 => {
                    answers.extend(self.stopped_errors());
                }
            }
            if self.processor.pending_count() == 0 {
                return None;
            }
        }
    }

    /// Waits until a request to the server times out. Returns the messages for the client.
    pub(super) async fn next_timeout(&self) -> Vec<Vec<u8>> {
        let mut outgoing = self.processor.next_timeout().await;
        if self.forwarded.headers.contains_key("mcp-method") {
            // Since 2026-07-28 closing the connection is the cancellation.
            outgoing.retain(|outgoing| matches!(outgoing, OutgoingMessage::ToClient(_)));
        }
        self.dispatch(outgoing)
    }

    /// Processes a frame of the server. Returns the messages for the client. A response that
    /// needs further requests of the gateway waits for them.
    pub(super) async fn process_server_frame(&self, frame: Frame) -> Vec<Vec<u8>> {
        let mut for_client = Vec::new();
        let mut queue = VecDeque::from(self.processor.process_server_frame(frame).await);
        while let Some(next) = queue.pop_front() {
            match next {
                OutgoingMessage::InternalRequest(request) if self.processor.has_held_messages() => {
                    queue.extend(self.follow_internal_request(request).await);
                }
                next => for_client.extend(self.dispatch(vec![next])),
            }
        }
        for_client
    }

    /// Sends a request on which a response to the client waits, until that is answered without it. Returns what follows.
    async fn follow_internal_request(&self, request: Vec<u8>) -> Vec<OutgoingMessage> {
        let mut outgoing = Vec::new();
        let mut sending = pin!(send_internal_request(&self.shared, &self.forwarded, request));
        while self.processor.has_held_messages() {
            tokio::select! {
                frames = &mut sending => {
                    for frame in frames {
                        outgoing.extend(self.processor.process_server_frame(frame).await);
                    }
                    break;
                }
                expired = self.processor.next_timeout() => outgoing.extend(expired),
            }
        }
        outgoing
    }

    /// Sends the messages for the server. Returns the messages for the client.
    fn dispatch(&self, outgoing: Vec<OutgoingMessage>) -> Vec<Vec<u8>> {
        let mut for_client = Vec::new();
        for outgoing in outgoing {
            match outgoing {
                OutgoingMessage::ToClient(message) => for_client.push(message),
                OutgoingMessage::InternalRequest(request) => {
                    let (shared, processor) = (Arc::clone(&self.shared), Arc::clone(&self.processor));
                    tokio::spawn(run_internal_requests(shared, self.forwarded.clone(), processor, request));
                }
                OutgoingMessage::ToServer(message) => {
                    tokio::spawn(send_one_way(Arc::clone(&self.shared), self.forwarded.clone(), message));
                }
            }
        }
        for_client
    }

    /// Returns the frame that stands for a response over the limit.
    pub(super) fn too_large_frame(&self, bytes: u64) -> Frame {
        Frame::TooLarge(DroppedLine::of_responses(self.request_ids.iter().cloned(), bytes))
    }

    /// Returns the errors for all pending requests after an event over the limit, whose drop is recorded.
    pub(super) async fn too_large_errors(&self) -> Vec<Vec<u8>> {
        let dropped = DroppedLine::of_responses(self.request_ids.iter().cloned(), 0);
        self.dispatch(self.processor.answer_oversized_line(&dropped).await)
    }

    /// Returns the errors for all pending requests whose response was lost or cannot be used. `why` is a sentence.
    pub(super) fn lost_response_errors(&self, why: &dyn Display) -> Vec<Vec<u8>> {
        client_messages(self.processor.on_response_lost(why))
    }

    /// Returns the JSON-RPC errors for all pending requests after the server has ended its stream regularly.
    pub(super) fn missing_response_errors(&self, why: &dyn Display) -> Vec<Vec<u8>> {
        client_messages(self.processor.fail_all_pending(why))
    }

    /// Returns the errors for all pending requests because the gateway stops.
    pub(super) fn stopped_errors(&self) -> Vec<Vec<u8>> {
        client_messages(self.processor.on_server_gone(&GATEWAY_STOPS))
    }

    /// Returns the response to a post whose response was lost or cannot be used. `why` is a sentence.
    pub(super) fn failure_response(&self, why: &dyn Display, answers: Vec<Vec<u8>>) -> Response<Body> {
        respond_with_errors(why, answers, self.lost_response_errors(why), self.is_batch)
    }

    fn unreachable_response(&self, why: &dyn Display, answers: Vec<Vec<u8>>) -> Response<Body> {
        respond_with_errors(
            why,
            answers,
            client_messages(self.processor.on_server_unreachable(why)),
            self.is_batch,
        )
    }
}

/// Posts a message that has no response to the server.
pub(super) async fn send_one_way(shared: Arc<ProxyShared>, mut forwarded: ForwardedParts, message: Vec<u8>) {
    let headers = &mut forwarded.headers;
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Err(error) = shared.upstream.send(&Method::POST, &forwarded, message).await {
        tracing::warn!(%error, "the refusal of a server request could not be sent");
    }
}

/// Returns the messages for the client.
pub(super) fn client_messages(outgoing: Vec<OutgoingMessage>) -> Vec<Vec<u8>> {
    let messages = outgoing.into_iter().filter_map(|outgoing| match outgoing {
        OutgoingMessage::ToClient(message) => Some(message),
        OutgoingMessage::ToServer(_) | OutgoingMessage::InternalRequest(_) => None,
    });
    messages.collect()
}

fn respond_with_errors(
    why: &dyn Display,
    mut answers: Vec<Vec<u8>>,
    errors: Vec<Vec<u8>>,
    is_batch: bool,
) -> Response<Body> {
    tracing::warn!(%why, "an exchange with the server failed");
    answers.extend(errors);
    if answers.is_empty() {
        return bad_gateway(why).into();
    }
    // Some clients ignore the body of other statuses.
    http_error::json_response(StatusCode::OK, join_for_client(&answers, is_batch))
}

/// Returns the response to a post that was not forwarded.
fn local_response(answers: &[Vec<u8>], is_batch: bool) -> Response<Body> {
    if answers.is_empty() {
        return accepted();
    }
    http_error::json_response(StatusCode::OK, join_for_client(answers, is_batch))
}

/// Joins responses to an array if a batch was posted. Otherwise returns the last one: since 2025-06-18 clients do not
/// support arrays.
fn join_for_client(answers: &[Vec<u8>], is_batch: bool) -> Vec<u8> {
    if is_batch {
        return join_messages(answers.iter().map(Vec::as_slice), true);
    }
    answers.last().cloned().unwrap_or_default()
}

/// Returns true if a body has no bytes.
async fn is_empty(body: Body) -> Result<bool, TruncatedBody> {
    match body::read_all(body, 0).await {
        Ok(_) => Ok(true),
        Err(ReadBodyError::TooLarge(_)) => Ok(false),
        Err(ReadBodyError::Truncated(error)) => Err(error),
    }
}

/// Returns true if the bytes are a message or a batch.
fn is_message(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| ParsedBatch::parse(text).is_ok())
}
