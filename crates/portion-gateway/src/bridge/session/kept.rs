//! What was delivered and may have got lost on the way: a little of it, for a while.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::desk::Event;

/// Bytes that are kept; the latest message always is.
const BYTES: usize = 32 << 10;
/// How long it is kept. Clients come back within seconds.
const AGE: Duration = Duration::from_mins(2);

/// The latest messages of all streams, in order.
#[derive(Debug, Default)]
pub(super) struct Kept {
    messages: VecDeque<(u64, Event, Instant)>,
    bytes: usize,
}

impl Kept {
    /// Keeps a message that was delivered on a stream.
    pub(super) fn keep(&mut self, stream: u64, event: Event, now: Instant) {
        self.bytes += event.data.len();
        self.messages.push_back((stream, event, now));
        while self.bytes > BYTES && self.messages.len() > 1 {
            self.bytes -= self.messages.pop_front().map_or(0, |(_, event, _)| event.data.len());
        }
    }

    /// Takes what came on a stream after the message of that number.
    pub(super) fn take_after(&mut self, stream: u64, number: u64) -> Vec<Event> {
        let after = |of: u64, event: &Event| of == stream && event.number > number;
        let taken = self.messages.iter().filter(|(of, event, _)| after(*of, event));
        let taken = taken.map(|(_, event, _)| event.clone()).collect();
        self.retain(|of, event, _| !after(of, event));
        taken
    }

    /// Forgets a stream.
    pub(super) fn forget(&mut self, stream: u64) {
        self.retain(|of, _, _| of != stream);
    }

    /// Forgets what is too old.
    pub(super) fn tidy(&mut self, now: Instant) {
        self.retain(|_, _, since| now.duration_since(since) <= AGE);
    }

    fn retain(&mut self, so: impl Fn(u64, &Event, Instant) -> bool) {
        self.messages.retain(|(of, event, since)| so(*of, event, *since));
        self.messages.shrink_to_fit();
        self.bytes = self.messages.iter().map(|(_, event, _)| event.data.len()).sum();
    }
}
