//! A message of the client, read once: what it is posted with, and what it waits for.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::super::flights::Flights;
use crate::latch::Latch;
use crate::mcp::mirror::Mirror;
use crate::mcp::{Heard, Note};

/// A message, or a batch of such.
#[derive(Default)]
pub(super) struct Letter {
    /// As it came.
    pub(super) bytes: Bytes,
    /// The ids of its requests, as they were written.
    pub(super) ids: Vec<String>,
    /// Its answer begins a session.
    pub(super) begins_session: bool,
    /// It says that the session has begun.
    pub(super) has_begun: bool,
    /// Its answer tells of tools.
    pub(super) lists_tools: bool,
    /// The request that it cancels.
    pub(super) cancels: Option<String>,
    /// The revision that it says it is of, which those before 2026-07-28 do not.
    pub(super) version: Option<HeaderValue>,
    /// What the fields of its head repeat, from 2026-07-28 on.
    pub(super) repeated: HeaderMap,
    /// Set when no answer is wanted any more.
    pub(super) dropped: Arc<Latch>,
}

impl Letter {
    /// Reads a message; its requests are under way from now on. What is no message is left to the server to judge.
    pub(super) fn read(bytes: &Bytes, mirror: &Mirror, flights: &Flights) -> Self {
        let mut letter = Self { bytes: bytes.clone(), ..Self::default() };
        let text = String::from_utf8_lossy(bytes);
        let Ok(heard) = Heard::read(&text) else { return letter };
        for request in heard.requests() {
            letter.ids.push(request.id().to_owned());
            letter.begins_session |= request.method() == "initialize";
            letter.lists_tools |= request.method() == "tools/list";
            flights.start(request, &letter.dropped);
        }
        if let [note] = heard.messages.as_slice() {
            letter.has_begun = note.method() == "notifications/initialized";
            letter.cancels = note.cancelled().map(|place| note.at(place).to_owned());
            letter.read_version(note, mirror);
        }
        letter
    }

    fn read_version(&mut self, note: &Note<'_>, mirror: &Mirror) {
        let version = note.version().and_then(|version| HeaderValue::try_from(version).ok());
        self.version = version.filter(|_| !self.ids.is_empty());
        if self.version.is_none() {
            return;
        }
        for (name, value) in mirror.fields(note) {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                self.repeated.insert(name, value);
            }
        }
    }

    /// Whether this is the id of one of its requests, spelled as it was.
    pub(super) fn is_about(&self, raw_id: &str) -> bool {
        self.ids.iter().any(|id| id == raw_id)
    }
}
