//! Routes server messages to the client streams of one session.
//!
//! | message | stream |
//! | --- | --- |
//! | response | that of the post with the request |
//! | progress | that of the post whose request set the token |
//! | any other | that of the pending post, if there is exactly one; else the listening stream, if it has a reader; else that of the latest pending post; else it is queued for the listening stream |

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::stream::{OutboundStream, ReplayBuffer, StreamEvent};
use crate::mcp::envelope::json_rpc_error;
use crate::mcp::{MessageKind, MessageView, ParsedBatch, RequestIdMap};

/// The stream for messages that belong to no post.
pub(super) const LISTENING_STREAM: u64 = 0;
/// Bytes queued on streams without a reader; the latest message is always kept.
const MAX_UNDELIVERED_BYTES: usize = 256 << 10;
/// Lifetime of a stream after its reader has left.
const UNDELIVERED_TIMEOUT: Duration = Duration::from_mins(5);
/// Error code of cancelled requests, as in LSP; JSON-RPC has none.
const REQUEST_CANCELLED: i32 = -32800;

/// Streams of a session.
#[derive(Debug)]
pub(super) struct StreamRouter {
    streams: BTreeMap<u64, OutboundStream>,
    /// Stream of each pending client request.
    stream_by_request: RequestIdMap<u64>,
    /// Stream of each progress token.
    stream_by_progress_token: RequestIdMap<u64>,
    replay_buffer: ReplayBuffer,
    /// Last id given to a stream, message or reader.
    last_id: u64,
    /// Time of the last client activity.
    last_activity_at: Instant,
    is_over: bool,
}

/// Subscription to a stream; only the latest one of a stream receives messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subscription {
    pub stream_id: u64,
    pub reader_id: u64,
}

/// Next event of a stream.
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

    /// Opens the stream for the responses to a post. `is_open` allows other messages on it, too.
    pub(super) fn open_post_stream(
        &mut self,
        batch: &ParsedBatch<'_>,
        is_open: bool,
        now: Instant,
    ) -> Subscription {
        let stream = self.next_id();
        for request in batch.requests() {
            if !self.stream_by_request.contains(request.id()) {
                self.stream_by_request.insert(request.id(), stream);
            }
            if let Some(token) = request.progress_token() {
                self.stream_by_progress_token.insert(request.slice(token), stream);
            }
        }
        let ids: Vec<String> = batch.requests().map(|request| request.id().to_owned()).collect();
        self.streams.insert(stream, OutboundStream::for_post(ids, is_open));
        self.attach_reader(stream, now)
    }

    /// Subscribes to the listening stream, or resumes a stream after an event. Returns `None` if that stream is not
    /// kept any more.
    pub(super) fn subscribe(&mut self, after: Option<(u64, u64)>, now: Instant) -> Option<Subscription> {
        let Some((stream, last_number)) = after else {
            return Some(self.attach_reader(LISTENING_STREAM, now));
        };
        let lost = self.replay_buffer.take_after(stream, last_number);
        if lost.is_empty() && !self.streams.contains_key(&stream) {
            return None;
        }
        self.streams.entry(stream).or_default().requeue(lost);
        Some(self.attach_reader(stream, now))
    }

    /// Returns the next event and adds it to the replay buffer.
    pub(super) fn next_event(&mut self, subscription: Subscription, now: Instant) -> NextEvent {
        match self.stream_of(subscription).and_then(OutboundStream::pop) {
            Some(event) => {
                self.replay_buffer.record(subscription.stream_id, event.clone(), now);
                NextEvent::Event(event)
            }
            None if self.is_ready(subscription) => NextEvent::End,
            None => NextEvent::Pending,
        }
    }

    /// Returns the stream of a subscription, unless it has another reader.
    fn stream_of(&mut self, subscription: Subscription) -> Option<&mut OutboundStream> {
        let stream = self.streams.get_mut(&subscription.stream_id);
        stream.filter(|stream| stream.reader_id == Some(subscription.reader_id))
    }

    /// Returns true if [`next_event`](Self::next_event) would not be pending.
    pub(super) fn is_ready(&self, subscription: Subscription) -> bool {
        self.streams
            .get(&subscription.stream_id)
            .filter(|s| s.reader_id == Some(subscription.reader_id))
            .is_none_or(|stream| {
                !stream.is_empty()
                    || self.is_over
                    || (subscription.stream_id != LISTENING_STREAM && stream.pending_response_count == 0)
            })
    }

    /// Ends a subscription. `can_return` is set if the client has received event ids and can resume.
    pub(super) fn unsubscribe(&mut self, subscription: Subscription, can_return: bool, now: Instant) {
        let Some(stream) = self.stream_of(subscription) else { return };
        (stream.reader_id, stream.reader_left_at) = (None, Some(now));
        let is_over = stream.pending_response_count == 0 && stream.is_empty();
        self.last_activity_at = now;
        if subscription.stream_id != LISTENING_STREAM && (is_over || !can_return) {
            self.remove_stream(subscription.stream_id);
            if !can_return {
                self.replay_buffer.remove_stream(subscription.stream_id);
            }
        }
    }

    /// Queues a response that does not come from the server.
    pub(super) fn push_local_response(&mut self, stream: u64, data: Vec<u8>) {
        let ids: Vec<String> = ParsedBatch::read(&data, |batch| {
            batch.messages.iter().map(|message| message.id().to_owned()).collect()
        })
        .unwrap_or_default();
        for id in &ids {
            let Some(entry) = self.streams.get_mut(&stream) else { return };
            if let Some(at) = entry.request_ids.iter().position(|pending| pending == id) {
                entry.request_ids.swap_remove(at);
            }
            // A request with a duplicate id was rejected; the first request with that id stays pending.
            if !entry.request_ids.contains(id) && self.stream_by_request.get(id) == Some(&stream) {
                self.stream_by_request.take(id);
            }
        }
        self.enqueue(stream, data, ids.len());
    }

    /// Queues a message of the server. Returns its stream.
    pub(super) fn route_server_message(&mut self, data: Vec<u8>) -> Option<u64> {
        let part = |message: &MessageView<'_>| message.slice(message.span()).as_bytes().to_vec();
        let routed: Vec<(Option<u64>, usize, Vec<u8>)> = ParsedBatch::read(&data, |batch| {
            let routed = batch.messages.iter().map(|message| {
                let (target, responses) = self.route(message);
                (target, responses, part(message))
            });
            routed.collect()
        })?;
        let first = routed.first()?.0;
        if routed.iter().all(|(target, ..)| *target == first) {
            self.enqueue(first?, data, routed.iter().map(|(_, responses, _)| responses).sum());
            return first;
        }
        for (target, responses, part) in routed {
            if let Some(target) = target {
                self.enqueue(target, part, responses);
            }
        }
        first
    }

    /// Answers a request that the client has cancelled with an error, which ends its post.
    pub(super) fn cancel_request(&mut self, raw_id: &str) {
        let Some(stream) = self.stream_by_request.take(raw_id) else { return };
        let error = json_rpc_error(raw_id, REQUEST_CANCELLED, "the request was cancelled");
        self.enqueue(stream, error.into_bytes(), 1);
    }

    /// Returns true if the queue of a stream is full.
    pub(super) fn is_full(&self, stream: u64) -> bool {
        self.streams.get(&stream).is_some_and(OutboundStream::is_full)
    }

    /// Returns the time of the last client activity; `None` while a client reads.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.streams.values().all(|stream| stream.reader_id.is_none()).then_some(self.last_activity_at)
    }

    /// Records client activity.
    pub(super) fn touch(&mut self, now: Instant) {
        self.last_activity_at = self.last_activity_at.max(now);
    }

    /// Removes streams and messages that no client came back for.
    pub(super) fn expire(&mut self, now: Instant) {
        self.replay_buffer.expire(now);
        let expired: Vec<u64> = self
            .streams
            .iter()
            .filter(|(id, stream)| {
                **id != LISTENING_STREAM
                    && stream
                        .reader_left_at
                        .is_some_and(|left_at| now.duration_since(left_at) > UNDELIVERED_TIMEOUT)
            })
            .map(|(id, _)| *id)
            .collect();
        expired.into_iter().for_each(|stream| self.remove_stream(stream));
    }

    /// Ends the session: each stream ends after its queued messages.
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

    /// Returns the stream of a message, and its number of responses.
    fn route(&mut self, message: &MessageView<'_>) -> (Option<u64>, usize) {
        match message.kind() {
            MessageKind::Response if message.id() != "null" => (self.stream_by_request.take(message.id()), 1),
            MessageKind::Notification if message.method() == "notifications/progress" => {
                let token = message.progress_token().map(|token| message.slice(token));
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
        let is_pending = |stream: &OutboundStream| {
            stream.pending_response_count > 0 && stream.accepts_other_messages && stream.reader_id.is_some()
        };
        let mut posts = self.streams.iter().rev().filter(|(_, stream)| is_pending(stream)).map(|(id, _)| *id);
        let has_listener =
            self.streams.get(&LISTENING_STREAM).is_some_and(|stream| stream.reader_id.is_some());
        match (posts.next(), posts.next()) {
            (Some(only), None) => only,
            (Some(latest), Some(_)) if !has_listener => latest,
            _ => LISTENING_STREAM,
        }
    }

    fn enqueue(&mut self, stream_id: u64, data: Vec<u8>, responses: usize) {
        let event = StreamEvent { number: self.next_id(), data: data.into(), is_response: responses > 0 };
        let Some(stream) = self.streams.get_mut(&stream_id) else { return };
        stream.pending_response_count = stream.pending_response_count.saturating_sub(responses);
        stream.push(event);
        if stream.reader_id.is_none() {
            self.evict_undelivered();
        }
    }

    /// Drops the oldest messages on streams without a reader, as far as they exceed the limit.
    fn evict_undelivered(&mut self) {
        loop {
            let unread =
                self.streams.values_mut().filter(|stream| stream.reader_id.is_none() && !stream.is_empty());
            let (mut messages, mut bytes) = (0, 0);
            let counted = unread.inspect(|stream| {
                let (count, size, _) = stream.backlog();
                (messages, bytes) = (messages + count, bytes + size);
            });
            let oldest = counted.min_by_key(|stream| stream.backlog().2);
            let Some(oldest) = oldest.filter(|_| bytes > MAX_UNDELIVERED_BYTES && messages > 1) else {
                return;
            };
            oldest.pop();
            tracing::warn!("dropped a server message that no client received in time");
        }
    }

    fn remove_stream(&mut self, stream: u64) {
        self.streams.remove(&stream);
        self.stream_by_request.retain(|other| *other != stream);
        self.stream_by_progress_token.retain(|other| *other != stream);
    }
}

#[cfg(test)]
mod tests;
