//! Messages queued for one HTTP response, or for the responses that resume it.

use std::collections::VecDeque;
use std::time::Instant;

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
