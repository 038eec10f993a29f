//! Whose is what the server says: the streams of one session, what waits on each, and what may have to be said again.
//!
//! | what the server says | to whom it goes |
//! | --- | --- |
//! | an answer | the post with that request |
//! | progress | the post whose request gave that token |
//! | anything else | the post that waits, if it is the only one; else the listening stream, if there is one; else the latest post that takes a stream; else it is kept until somebody listens |

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::kept::Kept;
use crate::front::http::refusal;
use crate::mcp::{Heard, Ids, Note, Role};

/// The stream of what belongs to no post.
pub(super) const LISTENING: u64 = 0;
/// Bytes that may wait for somebody to listen; the latest message always may.
const UNHEARD_BYTES: usize = 256 << 10;
/// How long what waits for a client that has left is kept.
const UNHEARD: Duration = Duration::from_mins(5);
/// What may wait for a client that reads slowly, before the server waits as well.
const AHEAD_BYTES: usize = 1 << 20;
const AHEAD: usize = 1024;
/// JSON-RPC has no code for it; others use this one.
const CANCELLED: i32 = -32800;

/// The streams of a session.
#[derive(Debug)]
pub(super) struct Desk {
    streams: BTreeMap<u64, Stream>,
    /// Requests of the client, by the streams on which their answers are due.
    waiting: Ids<u64>,
    /// Progress tokens, likewise.
    tokens: Ids<u64>,
    kept: Kept,
    /// Counts streams, messages and readers alike.
    count: u64,
    /// When a client last did anything.
    touched: Instant,
    over: bool,
}

/// What is on its way to the client by one answer over HTTP, or by several where it lost the first.
#[derive(Debug, Default)]
struct Stream {
    queue: VecDeque<Event>,
    bytes: usize,
    /// Answers still to come.
    owed: usize,
    /// The requests that are to be answered, by their ids as they were written.
    ids: Vec<String>,
    /// The client takes other messages than answers on it.
    is_open: bool,
    reader: Option<u64>,
    /// When the last reader left.
    left: Option<Instant>,
}

/// A message on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub number: u64,
    pub data: Bytes,
    pub answer: bool,
}

/// A place at a stream: the last one given out is the one that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub stream: u64,
    pub reader: u64,
}

/// What comes next on a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Event(Event),
    Nothing,
    End,
}

impl Desk {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            streams: BTreeMap::from([(LISTENING, Stream::default())]),
            waiting: Ids::default(),
            tokens: Ids::default(),
            kept: Kept::default(),
            count: 0,
            touched: now,
            over: false,
        }
    }

    /// The stream on which what was posted is answered. `is_open`: it can take other messages, too.
    pub(super) fn post(&mut self, heard: &Heard<'_>, is_open: bool, now: Instant) -> Seat {
        let stream = self.number();
        for request in heard.requests() {
            if !self.waiting.has(request.id()) {
                self.waiting.insert(request.id(), stream);
            }
            if let Some(token) = request.progress_token() {
                self.tokens.insert(request.at(token), stream);
            }
        }
        let ids: Vec<String> = heard.requests().map(|request| request.id().to_owned()).collect();
        self.streams.insert(stream, Stream { owed: ids.len(), ids, is_open, ..Stream::default() });
        self.sit(stream, now)
    }

    /// A stream of what belongs to no post, or of what came after an event that the client names. `None`: that is not
    /// kept any more.
    pub(super) fn listen(&mut self, after: Option<(u64, u64)>, now: Instant) -> Option<Seat> {
        let Some((stream, seen)) = after else { return Some(self.sit(LISTENING, now)) };
        let lost = self.kept.take_after(stream, seen);
        if lost.is_empty() && !self.streams.contains_key(&stream) {
            return None;
        }
        let resumed = self.streams.entry(stream).or_default();
        resumed.bytes += lost.iter().map(|event| event.data.len()).sum::<usize>();
        lost.into_iter().rev().for_each(|event| resumed.queue.push_front(event));
        Some(self.sit(stream, now))
    }

    /// What the client hears next; what it hears is kept for a while.
    pub(super) fn next(&mut self, seat: Seat, now: Instant) -> Next {
        let Some(stream) = self.streams.get_mut(&seat.stream).filter(|s| s.reader == Some(seat.reader))
        else {
            return Next::End;
        };
        if let Some(event) = stream.queue.pop_front() {
            stream.bytes -= event.data.len();
            self.kept.keep(seat.stream, event.clone(), now);
            return Next::Event(event);
        }
        let is_over = self.over || (seat.stream != LISTENING && stream.owed == 0);
        if is_over { Next::End } else { Next::Nothing }
    }

    /// Whether [`next`](Self::next) has anything to say.
    pub(super) fn is_ready(&self, seat: Seat) -> bool {
        self.streams.get(&seat.stream).filter(|s| s.reader == Some(seat.reader)).is_none_or(|stream| {
            !stream.queue.is_empty() || self.over || (seat.stream != LISTENING && stream.owed == 0)
        })
    }

    /// The client reads here no longer. `can_return`: it has been told by which ids it can come back.
    pub(super) fn leave(&mut self, seat: Seat, can_return: bool, now: Instant) {
        let Some(stream) = self.streams.get_mut(&seat.stream).filter(|s| s.reader == Some(seat.reader))
        else {
            return;
        };
        (stream.reader, stream.left, self.touched) = (None, Some(now), now);
        let is_over = stream.owed == 0 && stream.queue.is_empty();
        if seat.stream != LISTENING && (is_over || !can_return) {
            self.remove(seat.stream);
            if !can_return {
                self.kept.forget(seat.stream);
            }
        }
    }

    /// An answer that the server has no part in.
    pub(super) fn answered_here(&mut self, stream: u64, data: Vec<u8>) {
        let ids: Vec<String> =
            read(&data, |heard| heard.messages.iter().map(|note| note.id().to_owned()).collect());
        for id in &ids {
            let Some(asked) = self.streams.get_mut(&stream) else { return };
            if let Some(at) = asked.ids.iter().position(|asked| asked == id) {
                asked.ids.swap_remove(at);
            }
            // A request whose id was taken is refused, and the one that has it waits on.
            if !asked.ids.contains(id) && self.waiting.get(id) == Some(&stream) {
                self.waiting.take(id);
            }
        }
        self.put(stream, data, ids.len());
    }

    /// Something the server says. Returns the stream that it goes to.
    pub(super) fn arrived(&mut self, data: Vec<u8>) -> Option<u64> {
        let (targets, parts) = read(&data, |heard| {
            let targets: Vec<(Option<u64>, usize)> =
                heard.messages.iter().map(|note| self.target(note)).collect();
            let parts: Vec<Vec<u8>> =
                heard.messages.iter().map(|note| note.at(note.whole()).as_bytes().to_vec()).collect();
            (targets, parts)
        });
        let first = targets.first()?.0;
        if targets.iter().all(|(target, _)| *target == first) {
            self.put(first?, data, targets.iter().map(|(_, answers)| answers).sum());
            return first;
        }
        for ((target, answers), part) in targets.into_iter().zip(parts) {
            if let Some(target) = target {
                self.put(target, part, answers);
            }
        }
        first
    }

    /// The client wants no answer to a request any more: its post ends.
    pub(super) fn cancelled(&mut self, raw_id: &str) {
        let Some(stream) = self.waiting.take(raw_id) else { return };
        let error = refusal::error(raw_id, CANCELLED, "the request was cancelled");
        self.put(stream, error.into_bytes(), 1);
    }

    /// Whether the client reads a stream so slowly that the server should wait.
    pub(super) fn is_full(&self, stream: u64) -> bool {
        self.streams.get(&stream).filter(|stream| stream.reader.is_some()).is_some_and(|stream| {
            stream.queue.len() > AHEAD || (stream.bytes > AHEAD_BYTES && stream.queue.len() > 1)
        })
    }

    /// Since when no client reads here nor has asked anything; `None` while one reads.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        self.streams.values().all(|stream| stream.reader.is_none()).then_some(self.touched)
    }

    /// A client has done something.
    pub(super) fn touch(&mut self, now: Instant) {
        self.touched = self.touched.max(now);
    }

    /// Lets go of what nobody came back for.
    pub(super) fn tidy(&mut self, now: Instant) {
        self.kept.tidy(now);
        let gone: Vec<u64> = self
            .streams
            .iter()
            .filter(|(number, stream)| {
                **number != LISTENING && stream.left.is_some_and(|left| now.duration_since(left) > UNHEARD)
            })
            .map(|(number, _)| *number)
            .collect();
        gone.into_iter().for_each(|stream| self.remove(stream));
    }

    /// The session is over: each stream ends after what is on it.
    pub(super) fn finish(&mut self) {
        self.over = true;
    }

    pub(super) fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn sit(&mut self, stream: u64, now: Instant) -> Seat {
        let reader = self.number();
        self.touch(now);
        if let Some(stream) = self.streams.get_mut(&stream) {
            (stream.reader, stream.left) = (Some(reader), None);
        }
        Seat { stream, reader }
    }

    /// The stream for a message, and how many answers it is.
    fn target(&mut self, note: &Note<'_>) -> (Option<u64>, usize) {
        match note.role() {
            Role::Response if note.id() != "null" => (self.waiting.take(note.id()), 1),
            Role::Notification if note.method() == "notifications/progress" => {
                let token = note.progress_token().map(|token| note.at(token));
                let stream = token.and_then(|token| self.tokens.get(token)).copied();
                let stream =
                    stream.filter(|stream| self.streams.get(stream).is_some_and(|stream| stream.is_open));
                (Some(stream.unwrap_or_else(|| self.anybody())), 0)
            }
            _ => (Some(self.anybody()), 0),
        }
    }

    fn anybody(&self) -> u64 {
        let waits = |stream: &Stream| stream.owed > 0 && stream.is_open && stream.reader.is_some();
        let mut posts =
            self.streams.iter().rev().filter(|(_, stream)| waits(stream)).map(|(number, _)| *number);
        let listens = self.streams.get(&LISTENING).is_some_and(|stream| stream.reader.is_some());
        match (posts.next(), posts.next()) {
            (Some(only), None) => only,
            (Some(latest), Some(_)) if !listens => latest,
            _ => LISTENING,
        }
    }

    fn put(&mut self, number: u64, data: Vec<u8>, answers: usize) {
        let event = Event { number: self.number(), data: data.into(), answer: answers > 0 };
        let Some(stream) = self.streams.get_mut(&number) else { return };
        stream.owed = stream.owed.saturating_sub(answers);
        stream.bytes += event.data.len();
        stream.queue.push_back(event);
        if stream.reader.is_none() {
            self.let_go_of_unheard();
        }
    }

    /// Drops the oldest of what nobody hears, where that is too much.
    fn let_go_of_unheard(&mut self) {
        let unheard = |stream: &&mut Stream| stream.reader.is_none() && !stream.queue.is_empty();
        loop {
            let (mut bytes, mut messages) = (0, 0);
            let streams = self.streams.values_mut().filter(unheard);
            let oldest = streams
                .inspect(|stream| (bytes, messages) = (bytes + stream.bytes, messages + stream.queue.len()))
                .min_by_key(|stream| stream.queue.front().map(|event| event.number));
            let Some(oldest) = oldest.filter(|_| bytes > UNHEARD_BYTES && messages > 1) else { return };
            if let Some(event) = oldest.queue.pop_front() {
                oldest.bytes -= event.data.len();
                tracing::warn!("dropped a message of the server that nobody came to hear");
            }
        }
    }

    fn remove(&mut self, stream: u64) {
        self.streams.remove(&stream);
        self.waiting.retain(|other| *other != stream);
        self.tokens.retain(|other| *other != stream);
    }
}

/// Reads messages of the lane, which are messages all.
fn read<T: Default>(data: &[u8], so: impl FnOnce(&Heard<'_>) -> T) -> T {
    let text = String::from_utf8_lossy(data);
    Heard::read(&text).map(|heard| so(&heard)).unwrap_or_default()
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
