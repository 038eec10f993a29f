//! Keeps delivered messages for a while, because they may have been lost in transit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::stream::StreamEvent;

/// Bytes kept; the latest message is always kept.
const MAX_BYTES: usize = 32 << 10;
/// Lifetime of a message. Clients reconnect within seconds.
const MAX_AGE: Duration = Duration::from_mins(2);

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
        while self.bytes > MAX_BYTES && self.messages.len() > 1 {
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

    /// Removes messages older than [`MAX_AGE`].
    pub(super) fn expire(&mut self, now: Instant) {
        self.retain(|_, _, since| now.duration_since(since) <= MAX_AGE);
    }

    fn retain(&mut self, keep: impl Fn(u64, &StreamEvent, Instant) -> bool) {
        self.messages.retain(|(of, event, since)| keep(*of, event, *since));
        self.messages.shrink_to_fit();
        self.bytes = self.messages.iter().map(|(_, event, _)| event.data.len()).sum();
    }
}
