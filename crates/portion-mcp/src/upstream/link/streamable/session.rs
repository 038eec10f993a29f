//! State of the session with a server, and the headers that follow for each request.
//!
//! A session that the server has ended is replaced. A client on stdio has no notion of sessions and would have to be
//! restarted. So its `initialize` is sent again, and the response is not forwarded to it.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::listening_stream::open_listening_stream;
use super::server_handle::{PostOutcome, ServerHandle};
use crate::mcp::request_headers::RequestHeaders;
use crate::mcp::{MessageKind, MessageView, ParsedBatch};
use crate::once::OneShotFlag;
use crate::upstream::http::{RequestError, ResponseContent, StreamItem};
use crate::upstream::link::message::InFlight;

/// Header with the session id.
pub(super) const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
/// Header with the protocol revision.
const PROTOCOL_VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// A session. There are none since 2026-07-28, and before that they are optional.
#[derive(Clone, Default)]
pub(super) struct UpstreamSession {
    /// Session id, if the server assigned one.
    pub(super) id: Option<HeaderValue>,
    /// Negotiated revision, or the last revision that a request declared.
    version: Option<HeaderValue>,
    /// True if a request has declared its revision since the session began: such revisions have no sessions.
    is_stateless: bool,
    /// `initialize` request of the client, for starting the session again.
    pub(super) initialize_message: Option<Bytes>,
    /// `initialized` notification of the client.
    pub(super) initialized_message: Option<Bytes>,
    /// Number of the session, counted up.
    pub(super) generation: u64,
}

impl UpstreamSession {
    /// Begins a session with this `initialize` request.
    pub(super) fn begin(&mut self, initialize: Bytes) {
        *self =
            Self { initialize_message: Some(initialize), generation: self.generation + 1, ..Self::default() };
    }

    /// Sets the negotiated revision.
    pub(super) fn set_negotiated_version(&mut self, version: &str) {
        self.version = HeaderValue::from_str(version).ok();
    }

    /// Returns true if the client speaks a revision without sessions.
    pub(super) fn is_stateless(&self) -> bool {
        self.is_stateless
    }

    /// Returns the headers of requests without a message.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.extend(self.id.clone().map(|id| (SESSION_ID_HEADER, id)));
        headers.extend(self.version.clone().map(|version| (PROTOCOL_VERSION_HEADER, version)));
        headers
    }

    /// Returns the headers of a message. A message that declares its revision belongs to no session.
    pub(super) fn headers_for(&mut self, outbound: &OutboundMessage) -> HeaderMap {
        let Some(version) = &outbound.declared_version else { return self.headers() };
        self.version = Some(version.clone());
        self.is_stateless = true;
        let mut headers = outbound.mirrored_headers.clone();
        headers.insert(PROTOCOL_VERSION_HEADER, version.clone());
        headers
    }
}

impl ServerHandle {
    /// Starts a new session in place of the one of that generation, unless that was already done. Returns false if the
    /// client has never begun a session.
    ///
    /// # Errors
    /// Returns [`RequestError`] if the server does not start one.
    pub(super) async fn renew_session(self: &Arc<Self>, generation: u64) -> Result<bool, RequestError> {
        let _renewing = self.renewal_lock.lock().await;
        let (initialize, initialized) = {
            let mut session = self.session();
            if session.generation != generation {
                return Ok(true);
            }
            let Some(initialize) = session.initialize_message.clone() else { return Ok(false) };
            let initialized = session.initialized_message.clone();
            session.begin(initialize.clone());
            (initialize, initialized)
        };
        tracing::warn!("the server ended the session; a new one is started");
        let ended = || RequestError::MissingAnswer("before a session was started");
        let response = match self
            .post(&OutboundMessage { bytes: initialize, is_initialize: true, ..OutboundMessage::default() })
            .await?
        {
            PostOutcome::Content(ResponseContent::Json(json)) => json,
            PostOutcome::Content(ResponseContent::Stream(mut stream)) => loop {
                match stream.next().await.ok_or_else(ended)? {
                    StreamItem::Event(event) if negotiated_version(event.data()).is_some() => {
                        break event.into_data();
                    }
                    StreamItem::Event(_) | StreamItem::TooLarge(_) => {}
                }
            },
            PostOutcome::Content(_) => return Err(ended()),
            PostOutcome::SessionLost(_, trouble) => return Err(trouble),
        };
        let version = negotiated_version(&response).ok_or_else(ended)?;
        self.session().set_negotiated_version(&version);
        if let Some(initialized) = initialized {
            self.post(&OutboundMessage { bytes: initialized.clone(), ..OutboundMessage::default() }).await?;
            self.session().initialized_message = Some(initialized);
            open_listening_stream(self).await;
        }
        Ok(true)
    }
}

/// Returns the revision in a response to `initialize`.
fn negotiated_version(response: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(response);
    let batch = ParsedBatch::parse(&text).ok()?;
    batch.messages.iter().find(|message| message.kind() == MessageKind::Response)?.negotiated_version()
}

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

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::{OutboundMessage, UpstreamSession};
    use crate::mcp::request_headers::RequestHeaders;
    use crate::upstream::link::message::InFlight;

    /// Checks the headers of session, revision and method.
    fn check(session: &mut UpstreamSession, message: &'static str, expect: [Option<&str>; 3]) {
        let outbound =
            OutboundMessage::parse(&message.into(), &RequestHeaders::default(), &InFlight::default());
        let headers = session.headers_for(&outbound);
        let field = |name: &str| headers.get(name).map(|value| value.to_str().expect("ASCII"));
        let found = [field("mcp-session-id"), field("mcp-protocol-version"), field("mcp-method")];
        assert_eq!(found, expect, "{message}");
    }

    #[test]
    fn a_message_carries_its_own_revision_or_that_of_the_session() {
        let is_stateless = r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let legacy = r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;
        let mut session = UpstreamSession::default();
        check(&mut session, legacy, [None, None, None]);
        check(&mut session, is_stateless, [None, Some("2026-07-28"), Some("x")]);
        check(&mut session, legacy, [None, Some("2026-07-28"), None]);
        session.begin("{}".into());
        check(&mut session, legacy, [None, None, None]);
        session.id = Some(HeaderValue::from_static("s"));
        session.set_negotiated_version("2025-06-18");
        check(&mut session, legacy, [Some("s"), Some("2025-06-18"), None]);
        check(&mut session, is_stateless, [None, Some("2026-07-28"), Some("x")]);
    }
}
