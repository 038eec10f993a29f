//! Requests that wait for the server's answer.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use portion_core::view::Request;

use super::super::envelope::id_key;
use super::super::ids::Ids;
use super::super::result::Shape;
use super::timeouts::Timer;
use crate::call::{Caller, Endpoint, ReuseKey};

/// Requests of one session that may wait for the server: each costs about a kilobyte.
pub(super) const MOST: usize = 10_000;
/// How many cancelled requests are remembered.
const CANCELLED: usize = 256;

/// A request under way.
#[derive(Debug)]
pub(super) struct Asked {
    /// Its id as it was written.
    pub id: String,
    /// Of a revision whose results have a `resultType`.
    pub modern: bool,
    pub what: What,
    /// None where it may wait for ever.
    pub timer: Option<Timer>,
}

/// What is to be done with the answer.
#[derive(Debug)]
pub(super) enum What {
    Advertise {
        method: &'static str,
    },
    ListTools,
    /// A result with content, or an error in its place, for somebody who is served as was decided when he asked. `inside`:
    /// it is a member of the answer's result.
    Content {
        shape: Shape,
        caller: Box<Caller>,
        endpoint: Box<Endpoint>,
        request: Box<Request>,
        reuse: Option<ReuseKey>,
        inside: bool,
    },
    /// Not sent yet: it waits for the tools to be known.
    Held {
        line: String,
    },
    /// Our own question for the tools. Its answer is for nobody else.
    Listing {
        meta: String,
    },
    Relay {
        method: Box<str>,
    },
}

impl What {
    /// The method that was asked for, of what is relayed.
    pub(super) fn method(&self) -> &str {
        match self {
            Self::Advertise { method } => method,
            Self::ListTools | Self::Listing { .. } => "tools/list",
            Self::Content { .. } | Self::Held { .. } => "tools/call",
            Self::Relay { method } => method,
        }
    }

    /// Whether whoever asked expects the result of a tool.
    pub(super) fn is_tool(&self) -> bool {
        matches!(self, Self::Content { shape: Shape::Tool, inside: false, .. } | Self::Held { .. })
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
pub(super) struct Pending {
    asked: BTreeMap<u64, Asked>,
    places: Ids<u64>,
    count: u64,
    held: usize,
    /// Not after the time of any of them is over; none where they may all wait for ever.
    alarm: Option<Instant>,
    /// Requests that were cancelled last, by the keys of their ids: an answer to one is no surprise.
    cancelled: VecDeque<String>,
}

impl Pending {
    /// Whether the id is taken.
    pub(super) fn has(&self, raw_id: &str) -> bool {
        self.places.has(raw_id)
    }

    /// Whether no further request may wait.
    pub(super) fn is_full(&self) -> bool {
        self.asked.len() >= MOST
    }

    /// Adds a request. Returns whether its time is over before the alarm.
    pub(super) fn add(&mut self, asked: Asked, now: Instant) -> bool {
        let due = asked.timer.as_ref().map(|timer| timer.due(now));
        let is_earlier = due.is_some_and(|due| self.alarm.is_none_or(|alarm| due < alarm));
        if is_earlier {
            self.alarm = due;
        }
        self.count += 1;
        self.held += usize::from(matches!(asked.what, What::Held { .. }));
        self.places.insert(&asked.id, self.count);
        self.asked.insert(self.count, asked);
        is_earlier
    }

    /// When to look for requests whose time is over.
    pub(super) fn alarm(&mut self, now: Instant) -> Option<Instant> {
        if self.alarm.is_some_and(|alarm| alarm <= now) {
            let timers = self.asked.values().filter_map(|asked| asked.timer.as_ref());
            self.alarm = timers.map(|timer| timer.due(now)).min();
        }
        self.alarm
    }

    /// Takes those whose time is over, in order, as if their client cancelled them.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Asked> {
        let is_over = |asked: &&Asked| asked.timer.as_ref().is_some_and(|timer| timer.due(now) <= now);
        let ids: Vec<String> = self.asked.values().filter(is_over).map(|asked| asked.id.clone()).collect();
        ids.iter().filter_map(|id| self.cancel(id)).collect()
    }

    /// Takes the request that an answer belongs to.
    pub(super) fn take(&mut self, raw_id: &str) -> Option<Asked> {
        let asked = self.asked.remove(&self.places.take(raw_id)?)?;
        self.held -= usize::from(matches!(asked.what, What::Held { .. }));
        Some(asked)
    }

    /// The same, where it was sent to the server.
    pub(super) fn take_sent(&mut self, raw_id: &str) -> Option<Asked> {
        let is_held = self
            .places
            .get(raw_id)
            .and_then(|place| self.asked.get(place))
            .is_some_and(|asked| matches!(asked.what, What::Held { .. }));
        if is_held { None } else { self.take(raw_id) }
    }

    /// Takes the request that its client cancels, and remembers that it did.
    pub(super) fn cancel(&mut self, raw_id: &str) -> Option<Asked> {
        let asked = self.take(raw_id)?;
        if self.cancelled.len() >= CANCELLED {
            self.cancelled.pop_front();
        }
        self.cancelled.push_back(id_key(&asked.id));
        Some(asked)
    }

    /// Whether an answer is to a request that was cancelled, which then is forgotten.
    pub(super) fn was_cancelled(&mut self, raw_id: &str) -> bool {
        let key = id_key(raw_id);
        let at = self.cancelled.iter().position(|cancelled| *cancelled == key);
        at.and_then(|at| self.cancelled.remove(at)).is_some()
    }

    /// Takes those that wait for the tools to be known, in order.
    pub(super) fn take_held(&mut self) -> Vec<Asked> {
        let held = self.asked.values().filter(|asked| matches!(asked.what, What::Held { .. }));
        let ids: Vec<String> = held.map(|asked| asked.id.clone()).collect();
        ids.iter().filter_map(|id| self.take(id)).collect()
    }

    /// Takes all of the client's, in order.
    pub(super) fn take_all(&mut self) -> Vec<Asked> {
        let all = std::mem::take(self);
        all.asked.into_values().filter(|asked| !matches!(asked.what, What::Listing { .. })).collect()
    }

    /// Whether we have asked for the tools ourselves.
    pub(super) fn is_listing(&self) -> bool {
        self.asked.values().any(|asked| matches!(asked.what, What::Listing { .. }))
    }

    pub(super) fn holds_back(&self) -> bool {
        self.held > 0
    }

    /// How many of the client's wait.
    pub(super) fn len(&self) -> usize {
        self.asked.len() - usize::from(self.is_listing())
    }

    /// An id that nobody else uses.
    pub(super) fn own_id(&self) -> String {
        let mut n = self.count;
        loop {
            let id = format!("\"portion:{n}\"");
            if !self.has(&id) {
                return id;
            }
            n += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::{Asked, Pending, What};

    fn check(asked: &[&str], answered: &str, expect: Option<&str>) {
        let mut pending = Pending::default();
        for id in asked {
            let what = What::Relay { method: "ping".into() };
            pending.add(Asked { id: (*id).to_owned(), modern: false, what, timer: None }, Instant::now());
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
