//! A stream of events on its way from the server to the client.
//!
//! Events pass one by one, as soon as they are there and as the bytes that came; where a message in one is changed, the
//! event keeps its id and everything else. A stream that breaks off breaks off for the client too, or ends with an error
//! for each request that can no longer be answered: never as if it were complete.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::ProxyShared;
use super::exchange::{PostExchange, client_messages, response_id, send_one_way};
use super::session_cache::ProxySession;
use super::upstream_client::{self, ForwardedParts};
use crate::frame::Frame;
use crate::front::http::http_error::HttpError;
use crate::http::body::{self, Body, TruncatedBody};
use crate::http::sse::{SseEvent, SseParser, SseSegment, encode_event};
use crate::mcp::ParsedBatch;
use crate::mcp::error_code::INTERNAL_ERROR;
use crate::relay::{MessageProcessor as _, OutgoingMessage};

/// How long a server may say nothing at all on a stream. Listening streams are quiet for long; those whose
/// client has gone are noticed by the connection.
const IDLE_TIMEOUT: Duration = Duration::from_hours(1);

/// Bytes of data of an event that is no message, up to which it passes.
const MAX_NON_MESSAGE_BYTES: usize = 4096;

/// Whether an event's data is a message, or a batch of messages.
fn is_json_rpc(data: &[u8]) -> bool {
    ParsedBatch::parse(&String::from_utf8_lossy(data)).is_ok()
}

/// A stream under way.
struct RelayedStream {
    body: Body,
    parser: SseParser,
    recipient: StreamRecipient,
    is_over: bool,
}

enum StreamRecipient {
    /// The answer to a post. `resumable`: the client has seen an id by which it can have it resumed.
    Post { post: Box<PostExchange>, is_resumable: bool },
    /// What a session hears.
    Session {
        session: Arc<ProxySession>,
        shared: Arc<ProxyShared>,
        forwarded: ForwardedParts,
        is_resumed: bool,
    },
}

/// The stream that answers a post. `first`: what was answered here already.
pub(super) fn relay_post_stream(
    post: PostExchange,
    answer: Response<Incoming>,
    first: &[Vec<u8>],
) -> Response<Body> {
    let limit = post.shared.processor_factory.max_server_message_bytes;
    let first = first.iter().flat_map(|message| encode_event(None, message)).collect();
    relay_stream(answer, limit, first, StreamRecipient::Post { post: Box::new(post), is_resumable: false })
}

/// The stream that a session hears.
pub(super) fn relay_listening_stream(
    inner: Arc<ProxyShared>,
    session: Arc<ProxySession>,
    carried: ForwardedParts,
    answer: Response<Incoming>,
) -> Response<Body> {
    let limit = inner.processor_factory.max_server_message_bytes;
    let is_resumed = carried.headers.contains_key("last-event-id");
    relay_stream(
        answer,
        limit,
        Vec::new(),
        StreamRecipient::Session { session, shared: inner, forwarded: carried, is_resumed },
    )
}

fn relay_stream(
    answer: Response<Incoming>,
    limit: usize,
    first: Vec<u8>,
    whose: StreamRecipient,
) -> Response<Body> {
    let (head, body) = match upstream_client::decode_response(answer) {
        Ok(parts) => parts,
        Err(unknown) => {
            return HttpError::new(hyper::StatusCode::BAD_GATEWAY, INTERNAL_ERROR, unknown.to_string())
                .into();
        }
    };
    let passing = RelayedStream { body, parser: SseParser::new(limit), recipient: whose, is_over: false };
    let chunks = stream::unfold((passing, first), |(mut passing, first)| async move {
        let chunk = if first.is_empty() { passing.next_chunk().await? } else { Ok(first.into()) };
        Some((chunk, (passing, Vec::new())))
    });
    Response::from_parts(head, body::from_stream(chunks))
}

impl RelayedStream {
    /// What passes next; `None` at the end.
    async fn next_chunk(&mut self) -> Option<Result<Bytes, TruncatedBody>> {
        while !self.is_over {
            let came = tokio::select! {
                came = timeout(IDLE_TIMEOUT, self.body.frame()) => came,
                expired = self.recipient.next_timeout() => return Some(Ok(self.finish_timed_out(&expired))),
                () = self.recipient.wait_for_shutdown() => return None,
            };
            let frame = match came {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(broken))) => return Some(self.handle_disconnect(broken).await),
                Ok(None) => {
                    self.is_over = true;
                    return self.finish().map(Ok);
                }
                Err(_) => {
                    return Some(
                        self.handle_disconnect(TruncatedBody("the server fell silent".into())).await,
                    );
                }
            };
            let Some(bytes) = frame.data_ref() else { continue };
            let mut out = Vec::with_capacity(bytes.len());
            for piece in self.parser.push(bytes) {
                match piece {
                    SseSegment::NonEvent(raw) => out.extend(raw),
                    SseSegment::Event(event) => self.relay_event(event, &mut out).await,
                    SseSegment::TooLarge(bytes) => self.replace_too_large(bytes, &mut out).await,
                }
            }
            if !out.is_empty() {
                return Some(Ok(out.into()));
            }
        }
        None
    }

    /// The server has been silent about requests for too long. Ends the stream where nothing else waits.
    fn finish_timed_out(&mut self, expired: &[Vec<u8>]) -> Bytes {
        if let StreamRecipient::Post { post, .. } = &mut self.recipient
            && post.processor.pending_count() == 0
        {
            post.reserved_ids.release();
            self.is_over = true;
        }
        // Half an event may have passed: an empty line ends it.
        let told = expired.iter().flat_map(|message| encode_event(None, message));
        b"\n\n".iter().copied().chain(told).collect()
    }

    async fn relay_event(&mut self, event: SseEvent, out: &mut Vec<u8>) {
        if let StreamRecipient::Post { is_resumable: resumable, .. } = &mut self.recipient {
            *resumable |= event.id().is_some();
        }
        let is_message = event.event_type() == b"message" && !event.data().is_empty();
        // What is no message may be one to others, as long as it is small.
        if !is_message || !is_json_rpc(event.data()) {
            let is_small = event.data().len() <= MAX_NON_MESSAGE_BYTES;
            out.extend(if is_small { event.into_raw() } else { event.without_data() });
            return;
        }
        let mut heard = self.recipient.process_frame(Frame::Message(event.data().to_vec())).await.into_iter();
        if let StreamRecipient::Post { post, .. } = &mut self.recipient
            && post.processor.pending_count() == 0
        {
            post.reserved_ids.release();
        }
        match heard.next() {
            // It was dropped; the client may go on from its id all the same.
            None => out.extend(event.without_data()),
            Some(message) if message == event.data() => out.extend(event.into_raw()),
            Some(message) => out.extend(event.with_data(&message)),
        }
        heard.for_each(|message| out.extend(encode_event(None, &message)));
    }

    async fn replace_too_large(&mut self, bytes: u64, out: &mut Vec<u8>) {
        let frame = match &self.recipient {
            StreamRecipient::Post { post, .. } => post.too_large_frame(bytes),
            StreamRecipient::Session { .. } => Frame::TooLarge { id: None, has_method: false, bytes },
        };
        self.recipient
            .process_frame(frame)
            .await
            .iter()
            .for_each(|message| out.extend(encode_event(None, message)));
    }

    /// The server has ended the stream. What can be resumed will be; everything else is told.
    fn finish(&mut self) -> Option<Bytes> {
        let rest = std::mem::replace(&mut self.parser, SseParser::new(0)).into_remainder();
        let told = match &self.recipient {
            StreamRecipient::Post { post, is_resumable: false } => {
                post.missing_response_errors(&"the server ended its stream")
            }
            _ => Vec::new(),
        };
        let all: Vec<u8> =
            rest.into_iter().chain(told.iter().flat_map(|message| encode_event(None, message))).collect();
        (!all.is_empty()).then(|| all.into())
    }

    /// The stream has broken off. What can be resumed will be, unless the server takes no connections any more.
    async fn handle_disconnect(&mut self, broken: TruncatedBody) -> Result<Bytes, TruncatedBody> {
        self.is_over = true;
        let told = match &self.recipient {
            StreamRecipient::Post { post, is_resumable: resumable }
                if !resumable || post.shared.upstream.refuses_connections().await =>
            {
                post.connection_lost_errors(&broken)
            }
            _ => Vec::new(),
        };
        if told.is_empty() {
            return Err(broken);
        }
        tracing::warn!(%broken, "an exchange with the server failed");
        // Half an event may have passed: an empty line ends it.
        let told = told.iter().flat_map(|message| encode_event(None, message));
        Ok(b"\n\n".iter().copied().chain(told).collect())
    }
}

impl StreamRecipient {
    /// Returns once nobody need be listening any more.
    async fn wait_for_shutdown(&self) {
        match self {
            Self::Post { .. } => std::future::pending().await,
            Self::Session { shared: inner, .. } => inner.shutdown_started.wait().await,
        }
    }

    /// Waits until the server has been silent about a request for too long. Returns what the client hears.
    async fn next_timeout(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Post { post, .. } => post.next_timeout().await,
            Self::Session { .. } => std::future::pending().await,
        }
    }

    /// What the client hears of what the server said.
    async fn process_frame(&self, frame: Frame) -> Vec<Vec<u8>> {
        let (session, inner, carried, is_resumed) = match self {
            Self::Post { post, .. } => return post.process_server_frame(post.with_missing_id(frame)).await,
            Self::Session { session, shared: inner, forwarded: carried, is_resumed } => {
                (session, inner, carried, *is_resumed)
            }
        };
        let lane = match &frame {
            Frame::Message(message) => std::str::from_utf8(message)
                .ok()
                .and_then(response_id)
                .and_then(|id| session.processor_awaiting(id)),
            Frame::TooLarge { .. } => None,
        };
        if let Some(lane) = lane {
            return PostExchange::from_resumed_stream(inner, session, carried, lane)
                .process_server_frame(frame)
                .await;
        }
        let said = if is_resumed {
            session.processor.process_resumed_frame(frame).await
        } else {
            session.processor.process_server_frame(frame).await
        };
        for message in said.iter().filter_map(|said| match said {
            OutgoingMessage::ToServer(message) => Some(message.clone()),
            OutgoingMessage::ToClient(_) | OutgoingMessage::InternalRequest(_) => None,
        }) {
            let mut carried = carried.clone();
            carried.headers.remove("last-event-id");
            tokio::spawn(send_one_way(Arc::clone(inner), carried, message));
        }
        client_messages(said)
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
