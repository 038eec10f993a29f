//! Requests that wait for the server's answer.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use portion_core::view::Request;

use super::super::envelope::id_key;
use super::super::request_id_map::RequestIdMap;
use super::super::result::ResultShape;
use super::timeouts::RequestTimer;
use crate::call::{Caller, Endpoint, ReuseKey};

/// Requests of one session that may wait for the server: each costs about a kilobyte.
pub(super) const MAX_PENDING: usize = 10_000;
/// How many cancelled requests are remembered.
const MAX_CANCELLED_IDS: usize = 256;

/// A request under way.
#[derive(Debug)]
pub(super) struct PendingRequest {
    /// Its id as it was written.
    pub id: String,
    /// Of a revision whose results have a `resultType`.
    pub is_stateless: bool,
    pub kind: PendingKind,
    /// None where it may wait for ever.
    pub timer: Option<RequestTimer>,
}

/// What is to be done with the answer.
#[derive(Debug)]
pub(super) enum PendingKind {
    AdvertiseTools {
        method: &'static str,
    },
    ListTools,
    /// A result with content, or an error in its place, for somebody who is served as was decided when he asked. `inside`:
    /// it is a member of the answer's result.
    Content {
        shape: ResultShape,
        caller: Box<Caller>,
        endpoint: Box<Endpoint>,
        request: Box<Request>,
        reuse_key: Option<ReuseKey>,
        is_nested: bool,
    },
    /// Not sent yet: it waits for the tools to be known.
    QueuedCall {
        line: String,
    },
    /// Our own question for the tools. Its answer is for nobody else.
    InternalToolsList {
        meta: String,
    },
    Relay {
        method: Box<str>,
    },
}

impl PendingKind {
    /// The method that was asked for, of what is relayed.
    pub(super) fn method(&self) -> &str {
        match self {
            Self::AdvertiseTools { method } => method,
            Self::ListTools | Self::InternalToolsList { .. } => "tools/list",
            Self::Content { .. } | Self::QueuedCall { .. } => "tools/call",
            Self::Relay { method } => method,
        }
    }

    /// Whether whoever asked expects the result of a tool.
    pub(super) fn expects_tool_result(&self) -> bool {
        matches!(
            self,
            Self::Content { shape: ResultShape::Tool, is_nested: false, .. } | Self::QueuedCall { .. }
        )
    }

    pub(super) fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::Content { endpoint, .. } => Some(endpoint),
            _ => None,
        }
    }
}

/// All of them, by id, and in the order they came.
#[derive(Debug, Default)]
pub(super) struct PendingRequests {
    requests: BTreeMap<u64, PendingRequest>,
    sequence_by_id: RequestIdMap<u64>,
    last_sequence: u64,
    queued_count: usize,
    /// Not after the time of any of them is over; none where they may all wait for ever.
    next_deadline: Option<Instant>,
    /// Requests that were cancelled last, by the keys of their ids: an answer to one is no surprise.
    cancelled_ids: VecDeque<String>,
}

impl PendingRequests {
    /// Whether the id is taken.
    pub(super) fn contains(&self, raw_id: &str) -> bool {
        self.sequence_by_id.contains(raw_id)
    }

    /// Whether no further request may wait.
    pub(super) fn is_full(&self) -> bool {
        self.requests.len() >= MAX_PENDING
    }

    /// Adds a request. Returns whether its time is over before the alarm.
    pub(super) fn add(&mut self, asked: PendingRequest, now: Instant) -> bool {
        let due = asked.timer.as_ref().map(|timer| timer.deadline(now));
        let is_earlier = due.is_some_and(|due| self.next_deadline.is_none_or(|alarm| due < alarm));
        if is_earlier {
            self.next_deadline = due;
        }
        self.last_sequence += 1;
        self.queued_count += usize::from(matches!(asked.kind, PendingKind::QueuedCall { .. }));
        self.sequence_by_id.insert(&asked.id, self.last_sequence);
        self.requests.insert(self.last_sequence, asked);
        is_earlier
    }

    /// When to look for requests whose time is over.
    pub(super) fn next_deadline(&mut self, now: Instant) -> Option<Instant> {
        if self.next_deadline.is_some_and(|alarm| alarm <= now) {
            let timers = self.requests.values().filter_map(|asked| asked.timer.as_ref());
            self.next_deadline = timers.map(|timer| timer.deadline(now)).min();
        }
        self.next_deadline
    }

    /// Takes those whose time is over, in order, as if their client cancelled them.
    pub(super) fn take_expired(&mut self, now: Instant) -> Vec<PendingRequest> {
        let is_over =
            |asked: &&PendingRequest| asked.timer.as_ref().is_some_and(|timer| timer.deadline(now) <= now);
        let ids: Vec<String> = self.requests.values().filter(is_over).map(|asked| asked.id.clone()).collect();
        ids.iter().filter_map(|id| self.cancel(id)).collect()
    }

    /// Takes the request that an answer belongs to.
    pub(super) fn take(&mut self, raw_id: &str) -> Option<PendingRequest> {
        let asked = self.requests.remove(&self.sequence_by_id.take(raw_id)?)?;
        self.queued_count -= usize::from(matches!(asked.kind, PendingKind::QueuedCall { .. }));
        Some(asked)
    }

    /// The same, where it was sent to the server.
    pub(super) fn take_sent(&mut self, raw_id: &str) -> Option<PendingRequest> {
        let is_held = self
            .sequence_by_id
            .get(raw_id)
            .and_then(|place| self.requests.get(place))
            .is_some_and(|asked| matches!(asked.kind, PendingKind::QueuedCall { .. }));
        if is_held { None } else { self.take(raw_id) }
    }

    /// Takes the request that its client cancels, and remembers that it did.
    pub(super) fn cancel(&mut self, raw_id: &str) -> Option<PendingRequest> {
        let asked = self.take(raw_id)?;
        if self.cancelled_ids.len() >= MAX_CANCELLED_IDS {
            self.cancelled_ids.pop_front();
        }
        self.cancelled_ids.push_back(id_key(&asked.id));
        Some(asked)
    }

    /// Whether an answer is to a request that was cancelled, which then is forgotten.
    pub(super) fn forget_cancelled(&mut self, raw_id: &str) -> bool {
        let key = id_key(raw_id);
        let at = self.cancelled_ids.iter().position(|cancelled| *cancelled == key);
        at.and_then(|at| self.cancelled_ids.remove(at)).is_some()
    }

    /// Takes those that wait for the tools to be known, in order.
    pub(super) fn take_queued(&mut self) -> Vec<PendingRequest> {
        let held =
            self.requests.values().filter(|asked| matches!(asked.kind, PendingKind::QueuedCall { .. }));
        let ids: Vec<String> = held.map(|asked| asked.id.clone()).collect();
        ids.iter().filter_map(|id| self.take(id)).collect()
    }

    /// Takes all of the client's, in order.
    pub(super) fn take_all(&mut self) -> Vec<PendingRequest> {
        let all = std::mem::take(self);
        all.requests
            .into_values()
            .filter(|asked| !matches!(asked.kind, PendingKind::InternalToolsList { .. }))
            .collect()
    }

    /// Whether we have asked for the tools ourselves.
    pub(super) fn is_listing_tools(&self) -> bool {
        self.requests.values().any(|asked| matches!(asked.kind, PendingKind::InternalToolsList { .. }))
    }

    pub(super) fn has_queued(&self) -> bool {
        self.queued_count > 0
    }

    /// How many of the client's wait.
    pub(super) fn len(&self) -> usize {
        self.requests.len() - usize::from(self.is_listing_tools())
    }

    /// An id that nobody else uses.
    pub(super) fn new_internal_id(&self) -> String {
        let mut n = self.last_sequence;
        loop {
            let id = format!("\"portion:{n}\"");
            if !self.contains(&id) {
                return id;
            }
            n += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{PendingKind, PendingRequest, PendingRequests};

    fn check(asked: &[&str], answered: &str, expect: Option<&str>) {
        let mut pending = PendingRequests::default();
        for id in asked {
            let what = PendingKind::Relay { method: "ping".into() };
            pending.add(
                PendingRequest { id: (*id).to_owned(), is_stateless: false, kind: what, timer: None },
                Instant::now(),
            );
        }
        assert_eq!(pending.take(answered).map(|asked| asked.id).as_deref(), expect, "{answered}");
        assert_eq!(pending.len(), asked.len() - usize::from(expect.is_some()));
        assert!(pending.take(answered).is_none() || asked.len() > 1);
    }

    #[test]
    fn an_answer_finds_its_request() {
        check(&["1", "\"1\""], "1", Some("1"));
        check(&["1", "\"1\""], "\"1\"", Some("\"1\""));
        check(&["\"é\""], "\"\\u00e9\"", Some("\"é\""));
        check(&["12345678901234567890"], "12345678901234567000", Some("12345678901234567890"));
        check(&["12345678901234567890", "12345678901234567891"], "12345678901234567000", None);
        check(&["null"], "null", Some("null"));
        check(&["1"], "2", None);
        check(&["1.0"], "1", Some("1.0"));
    }
}
