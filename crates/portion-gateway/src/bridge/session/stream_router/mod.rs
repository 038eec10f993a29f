//! Whose is what the server says: the streams of one session, what waits on each, and what may have to be said again.
//!
//! | what the server says | to whom it goes |
//! | --- | --- |
//! | an answer | the post with that request |
//! | progress | the post whose request gave that token |
//! | anything else | the post that waits, if it is the only one; else the listening stream, if there is one; else the latest post that takes a stream; else it is kept until somebody listens |

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::replay_buffer::ReplayBuffer;
use super::stream::{OutboundStream, StreamEvent};
use crate::front::http::http_error;
use crate::mcp::{MessageKind, MessageView, ParsedBatch, RequestIdMap};

/// The stream of what belongs to no post.
pub(super) const LISTENING_STREAM: u64 = 0;
/// Bytes that may wait for somebody to listen; the latest message always may.
const MAX_UNDELIVERED_BYTES: usize = 256 << 10;
/// How long what waits for a client that has left is kept.
const UNDELIVERED_TIMEOUT: Duration = Duration::from_mins(5);
/// JSON-RPC has no code for it; others use this one.
const REQUEST_CANCELLED: i32 = -32800;

/// The streams of a session.
#[derive(Debug)]
pub(super) struct StreamRouter {
    streams: BTreeMap<u64, OutboundStream>,
    /// Requests of the client, by the streams on which their answers are due.
    stream_by_request: RequestIdMap<u64>,
    /// Progress tokens, likewise.
    stream_by_progress_token: RequestIdMap<u64>,
    replay_buffer: ReplayBuffer,
    /// Counts streams, messages and readers alike.
    last_id: u64,
    /// When a client last did anything.
    last_activity_at: Instant,
    is_over: bool,
}

/// A place at a stream: the last one given out is the one that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subscription {
    pub stream_id: u64,
    pub reader_id: u64,
}

/// What comes next on a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextEvent {
    Event(StreamEvent),
    Pending,
    End,
}

impl StreamRouter {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            streams: BTreeMap::from([(LISTENING_STREAM, OutboundStream::default())]),
            stream_by_request: RequestIdMap::default(),
            stream_by_progress_token: RequestIdMap::default(),
            replay_buffer: ReplayBuffer::default(),
            last_id: 0,
            last_activity_at: now,
            is_over: false,
        }
    }

    /// The stream on which what was posted is answered. `is_open`: it can take other messages, too.
    pub(super) fn open_post_stream(
        &mut self,
        heard: &ParsedBatch<'_>,
        is_open: bool,
        now: Instant,
    ) -> Subscription {
        let stream = self.next_id();
        for request in heard.requests() {
            if !self.stream_by_request.contains(request.id()) {
                self.stream_by_request.insert(request.id(), stream);
            }
            if let Some(token) = request.progress_token() {
                self.stream_by_progress_token.insert(request.slice(token), stream);
            }
        }
        let ids: Vec<String> = heard.requests().map(|request| request.id().to_owned()).collect();
        self.streams.insert(stream, OutboundStream::for_post(ids, is_open));
        self.attach_reader(stream, now)
    }

    /// A stream of what belongs to no post, or of what came after an event that the client names. `None`: that is not
    /// kept any more.
    pub(super) fn subscribe(&mut self, after: Option<(u64, u64)>, now: Instant) -> Option<Subscription> {
        let Some((stream, seen)) = after else { return Some(self.attach_reader(LISTENING_STREAM, now)) };
        let lost = self.replay_buffer.take_after(stream, seen);
        if lost.is_empty() && !self.streams.contains_key(&stream) {
            return None;
        }
        self.streams.entry(stream).or_default().requeue(lost);
        Some(self.attach_reader(stream, now))
    }

    /// What the client hears next; what it hears is kept for a while.
    pub(super) fn next_event(&mut self, seat: Subscription, now: Instant) -> NextEvent {
        let Some(stream) =
            self.streams.get_mut(&seat.stream_id).filter(|s| s.reader_id == Some(seat.reader_id))
        else {
            return NextEvent::End;
        };
        if let Some(event) = stream.pop() {
            self.replay_buffer.record(seat.stream_id, event.clone(), now);
            return NextEvent::Event(event);
        }
        let is_over =
            self.is_over || (seat.stream_id != LISTENING_STREAM && stream.pending_response_count == 0);
        if is_over { NextEvent::End } else { NextEvent::Pending }
    }

    /// Whether [`next_event`](Self::next_event) has anything to say.
    pub(super) fn is_ready(&self, seat: Subscription) -> bool {
        self.streams.get(&seat.stream_id).filter(|s| s.reader_id == Some(seat.reader_id)).is_none_or(
            |stream| {
                !stream.is_empty()
                    || self.is_over
                    || (seat.stream_id != LISTENING_STREAM && stream.pending_response_count == 0)
            },
        )
    }

    /// The client reads here no longer. `can_return`: it has been told by which ids it can come back.
    pub(super) fn unsubscribe(&mut self, seat: Subscription, can_return: bool, now: Instant) {
        let Some(stream) =
            self.streams.get_mut(&seat.stream_id).filter(|s| s.reader_id == Some(seat.reader_id))
        else {
            return;
        };
        (stream.reader_id, stream.reader_left_at, self.last_activity_at) = (None, Some(now), now);
        let is_over = stream.pending_response_count == 0 && stream.is_empty();
        if seat.stream_id != LISTENING_STREAM && (is_over || !can_return) {
            self.remove_stream(seat.stream_id);
            if !can_return {
                self.replay_buffer.remove_stream(seat.stream_id);
            }
        }
    }

    /// An answer that the server has no part in.
    pub(super) fn push_local_response(&mut self, stream: u64, data: Vec<u8>) {
        let ids: Vec<String> =
            with_parsed(&data, |heard| heard.messages.iter().map(|note| note.id().to_owned()).collect());
        for id in &ids {
            let Some(asked) = self.streams.get_mut(&stream) else { return };
            if let Some(at) = asked.request_ids.iter().position(|asked| asked == id) {
                asked.request_ids.swap_remove(at);
            }
            // A request whose id was taken is refused, and the one that has it waits on.
            if !asked.request_ids.contains(id) && self.stream_by_request.get(id) == Some(&stream) {
                self.stream_by_request.take(id);
            }
        }
        self.enqueue(stream, data, ids.len());
    }

    /// Something the server says. Returns the stream that it goes to.
    pub(super) fn route_server_message(&mut self, data: Vec<u8>) -> Option<u64> {
        let (targets, parts) = with_parsed(&data, |heard| {
            let targets: Vec<(Option<u64>, usize)> =
                heard.messages.iter().map(|note| self.route(note)).collect();
            let parts: Vec<Vec<u8>> =
                heard.messages.iter().map(|note| note.slice(note.span()).as_bytes().to_vec()).collect();
            (targets, parts)
        });
        let first = targets.first()?.0;
        if targets.iter().all(|(target, _)| *target == first) {
            self.enqueue(first?, data, targets.iter().map(|(_, answers)| answers).sum());
            return first;
        }
        for ((target, answers), part) in targets.into_iter().zip(parts) {
            if let Some(target) = target {
                self.enqueue(target, part, answers);
            }
        }
        first
    }

    /// The client wants no answer to a request any more: its post ends.
    pub(super) fn cancel_request(&mut self, raw_id: &str) {
        let Some(stream) = self.stream_by_request.take(raw_id) else { return };
        let error = http_error::json_rpc_error(raw_id, REQUEST_CANCELLED, "the request was cancelled");
        self.enqueue(stream, error.into_bytes(), 1);
    }

    /// Whether the client reads a stream so slowly that the server should wait.
    pub(super) fn is_full(&self, stream: u64) -> bool {
        self.streams.get(&stream).is_some_and(OutboundStream::is_full)
    }

    /// Since when no client reads here nor has asked anything; `None` while one reads.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.streams.values().all(|stream| stream.reader_id.is_none()).then_some(self.last_activity_at)
    }

    /// A client has done something.
    pub(super) fn touch(&mut self, now: Instant) {
        self.last_activity_at = self.last_activity_at.max(now);
    }

    /// Lets go of what nobody came back for.
    pub(super) fn expire(&mut self, now: Instant) {
        self.replay_buffer.expire(now);
        let gone: Vec<u64> = self
            .streams
            .iter()
            .filter(|(number, stream)| {
                **number != LISTENING_STREAM
                    && stream
                        .reader_left_at
                        .is_some_and(|left| now.duration_since(left) > UNDELIVERED_TIMEOUT)
            })
            .map(|(number, _)| *number)
            .collect();
        gone.into_iter().for_each(|stream| self.remove_stream(stream));
    }

    /// The session is over: each stream ends after what is on it.
    pub(super) fn finish(&mut self) {
        self.is_over = true;
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn attach_reader(&mut self, stream: u64, now: Instant) -> Subscription {
        let reader = self.next_id();
        self.touch(now);
        if let Some(stream) = self.streams.get_mut(&stream) {
            (stream.reader_id, stream.reader_left_at) = (Some(reader), None);
        }
        Subscription { stream_id: stream, reader_id: reader }
    }

    /// The stream for a message, and how many answers it is.
    fn route(&mut self, note: &MessageView<'_>) -> (Option<u64>, usize) {
        match note.kind() {
            MessageKind::Response if note.id() != "null" => (self.stream_by_request.take(note.id()), 1),
            MessageKind::Notification if note.method() == "notifications/progress" => {
                let token = note.progress_token().map(|token| note.slice(token));
                let stream = token.and_then(|token| self.stream_by_progress_token.get(token)).copied();
                let stream = stream.filter(|stream| {
                    self.streams.get(stream).is_some_and(|stream| stream.accepts_other_messages)
                });
                (Some(stream.unwrap_or_else(|| self.default_stream())), 0)
            }
            _ => (Some(self.default_stream()), 0),
        }
    }

    fn default_stream(&self) -> u64 {
        let waits = |stream: &OutboundStream| {
            stream.pending_response_count > 0 && stream.accepts_other_messages && stream.reader_id.is_some()
        };
        let mut posts =
            self.streams.iter().rev().filter(|(_, stream)| waits(stream)).map(|(number, _)| *number);
        let listens = self.streams.get(&LISTENING_STREAM).is_some_and(|stream| stream.reader_id.is_some());
        match (posts.next(), posts.next()) {
            (Some(only), None) => only,
            (Some(latest), Some(_)) if !listens => latest,
            _ => LISTENING_STREAM,
        }
    }

    fn enqueue(&mut self, number: u64, data: Vec<u8>, answers: usize) {
        let event = StreamEvent { number: self.next_id(), data: data.into(), is_response: answers > 0 };
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.pending_response_count = stream.pending_response_count.saturating_sub(answers);
        stream.push(event);
        if stream.reader_id.is_none() {
            self.evict_undelivered();
        }
    }

    /// Drops the oldest of what nobody hears, where that is too much.
    fn evict_undelivered(&mut self) {
        loop {
            let unheard =
                self.streams.values_mut().filter(|stream| stream.reader_id.is_none() && !stream.is_empty());
            let (mut messages, mut bytes) = (0, 0);
            let counted = unheard.inspect(|stream| {
                let (more, larger, _) = stream.backlog();
                (messages, bytes) = (messages + more, bytes + larger);
            });
            let oldest = counted.min_by_key(|stream| stream.backlog().2);
            let Some(oldest) = oldest.filter(|_| bytes > MAX_UNDELIVERED_BYTES && messages > 1) else {
                return;
            };
            oldest.pop();
            tracing::warn!("dropped a message of the server that nobody came to hear");
        }
    }

    fn remove_stream(&mut self, stream: u64) {
        self.streams.remove(&stream);
        self.stream_by_request.retain(|other| *other != stream);
        self.stream_by_progress_token.retain(|other| *other != stream);
    }
}

/// Reads messages of the lane, which are messages all.
fn with_parsed<T: Default>(data: &[u8], so: impl FnOnce(&ParsedBatch<'_>) -> T) -> T {
    let text = String::from_utf8_lossy(data);
    ParsedBatch::parse(&text).map(|heard| so(&heard)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
