//! A message of the client, read once: what it is posted with, and what it waits for.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::super::in_flight::InFlight;
use crate::mcp::request_headers::RequestHeaders;
use crate::mcp::{MessageView, ParsedBatch};
use crate::one_shot_flag::OneShotFlag;

/// A message, or a batch of such.
#[derive(Default)]
pub(super) struct OutboundMessage {
    /// As it came.
    pub(super) bytes: Bytes,
    /// The ids of its requests, as they were written.
    pub(super) request_ids: Vec<String>,
    /// Its answer begins a session.
    pub(super) is_initialize: bool,
    /// It says that the session has begun.
    pub(super) is_initialized_notification: bool,
    /// Its answer tells of tools.
    pub(super) is_tools_list: bool,
    /// The request that it cancels.
    pub(super) cancelled_id: Option<String>,
    /// The revision that it says it is of, which those before 2026-07-28 do not.
    pub(super) declared_version: Option<HeaderValue>,
    /// What the fields of its head repeat, from 2026-07-28 on.
    pub(super) mirrored_headers: HeaderMap,
    /// Set when no answer is wanted any more.
    pub(super) cancelled: Arc<OneShotFlag>,
}

impl OutboundMessage {
    /// Reads a message; its requests are under way from now on. What is no message is left to the server to judge.
    pub(super) fn parse(bytes: &Bytes, mirror: &RequestHeaders, flights: &InFlight) -> Self {
        let mut letter = Self { bytes: bytes.clone(), ..Self::default() };
        let text = String::from_utf8_lossy(bytes);
        let Ok(heard) = ParsedBatch::parse(&text) else { return letter };
        for request in heard.requests() {
            letter.request_ids.push(request.id().to_owned());
            letter.is_initialize |= request.method() == "initialize";
            letter.is_tools_list |= request.method() == "tools/list";
            flights.register(request, &letter.cancelled);
        }
        if let [note] = heard.messages.as_slice() {
            letter.is_initialized_notification = note.method() == "notifications/initialized";
            letter.cancelled_id = note.cancelled_id().map(|place| note.slice(place).to_owned());
            letter.parse_version(note, mirror);
        }
        letter
    }

    fn parse_version(&mut self, note: &MessageView<'_>, mirror: &RequestHeaders) {
        let version = note.protocol_version().and_then(|version| HeaderValue::try_from(version).ok());
        self.declared_version = version.filter(|_| !self.request_ids.is_empty());
        if self.declared_version.is_none() {
            return;
        }
        for (name, value) in mirror.header_fields(note) {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                self.mirrored_headers.insert(name, value);
            }
        }
    }

    /// Whether this is the id of one of its requests, spelled as it was.
    pub(super) fn has_request_id(&self, raw_id: &str) -> bool {
        self.request_ids.iter().any(|id| id == raw_id)
    }
}
