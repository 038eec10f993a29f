//! Messages queued for one HTTP response, or for the responses that resume it; and delivered ones, kept for a while, because
//! they may have been lost in transit.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::bridge_session::BridgeSession;
use super::stream_router::{NextEvent, Subscription};
use crate::bridge::post_response::{MessageSource, ResponseMessage, SourceItem};
use crate::once::wait_until;

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

/// Reader of a stream. Dropping it unsubscribes.
pub(super) struct SubscriptionReader {
    session: Arc<BridgeSession>,
    subscription: Subscription,
    /// True if the client has received event ids and can resume the stream.
    can_resume: bool,
}

impl SubscriptionReader {
    /// Creates a reader for a subscription of the session's router.
    pub(super) fn new(session: &Arc<BridgeSession>, subscription: Subscription) -> Self {
        Self { session: Arc::clone(session), subscription, can_resume: false }
    }

    /// Returns an event id for the current position, from which a client can resume that has received no event.
    pub(super) fn current_event_id(&self) -> String {
        let number = self.session.router.lock().next_id();
        format_event_id(self.subscription.stream_id, number)
    }
}

impl MessageSource for SubscriptionReader {
    async fn wait(&mut self) {
        let is_ready = || self.session.router.lock().is_ready(self.subscription);
        wait_until(&self.session.changed, is_ready).await;
    }

    async fn take(&mut self) -> SourceItem {
        let next = self.session.router.lock().next_event(self.subscription, Instant::now());
        // The server's task may be waiting for space in this stream.
        self.session.changed.notify_waiters();
        match next {
            NextEvent::Event(event) => {
                let id = Some(format_event_id(self.subscription.stream_id, event.number));
                SourceItem::Message(ResponseMessage {
                    event_id: id,
                    data: event.data,
                    is_response: event.is_response,
                })
            }
            NextEvent::Pending => SourceItem::Pending,
            NextEvent::End => SourceItem::End,
        }
    }

    fn mark_streamed(&mut self) {
        self.can_resume = true;
    }
}

impl Drop for SubscriptionReader {
    fn drop(&mut self) {
        self.session.router.lock().unsubscribe(self.subscription, self.can_resume, Instant::now());
        self.session.changed.notify_waiters();
    }
}

/// Returns the event id of a message on a stream.
fn format_event_id(stream: u64, number: u64) -> String {
    format!("{stream}-{number}")
}

/// Returns the stream and the message number of an event id.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
