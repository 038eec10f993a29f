//! A post and its answer.

use std::collections::VecDeque;
use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tokio::time::timeout;

use super::session_cache::{ProxySession, ReservedIds, session_id};
use super::upstream_client::{self, ForwardError, ForwardedParts, is_event_stream, is_json};
use super::{ProxyShared, response_with_body, stream};
use crate::frame::Frame;
use crate::front::http::InboundRequest;
use crate::front::http::batch::join_responses;
use crate::front::http::http_error::{self, HttpError};
use crate::http::body::{self, Body, ReadBodyError};
use crate::http::sse::{SseParser, SseSegment};
use crate::mcp::error_code::{INTERNAL_ERROR, INVALID_REQUEST};
use crate::mcp::{McpProcessor, MessageKind, ParsedBatch};
use crate::relay::{MessageProcessor as _, OutgoingMessage};
use crate::upstream::link::with_response_id;

/// How long a server may take to answer a question of our own, on which a call waits.
const INTERNAL_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A post under way.
pub(super) struct PostExchange {
    pub(super) shared: Arc<ProxyShared>,
    pub(super) session: Arc<ProxySession>,
    pub(super) processor: Arc<McpProcessor>,
    pub(super) forwarded: ForwardedParts,
    /// Its first request, for which an answer that cannot be read is taken.
    pub(super) first_request_id: Option<Box<str>>,
    /// Whether that is the only one: then an answer without an id is its.
    has_single_request: bool,
    /// An array was posted, and so is answered.
    is_batch: bool,
    pub(super) reserved_ids: ReservedIds,
}

/// What a post is about, as far as it decides what becomes of it.
struct PostSummary {
    request_ids: Vec<Box<str>>,
    is_batch: bool,
    is_initialize: bool,
    is_initialized_notification: bool,
    /// Its answer may have to be changed.
    must_read_response: bool,
}

/// Passes a post on and its answer back.
pub(super) async fn forward_post(inner: Arc<ProxyShared>, asked: InboundRequest) -> Response<Body> {
    let InboundRequest { headers, query, body, principal, .. } = asked;
    let Some(gist) = PostSummary::parse(&body) else {
        // The door lets nothing else in.
        return HttpError::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, "the body is no message").into();
    };
    let session = if gist.is_initialize {
        Arc::new(ProxySession::without_id(&principal, &inner.processor_factory))
    } else {
        inner.sessions.get_or_insert(&principal, &inner.processor_factory)
    };
    let taken = match session.reserve_ids(gist.request_ids.iter().map(|id| &**id)) {
        Ok(taken) => taken,
        Err(id) => {
            let message = format!("a request with id {id} is already waiting for its answer");
            return HttpError::new(StatusCode::OK, INVALID_REQUEST, message).for_request(&id).into();
        }
    };
    let lane = Arc::new(session.post_processor());
    let (first_id, is_single, batch) =
        (gist.request_ids.first().cloned(), gist.request_ids.len() == 1, gist.is_batch);
    let carried = ForwardedParts { headers, query };
    let mut post = PostExchange {
        shared: inner,
        session,
        processor: lane,
        forwarded: carried,
        first_request_id: first_id,
        has_single_request: is_single,
        is_batch: batch,
        reserved_ids: taken,
    };
    let (onward, mut answers) = post.process_request(body).await;
    let Some(onward) = onward else { return local_response(&answers, batch) };
    if !gist.request_ids.is_empty() {
        post.session.opening.wait_for_stream().await;
    }
    let sent = post.shared.upstream.send(&Method::POST, &post.forwarded, onward);
    let answer = match post.wait_or_timeout(sent, &mut answers).await {
        Some(Ok(answer)) => answer,
        Some(Err(error)) if error.was_reached() => return post.failure_response(&error, answers),
        Some(Err(error)) => return post.unreachable_response(&error, answers),
        None => return local_response(&answers, batch),
    };
    if answer.status().is_success() {
        if gist.is_initialize {
            post.shared.sessions.insert_started(&principal, session_id(answer.headers()), &post.processor);
        }
        if gist.is_initialized_notification {
            post.session.opening.mark_client_ready();
        }
    } else if principal.session_id().is_some() && answer.status() == StatusCode::NOT_FOUND {
        post.shared.sessions.remove(&principal);
    }
    if is_event_stream(&answer) {
        stream::relay_post_stream(post, answer, &answers)
    } else if is_json(&answer) && (gist.must_read_response || !answers.is_empty()) {
        post.read_json_response(answer, answers).await
    } else {
        // Whatever it is, it is none of what the client waits for.
        post.processor.discard_all_pending(answer.body().size_hint().lower() as usize);
        upstream_client::pass_through(answer)
    }
}

impl PostSummary {
    fn parse(body: &[u8]) -> Option<Self> {
        let heard = ParsedBatch::parse(std::str::from_utf8(body).ok()?).ok()?;
        let says = |method: &str| heard.messages.iter().any(|note| note.method() == method);
        Some(Self {
            request_ids: heard.requests().map(|note| note.id().into()).collect(),
            is_batch: heard.is_batch,
            is_initialize: says("initialize"),
            is_initialized_notification: says("notifications/initialized"),
            // A server may stream a subscription as JSON.
            must_read_response: heard.requests().any(|request| request.method() != "subscriptions/listen"),
        })
    }
}

impl PostExchange {
    /// A post whose stream ended before the answer, which now comes another way.
    pub(super) fn from_resumed_stream(
        inner: &Arc<ProxyShared>,
        session: &Arc<ProxySession>,
        carried: &ForwardedParts,
        lane: Arc<McpProcessor>,
    ) -> Self {
        let (inner, carried) = (Arc::clone(inner), carried.clone());
        let taken = ReservedIds::empty(session);
        let (session, first_id, is_single, batch) = (Arc::clone(session), None, false, false);
        Self {
            shared: inner,
            session,
            processor: lane,
            forwarded: carried,
            first_request_id: first_id,
            has_single_request: is_single,
            is_batch: batch,
            reserved_ids: taken,
        }
    }

    /// What of it goes to the server, and what has been answered here. What must be known first is asked for.
    async fn process_request(&mut self, body: Vec<u8>) -> (Option<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut onward, mut answers) = (None, Vec::new());
        let mut queue = VecDeque::from(self.processor.process_client_frame(Frame::Message(body)).await);
        while let Some(next) = queue.pop_front() {
            match next {
                OutgoingMessage::ToServer(message) => onward = Some(message),
                OutgoingMessage::ToClient(message) => answers.push(message),
                OutgoingMessage::InternalRequest(question) => {
                    for answer in send_internal_request(&self.shared, &self.forwarded, question).await {
                        queue.extend(self.processor.process_server_frame(answer).await);
                    }
                }
            }
        }
        (onward, answers)
    }

    /// An answer that is read as a whole.
    async fn read_json_response(
        self,
        answer: Response<Incoming>,
        mut answers: Vec<Vec<u8>>,
    ) -> Response<Body> {
        let (mut head, body) = match upstream_client::decode_response(answer) {
            Ok(parts) => parts,
            Err(unknown) => return self.failure_response(&unknown, answers),
        };
        let limit = self.shared.processor_factory.max_server_message_bytes;
        let mut size = 0;
        let Some(came) = self.wait_or_timeout(body::read_all(body, limit), &mut answers).await else {
            return local_response(&answers, self.is_batch);
        };
        let frame = match came {
            Ok(bytes) if !head.status.is_success() && PostSummary::parse(&bytes).is_none() => {
                self.processor.discard_all_pending(bytes.len());
                return response_with_body(head, bytes);
            }
            Ok(bytes) => {
                size = bytes.len();
                Frame::Message(bytes)
            }
            Err(ReadBodyError::TooLarge(bytes)) => self.too_large_frame(bytes as u64),
            Err(broken @ ReadBodyError::Truncated(_)) => return self.failure_response(&broken, answers),
        };
        let frame = if head.status.is_success() { self.with_missing_id(frame) } else { frame };
        answers.extend(self.process_server_frame(frame).await);
        if self.processor.pending_count() > 0 && head.status.is_success() {
            return self
                .failure_response(&"the server answered with something else than the answer", answers);
        }
        self.processor.discard_all_pending(size);
        if answers.is_empty() {
            head.status = StatusCode::ACCEPTED;
        }
        response_with_body(head, join_for_client(&answers, self.is_batch))
    }

    /// A frame with the id of the only request that was posted, where it is an error without an id.
    pub(super) fn with_missing_id(&self, frame: Frame) -> Frame {
        let (Frame::Message(bytes), Some(id), true) =
            (&frame, &self.first_request_id, self.has_single_request)
        else {
            return frame;
        };
        if !self.processor.is_awaiting(id) {
            return frame;
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return frame };
        let Ok(heard) = ParsedBatch::parse(text) else { return frame };
        match &*heard.messages {
            [error] if !heard.is_batch && error.is_error_without_id() => {
                Frame::Message(with_response_id(text, error, id))
            }
            _ => frame,
        }
    }

    /// Waits for something of the server. `None`: nothing waits any more, for the server has been silent for too long; then
    /// the `answers` say so.
    async fn wait_or_timeout<T>(
        &self,
        came: impl Future<Output = T>,
        answers: &mut Vec<Vec<u8>>,
    ) -> Option<T> {
        let mut came = pin!(came);
        loop {
            tokio::select! {
                came = &mut came => return Some(came),
                expired = self.next_timeout() => answers.extend(expired),
            }
            if self.processor.pending_count() == 0 {
                return None;
            }
        }
    }

    /// Waits until the server has been silent about a request for too long. Returns what the client hears.
    pub(super) async fn next_timeout(&self) -> Vec<Vec<u8>> {
        let mut said = self.processor.next_timeout().await;
        if self.forwarded.headers.contains_key("mcp-method") {
            // From 2026-07-28 on, the end of the connection is the cancellation.
            said.retain(|said| matches!(said, OutgoingMessage::ToClient(_)));
        }
        self.dispatch(said)
    }

    /// What the client hears of what the server said.
    pub(super) async fn process_server_frame(&self, frame: Frame) -> Vec<Vec<u8>> {
        self.dispatch(self.processor.process_server_frame(frame).await)
    }

    /// Sends the server what is for it. Returns what is for the client.
    fn dispatch(&self, said: Vec<OutgoingMessage>) -> Vec<Vec<u8>> {
        let mut heard = Vec::new();
        for said in said {
            match said {
                OutgoingMessage::ToClient(message) => heard.push(message),
                OutgoingMessage::InternalRequest(question) => {
                    let (inner, lane) = (Arc::clone(&self.shared), Arc::clone(&self.processor));
                    tokio::spawn(run_internal_requests(inner, self.forwarded.clone(), lane, question));
                }
                OutgoingMessage::ToServer(message) => {
                    tokio::spawn(send_one_way(Arc::clone(&self.shared), self.forwarded.clone(), message));
                }
            }
        }
        heard
    }

    /// What an answer of so many bytes is to the lane.
    pub(super) fn too_large_frame(&self, bytes: u64) -> Frame {
        Frame::TooLarge { id: self.first_request_id.clone(), has_method: false, bytes }
    }

    /// The errors for all that waits.
    pub(super) fn connection_lost_errors(&self, why: &dyn Display) -> Vec<Vec<u8>> {
        client_messages(self.processor.on_server_gone(why))
    }

    /// The JSON-RPC errors for all that waits, where the server has ended its stream as if all was said.
    pub(super) fn missing_response_errors(&self, why: &dyn Display) -> Vec<Vec<u8>> {
        client_messages(self.processor.fail_all_pending(why))
    }

    fn failure_response(&self, why: &dyn Display, answers: Vec<Vec<u8>>) -> Response<Body> {
        respond_with_errors(why, answers, self.connection_lost_errors(why), self.is_batch)
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

/// Tells the server something that has no answer.
pub(super) async fn send_one_way(inner: Arc<ProxyShared>, mut carried: ForwardedParts, message: Vec<u8>) {
    let headers = &mut carried.headers;
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Err(error) = inner.upstream.send(&Method::POST, &carried, message).await {
        tracing::warn!(%error, "the server was not told that its request was refused");
    }
}

/// Of what a lane says, what is for the client.
pub(super) fn client_messages(said: Vec<OutgoingMessage>) -> Vec<Vec<u8>> {
    let told = said.into_iter().filter_map(|said| match said {
        OutgoingMessage::ToClient(message) => Some(message),
        OutgoingMessage::ToServer(_) | OutgoingMessage::InternalRequest(_) => None,
    });
    told.collect()
}

fn respond_with_errors(
    why: &dyn Display,
    mut answers: Vec<Vec<u8>>,
    told: Vec<Vec<u8>>,
    batch: bool,
) -> Response<Body> {
    tracing::warn!(%why, "an exchange with the server failed");
    answers.extend(told);
    if answers.is_empty() {
        return HttpError::new(StatusCode::BAD_GATEWAY, INTERNAL_ERROR, why.to_string()).into();
    }
    // A client that waits for an answer reads this one; of other statuses some read nothing but the number.
    http_error::json_response(StatusCode::OK, join_for_client(&answers, batch))
}

/// The answer where nothing went to the server.
fn local_response(answers: &[Vec<u8>], batch: bool) -> Response<Body> {
    if answers.is_empty() {
        let mut accepted = Response::new(body::empty());
        *accepted.status_mut() = StatusCode::ACCEPTED;
        return accepted;
    }
    http_error::json_response(StatusCode::OK, join_for_client(answers, batch))
}

/// Several answers are an array where a batch was posted. One request has one answer, the last: since 2025-06-18 no client
/// knows what to make of an array.
fn join_for_client(answers: &[Vec<u8>], batch: bool) -> Vec<u8> {
    if batch {
        return join_responses(answers.iter().map(Vec::as_slice), false);
    }
    answers.last().cloned().unwrap_or_default()
}

/// Asks a question of the lane's own until it has no further one, while nobody waits for it.
async fn run_internal_requests(
    inner: Arc<ProxyShared>,
    carried: ForwardedParts,
    lane: Arc<McpProcessor>,
    question: Vec<u8>,
) {
    let mut questions = VecDeque::from([question]);
    while let Some(question) = questions.pop_front() {
        for answer in send_internal_request(&inner, &carried, question).await {
            for said in lane.process_server_frame(answer).await {
                if let OutgoingMessage::InternalRequest(next) = said {
                    questions.push_back(next);
                }
            }
        }
    }
}

/// The messages with which the server answers a question of our own, the last of them the answer.
async fn send_internal_request(
    inner: &ProxyShared,
    carried: &ForwardedParts,
    question: Vec<u8>,
) -> Vec<Frame> {
    let asked = PostSummary::parse(&question)
        .and_then(|gist| gist.request_ids.into_iter().next())
        .unwrap_or_default();
    let why = match timeout(INTERNAL_REQUEST_TIMEOUT, fetch_internal_response(inner, carried, question)).await
    {
        Ok(Ok(answers)) if answers.last().is_some_and(|answer| response_id(answer) == Some(&*asked)) => {
            return answers.into_iter().map(|answer| Frame::Message(answer.into_bytes())).collect();
        }
        Ok(Ok(_)) => "the server answered with something else than the answer".to_owned(),
        Ok(Err(why)) => why,
        Err(_) => format!("no answer within {} s", INTERNAL_REQUEST_TIMEOUT.as_secs()),
    };
    tracing::warn!(why, "a question of our own was not answered");
    vec![Frame::Message(http_error::json_rpc_error(&asked, INTERNAL_ERROR, &why).into_bytes())]
}

/// The id that a response answers.
pub(super) fn response_id(message: &str) -> Option<&str> {
    let heard = ParsedBatch::parse(message).ok()?;
    let first = heard.messages.first().filter(|note| note.kind() == MessageKind::Response)?;
    Some(first.id())
}

async fn fetch_internal_response(
    inner: &ProxyShared,
    carried: &ForwardedParts,
    question: Vec<u8>,
) -> Result<Vec<String>, String> {
    let ForwardedParts { mut headers, query } = carried.clone();
    let named: Vec<_> =
        headers.keys().filter(|name| name.as_str().starts_with("mcp-param-")).cloned().collect();
    for name in named {
        headers.remove(name);
    }
    headers.remove("mcp-name");
    if headers.contains_key("mcp-method") {
        headers.insert("mcp-method", HeaderValue::from_static("tools/list"));
    }
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let sent = inner.upstream.send(&Method::POST, &ForwardedParts { headers, query }, question).await;
    let answer = sent.map_err(|error: ForwardError| error.to_string())?;
    let (is_stream, limit) = (is_event_stream(&answer), inner.processor_factory.max_server_message_bytes);
    let (head, mut body) = upstream_client::decode_response(answer).map_err(|error| error.to_string())?;
    if !is_stream {
        let bytes = body::read_all(body, limit).await.map_err(|error| error.to_string())?;
        return match String::from_utf8(bytes) {
            Ok(answer) if head.status.is_success() => Ok(vec![answer]),
            _ => Err(format!("the server answered with status {}", head.status)),
        };
    }
    let (mut events, mut answers) = (SseParser::new(limit), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        for piece in events.push(frame.data_ref().map(|bytes| &bytes[..]).unwrap_or_default()) {
            let SseSegment::Event(event) = piece else { continue };
            answers.push(String::from_utf8_lossy(event.data()).into_owned());
            if answers.last().is_some_and(|message| response_id(message).is_some()) {
                return Ok(answers);
            }
        }
    }
    Err("the server ended its stream before it answered".to_owned())
}
