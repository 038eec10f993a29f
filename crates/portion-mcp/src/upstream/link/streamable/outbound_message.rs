//! A message of the client, parsed once: its requests and the headers that it is posted with.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::super::message::InFlight;
use crate::mcp::request_headers::RequestHeaders;
use crate::mcp::{MessageView, ParsedBatch};
use crate::once::OneShotFlag;

/// A message, or a batch of messages.
#[derive(Default)]
pub(super) struct OutboundMessage {
    /// Unchanged bytes of the message.
    pub(super) bytes: Bytes,
    /// Ids of its requests, as raw JSON.
    pub(super) request_ids: Vec<String>,
    /// True if it contains `initialize`: the response begins a session.
    pub(super) is_initialize: bool,
    /// True if it is the `initialized` notification.
    pub(super) is_initialized_notification: bool,
    /// True if it contains `tools/list`.
    pub(super) is_tools_list: bool,
    /// Raw id of the request that it cancels.
    pub(super) cancelled_id: Option<String>,
    /// Revision that the message declares; only requests since 2026-07-28 do.
    pub(super) declared_version: Option<HeaderValue>,
    /// Headers that repeat parts of the message, since 2026-07-28.
    pub(super) mirrored_headers: HeaderMap,
    /// Set when no response is wanted any more.
    pub(super) cancelled: Arc<OneShotFlag>,
}

impl OutboundMessage {
    /// Parses a message and registers its requests as in flight. Invalid messages are posted for the server to reject.
    pub(super) fn parse(bytes: &Bytes, request_headers: &RequestHeaders, in_flight: &InFlight) -> Self {
        let mut outbound = Self { bytes: bytes.clone(), ..Self::default() };
        let text = String::from_utf8_lossy(bytes);
        let Ok(batch) = ParsedBatch::parse(&text) else { return outbound };
        for request in batch.requests() {
            outbound.request_ids.push(request.id().to_owned());
            outbound.is_initialize |= request.method() == "initialize";
            outbound.is_tools_list |= request.method() == "tools/list";
            in_flight.register(request, &outbound.cancelled);
        }
        if let [message] = batch.messages.as_slice() {
            outbound.is_initialized_notification = message.method() == "notifications/initialized";
            outbound.cancelled_id = message.cancelled_id().map(|place| message.slice(place).to_owned());
            outbound.parse_version(message, request_headers);
        }
        outbound
    }

    fn parse_version(&mut self, message: &MessageView<'_>, request_headers: &RequestHeaders) {
        let version = message.protocol_version().and_then(|version| HeaderValue::try_from(version).ok());
        self.declared_version = version.filter(|_| !self.request_ids.is_empty());
        if self.declared_version.is_none() {
            return;
        }
        for (name, value) in request_headers.header_fields(message) {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                self.mirrored_headers.insert(name, value);
            }
        }
    }

    /// Returns true if this is the id of one of its requests, in the same spelling.
    pub(super) fn has_request_id(&self, raw_id: &str) -> bool {
        self.request_ids.iter().any(|id| id == raw_id)
    }
}
