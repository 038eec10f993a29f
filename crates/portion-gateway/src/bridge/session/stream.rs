//! What is on its way to the client by one answer over HTTP, or by several where it lost the first.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;

/// What may wait for a client that reads slowly, before the server waits as well.
const MAX_QUEUED_BYTES: usize = 1 << 20;
const MAX_QUEUED_MESSAGES: usize = 1024;

/// Messages in order, and who reads them.
#[derive(Debug, Default)]
pub(super) struct OutboundStream {
    queue: VecDeque<StreamEvent>,
    queued_bytes: usize,
    /// Answers still to come.
    pub pending_response_count: usize,
    /// The requests that are to be answered, by their ids as they were written.
    pub request_ids: Vec<String>,
    /// The client takes other messages than answers on it.
    pub accepts_other_messages: bool,
    pub reader_id: Option<u64>,
    /// When the last reader left.
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
    /// For the answers to these requests.
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

    /// Puts back what got lost on its way, in order.
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

    /// Messages and bytes that wait, and the number of the oldest.
    pub(super) fn backlog(&self) -> (usize, usize, Option<u64>) {
        (self.queue.len(), self.queued_bytes, self.queue.front().map(|event| event.number))
    }

    /// Whether its client reads it so slowly that the server should wait.
    pub(super) fn is_full(&self) -> bool {
        self.reader_id.is_some()
            && (self.queue.len() > MAX_QUEUED_MESSAGES
                || (self.queued_bytes > MAX_QUEUED_BYTES && self.queue.len() > 1))
    }
}
