//! Relays streams of events from the server to the client.
//!
//! Events are forwarded one by one, at once and byte for byte, without fields that clients ignore. If the message of an event
//! is changed, the event keeps its id. A broken stream is never presented as complete: it breaks for the client too, or ends
//! with an error for each request that can no longer be answered. The same holds if the gateway stops.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use hyper::http::response::Parts;
use portion_gateway::dropped_messages::DropReason;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::exchange::{PostExchange, client_messages, send_one_way};
use super::session::ProxySession;
use super::shared::{ProxyShared, response_id};
use super::upstream_client::{self, ForwardedParts};
use crate::frame::{DroppedLine, Frame};
use crate::front::http::http_error::bad_gateway;
use crate::http::body::{self, Body, TruncatedBody};
use crate::http::sse::{SseEvent, SseParser, SseSegment, encode_event, without_content};
use crate::mcp::{McpProcessor, ParsedBatch};
use crate::message_processor::{GATEWAY_STOPS, MessageProcessor as _, OutgoingMessage};

/// Longest silence on a stream. Listening streams are silent for long; a client that has disconnected is noticed by
/// its connection.
const IDLE_TIMEOUT: Duration = Duration::from_hours(1);

/// Largest data, in bytes, of an event or body that is not a message and is forwarded.
pub(super) const MAX_NON_MESSAGE_BYTES: usize = 4096;

/// Returns true if the data of an event is a message or a batch.
fn is_json_rpc(data: &[u8]) -> bool {
    ParsedBatch::parse(&String::from_utf8_lossy(data)).is_ok()
}

/// A stream that is being relayed.
struct RelayedStream {
    body: Body,
    parser: SseParser,
    recipient: StreamRecipient,
    /// True if an event over the limit was dropped. It may have answered any request that is still pending.
    has_dropped_event: bool,
    is_over: bool,
}

enum StreamRecipient {
    /// The response to a post. `is_resumable` is set once the client has received an event id.
    Post { post: Box<PostExchange>, is_resumable: bool },
    /// The listening stream of a session, or a resumed one.
    Session {
        session: Arc<ProxySession>,
        shared: Arc<ProxyShared>,
        forwarded: ForwardedParts,
        is_resumed: bool,
    },
}

/// Relays the stream that responds to a post. `answers` are the messages that were answered here.
pub(super) fn relay_post_stream(
    post: PostExchange,
    response: Response<Incoming>,
    answers: Vec<Vec<u8>>,
) -> Response<Body> {
    let decoded = match upstream_client::decode_response(response) {
        Ok(decoded) => decoded,
        Err(error) => return post.failure_response(&error, answers),
    };
    let first = answers.iter().flat_map(|message| encode_event(None, message)).collect();
    relay_stream(decoded, first, StreamRecipient::Post { post: Box::new(post), is_resumable: false })
}

/// Relays the listening stream of a session.
pub(super) fn relay_listening_stream(
    shared: Arc<ProxyShared>,
    session: Arc<ProxySession>,
    forwarded: ForwardedParts,
    response: Response<Incoming>,
) -> Response<Body> {
    let is_resumed = forwarded.headers.contains_key("last-event-id");
    match upstream_client::decode_response(response) {
        Ok(decoded) => {
            let recipient = StreamRecipient::Session { session, shared, forwarded, is_resumed };
            relay_stream(decoded, Vec::new(), recipient)
        }
        Err(error) => bad_gateway(&error).into(),
    }
}

fn relay_stream((head, body): (Parts, Body), first: Vec<u8>, recipient: StreamRecipient) -> Response<Body> {
    let limit = recipient.shared().processor_factory.max_server_message_bytes;
    let parser = SseParser::new(limit);
    let stream = RelayedStream { body, parser, recipient, has_dropped_event: false, is_over: false };
    let chunks = stream::unfold((stream, first), |(mut stream, first)| async move {
        let chunk = if first.is_empty() { stream.next_chunk().await? } else { Ok(first.into()) };
        Some((chunk, (stream, Vec::new())))
    });
    Response::from_parts(head, body::from_stream(chunks))
}

impl RelayedStream {
    /// Returns the next bytes for the client; `None` at the end.
    async fn next_chunk(&mut self) -> Option<Result<Bytes, TruncatedBody>> {
        while !self.is_over {
            let received = tokio::select! {
                received = timeout(IDLE_TIMEOUT, self.body.frame()) => received,
                expired = self.recipient.next_timeout() => return Some(Ok(self.finish_timed_out(&expired))),
                () = self.recipient.wait_for_shutdown() => return self.stop(),
            };
            let frame = match received {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(broken))) => return self.handle_disconnect(broken).await,
                Ok(None) => {
                    self.is_over = true;
                    return self.finish().await.map(Ok);
                }
                Err(_) => {
                    return self.handle_disconnect(TruncatedBody("the server stopped sending".into())).await;
                }
            };
            let Some(bytes) = frame.data_ref() else { continue };
            let mut out = Vec::with_capacity(bytes.len());
            for segment in self.parser.push(bytes) {
                match segment {
                    SseSegment::NonEvent(raw) => {
                        out.extend(without_content(&raw, |text| self.recipient.is_shown(text)));
                    }
                    SseSegment::Event(event) => {
                        let event = event.without_other_content(|text| self.recipient.is_shown(text));
                        self.relay_event(event, &mut out).await;
                    }
                    SseSegment::TooLarge(bytes) => self.replace_too_large(bytes, &mut out).await,
                }
            }
            if !out.is_empty() {
                return Some(Ok(out.into()));
            }
        }
        None
    }

    /// Returns the errors of requests that timed out. Ends the stream if no request is pending.
    fn finish_timed_out(&mut self, expired: &[Vec<u8>]) -> Bytes {
        if let StreamRecipient::Post { post, .. } = &mut self.recipient
            && post.processor.pending_count() == 0
        {
            post.reserved_ids.release();
            self.is_over = true;
        }
        encode_after_break(expired)
    }

    /// Ends the stream because the gateway stops. Requests get an error unless the client can resume the stream, which
    /// then breaks off.
    fn stop(&mut self) -> Option<Result<Bytes, TruncatedBody>> {
        self.is_over = true;
        let StreamRecipient::Post { post, is_resumable } = &mut self.recipient else { return None };
        if post.processor.pending_count() == 0 {
            return None;
        }
        if *is_resumable {
            return Some(Err(TruncatedBody(GATEWAY_STOPS.into())));
        }
        let errors = post.stopped_errors();
        post.reserved_ids.release();
        Some(Ok(encode_after_break(&errors)))
    }

    async fn relay_event(&mut self, event: SseEvent, out: &mut Vec<u8>) {
        if let StreamRecipient::Post { is_resumable, .. } = &mut self.recipient {
            *is_resumable |= event.id().is_some();
        }
        let is_message = event.event_type() == b"message" && !event.data.is_empty();
        if !is_message || !self.recipient.is_for_processor(&event.data) {
            out.extend(self.recipient.forward_other_event(event));
            return;
        }
        let mut messages = self.recipient.process_frame(Frame::Message(event.data.clone())).await.into_iter();
        self.recipient.release_answered_ids();
        match messages.next() {
            // The message was dropped; the client still needs the event id to resume.
            None => out.extend(event.without_data()),
            Some(message) if message == event.data => out.extend(event.raw),
            Some(message) => out.extend(event.with_data(&message)),
        }
        messages.for_each(|message| out.extend(encode_event(None, &message)));
    }

    /// Replaces an event over the limit by the error of the only pending request. If several are pending, those that are left
    /// at the end of the stream get the error.
    async fn replace_too_large(&mut self, bytes: u64, out: &mut Vec<u8>) {
        self.has_dropped_event = true;
        let frame = match &self.recipient {
            StreamRecipient::Post { post, .. } if post.processor.pending_count() == 1 => {
                post.too_large_frame(bytes)
            }
            _ => Frame::TooLarge(DroppedLine::of_responses(None, bytes)),
        };
        let messages = self.recipient.process_frame(frame).await;
        self.recipient.release_answered_ids();
        messages.iter().for_each(|message| out.extend(encode_event(None, message)));
    }

    /// Handles the regular end of the stream. Requests get an error unless the client can resume the stream; after an event
    /// over the limit they always do, because a resumed stream would not have their response either. An event without the
    /// empty line at its end is dropped, as clients do.
    async fn finish(&mut self) -> Option<Bytes> {
        let errors = match &self.recipient {
            StreamRecipient::Post { post, .. } if self.has_dropped_event => post.too_large_errors().await,
            StreamRecipient::Post { post, is_resumable: false } => {
                post.missing_response_errors(&"the server ended its stream")
            }
            _ => Vec::new(),
        };
        let all: Vec<u8> = errors.iter().flat_map(|message| encode_event(None, message)).collect();
        (!all.is_empty()).then(|| all.into())
    }

    /// Handles a broken stream. Requests get an error unless the client can resume the stream and the server still
    /// accepts connections; after an event over the limit they always do. If all were answered, the stream ends.
    async fn handle_disconnect(&mut self, broken: TruncatedBody) -> Option<Result<Bytes, TruncatedBody>> {
        self.is_over = true;
        if let StreamRecipient::Post { post, .. } = &self.recipient
            && post.processor.pending_count() == 0
        {
            return None;
        }
        let errors = match &self.recipient {
            StreamRecipient::Post { post, .. } if self.has_dropped_event => post.too_large_errors().await,
            StreamRecipient::Post { post, is_resumable }
                if !is_resumable || post.shared.upstream.refuses_connections().await =>
            {
                post.lost_response_errors(&broken)
            }
            _ => Vec::new(),
        };
        if errors.is_empty() {
            // What precedes is written before the connection is closed.
            yield_now().await;
            return Some(Err(broken));
        }
        tracing::warn!(%broken, "an exchange with the server failed");
        Some(Ok(encode_after_break(&errors)))
    }
}

/// Returns events with these messages. An incomplete event may have been forwarded: an empty line ends it.
fn encode_after_break(messages: &[Vec<u8>]) -> Bytes {
    let events = messages.iter().flat_map(|message| encode_event(None, message));
    b"\n\n".iter().copied().chain(events).collect()
}

impl StreamRecipient {
    fn processor(&self) -> &McpProcessor {
        match self {
            Self::Post { post, .. } => &post.processor,
            Self::Session { session, .. } => &session.processor,
        }
    }

    fn shared(&self) -> &ProxyShared {
        match self {
            Self::Post { post, .. } => &post.shared,
            Self::Session { shared, .. } => shared,
        }
    }

    /// Releases the ids of a post whose requests are all answered.
    fn release_answered_ids(&mut self) {
        if let Self::Post { post, .. } = self
            && post.processor.pending_count() == 0
        {
            post.reserved_ids.release();
        }
    }

    /// Returns true if nothing in a text is to be hidden.
    fn is_shown(&self, text: &str) -> bool {
        self.processor().redacted(text) == text
    }

    /// Returns true for a message, and for data that is none and answers a pending request.
    fn is_for_processor(&self, data: &[u8]) -> bool {
        is_json_rpc(data) || self.processor().is_answered_by_invalid(data)
    }

    /// Returns the bytes for the client of an event that is not for the processor. Small data is forwarded: it may be meant for
    /// the client. Larger data is dropped.
    fn forward_other_event(&self, event: SseEvent) -> Vec<u8> {
        let data = String::from_utf8_lossy(&event.data);
        if event.data.len() > MAX_NON_MESSAGE_BYTES {
            let why = "an event of more than 4 KiB that is not a message";
            self.shared().processor_factory.gateway.record_drop(DropReason::Invalid, event.data.len(), why);
            return event.without_data();
        }
        let redacted = self.processor().redacted(&data);
        if redacted == data { event.raw } else { event.with_data(redacted.as_bytes()) }
    }

    /// Waits for the end of the time that running requests have after the beginning of the shutdown.
    async fn wait_for_shutdown(&self) {
        self.shared().shutdown_started.wait().await;
    }

    /// Waits until a request to the server times out. Returns the messages for the client.
    async fn next_timeout(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Post { post, .. } => post.next_timeout().await,
            Self::Session { .. } => std::future::pending().await,
        }
    }

    /// Processes a frame of the server. Returns the messages for the client.
    async fn process_frame(&self, frame: Frame) -> Vec<Vec<u8>> {
        let (session, shared, forwarded, is_resumed) = match self {
            Self::Post { post, .. } => return post.process_server_frame(frame).await,
            Self::Session { session, shared, forwarded, is_resumed } => {
                (session, shared, forwarded, *is_resumed)
            }
        };
        let processor = match &frame {
            Frame::Message(message) => std::str::from_utf8(message)
                .ok()
                .and_then(response_id)
                .and_then(|id| session.processor_awaiting(id)),
            Frame::TooLarge(_) => None,
        };
        if let Some(processor) = processor {
            return PostExchange::from_resumed_stream(shared, session, forwarded, processor)
                .process_server_frame(frame)
                .await;
        }
        let outgoing = if is_resumed {
            session.processor.process_resumed_frame(frame).await
        } else {
            session.processor.process_server_frame(frame).await
        };
        for message in outgoing.iter().filter_map(|outgoing| match outgoing {
            OutgoingMessage::ToServer(message) => Some(message.clone()),
            OutgoingMessage::ToClient(_) | OutgoingMessage::InternalRequest(_) => None,
        }) {
            let mut forwarded = forwarded.clone();
            forwarded.headers.remove("last-event-id");
            tokio::spawn(send_one_way(Arc::clone(shared), forwarded, message));
        }
        client_messages(outgoing)
    }
}

impl Drop for RelayedStream {
    fn drop(&mut self) {
        if let StreamRecipient::Post { post, is_resumable: true } = &self.recipient
            && post.processor.pending_count() > 0
        {
            post.session.keep_unanswered(Arc::clone(&post.processor));
        }
    }
}
