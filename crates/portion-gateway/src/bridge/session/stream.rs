//! What is on its way to the client by one answer over HTTP, or by several where it lost the first.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;

/// What may wait for a client that reads slowly, before the server waits as well.
const AHEAD_BYTES: usize = 1 << 20;
const AHEAD: usize = 1024;

/// Messages in order, and who reads them.
#[derive(Debug, Default)]
pub(super) struct Stream {
    queue: VecDeque<Event>,
    bytes: usize,
    /// Answers still to come.
    pub owed: usize,
    /// The requests that are to be answered, by their ids as they were written.
    pub ids: Vec<String>,
    /// The client takes other messages than answers on it.
    pub is_open: bool,
    pub reader: Option<u64>,
    /// When the last reader left.
    pub left: Option<Instant>,
}

/// A message on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub number: u64,
    pub data: Bytes,
    pub answer: bool,
}

impl Stream {
    /// For the answers to these requests.
    pub(super) fn of_post(ids: Vec<String>, is_open: bool) -> Self {
        Self { owed: ids.len(), ids, is_open, ..Self::default() }
    }

    pub(super) fn push(&mut self, event: Event) {
        self.bytes += event.data.len();
        self.queue.push_back(event);
    }

    /// Puts back what got lost on its way, in order.
    pub(super) fn push_back_in_front(&mut self, lost: Vec<Event>) {
        self.bytes += lost.iter().map(|event| event.data.len()).sum::<usize>();
        lost.into_iter().rev().for_each(|event| self.queue.push_front(event));
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        let event = self.queue.pop_front()?;
        self.bytes -= event.data.len();
        Some(event)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Messages and bytes that wait, and the number of the oldest.
    pub(super) fn backlog(&self) -> (usize, usize, Option<u64>) {
        (self.queue.len(), self.bytes, self.queue.front().map(|event| event.number))
    }

    /// Whether its client reads it so slowly that the server should wait.
    pub(super) fn is_full(&self) -> bool {
        self.reader.is_some()
            && (self.queue.len() > AHEAD || (self.bytes > AHEAD_BYTES && self.queue.len() > 1))
    }
}
