//! Messages queued for one HTTP response, or for the responses that resume it; and delivered ones, kept for a while, because
//! they may have been lost in transit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;

/// Queue limits of a stream; when they are exceeded, the server has to wait.
const MAX_QUEUED_BYTES: usize = 1 << 20;
const MAX_QUEUED_MESSAGES: usize = 1024;

/// Queue of a stream, and its reader.
#[derive(Debug, Default)]
pub(super) struct OutboundStream {
    queue: VecDeque<StreamEvent>,
    queued_bytes: usize,
    /// Responses that are still pending.
    pub pending_response_count: usize,
    /// Raw ids of the pending requests.
    pub request_ids: Vec<String>,
    /// True if the client accepts messages other than responses on it.
    pub accepts_other_messages: bool,
    pub reader_id: Option<u64>,
    /// Time at which the last reader left.
    pub reader_left_at: Option<Instant>,
}

/// A message on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StreamEvent {
    pub number: u64,
    pub data: Bytes,
    pub is_response: bool,
}

impl OutboundStream {
    /// Creates a stream for the responses to these requests.
    pub(super) fn for_post(ids: Vec<String>, is_open: bool) -> Self {
        Self {
            pending_response_count: ids.len(),
            request_ids: ids,
            accepts_other_messages: is_open,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, event: StreamEvent) {
        self.queued_bytes += event.data.len();
        self.queue.push_back(event);
    }

    /// Puts lost messages back at the front, in order.
    pub(super) fn requeue(&mut self, lost: Vec<StreamEvent>) {
        self.queued_bytes += lost.iter().map(|event| event.data.len()).sum::<usize>();
        lost.into_iter().rev().for_each(|event| self.queue.push_front(event));
    }

    pub(super) fn pop(&mut self) -> Option<StreamEvent> {
        let event = self.queue.pop_front()?;
        self.queued_bytes -= event.data.len();
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the number and bytes of queued messages, and the number of the oldest.
    pub(super) fn backlog(&self) -> (usize, usize, Option<u64>) {
        (self.queue.len(), self.queued_bytes, self.queue.front().map(|event| event.number))
    }

    /// Returns true if it has a reader and the queue exceeds a limit.
    pub(super) fn is_full(&self) -> bool {
        self.reader_id.is_some()
            && (self.queue.len() > MAX_QUEUED_MESSAGES
                || (self.queued_bytes > MAX_QUEUED_BYTES && self.queue.len() > 1))
    }
}

/// Bytes kept; the latest message is always kept.
const MAX_REPLAYED_BYTES: usize = 32 << 10;
/// Lifetime of a message. Clients reconnect within seconds.
const MAX_REPLAY_AGE: Duration = Duration::from_mins(2);

/// Latest messages of all streams, in order.
#[derive(Debug, Default)]
pub(super) struct ReplayBuffer {
    messages: VecDeque<(u64, StreamEvent, Instant)>,
    bytes: usize,
}

impl ReplayBuffer {
    /// Adds a message that was delivered on a stream.
    pub(super) fn record(&mut self, stream: u64, event: StreamEvent, now: Instant) {
        self.bytes += event.data.len();
        self.messages.push_back((stream, event, now));
        while self.bytes > MAX_REPLAYED_BYTES && self.messages.len() > 1 {
            self.bytes -= self.messages.pop_front().map_or(0, |(_, event, _)| event.data.len());
        }
    }

    /// Takes the messages of a stream after the message of that number.
    pub(super) fn take_after(&mut self, stream: u64, number: u64) -> Vec<StreamEvent> {
        let is_after = |of: u64, event: &StreamEvent| of == stream && event.number > number;
        let taken = self.messages.iter().filter(|(of, event, _)| is_after(*of, event));
        let taken = taken.map(|(_, event, _)| event.clone()).collect();
        self.retain(|of, event, _| !is_after(of, event));
        taken
    }

    /// Removes the messages of a stream.
    pub(super) fn remove_stream(&mut self, stream: u64) {
        self.retain(|of, _, _| of != stream);
    }

    /// Removes messages older than [`MAX_REPLAY_AGE`].
    pub(super) fn expire(&mut self, now: Instant) {
        self.retain(|_, _, since| now.duration_since(since) <= MAX_REPLAY_AGE);
    }

    fn retain(&mut self, keep: impl Fn(u64, &StreamEvent, Instant) -> bool) {
        self.messages.retain(|(of, event, since)| keep(*of, event, *since));
        self.messages.shrink_to_fit();
        self.bytes = self.messages.iter().map(|(_, event, _)| event.data.len()).sum();
    }
}
