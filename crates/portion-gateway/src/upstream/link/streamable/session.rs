//! What a server has said of the session, and what each request to it therefore carries.

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::outbound_message::OutboundMessage;

/// The field with the session.
pub(super) const SESSION_ID_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
/// The field with the revision.
const PROTOCOL_VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// A session; revisions from 2026-07-28 on have none, and servers before need not have any.
#[derive(Clone, Default)]
pub(super) struct UpstreamSession {
    /// Its name, where the server gave it one.
    pub(super) id: Option<HeaderValue>,
    /// The revision that was settled on, or the last that a request named.
    version: Option<HeaderValue>,
    /// A request has named its revision since the session began: there are no sessions then.
    is_stateless: bool,
    /// What began it, for beginning it anew.
    pub(super) initialize_message: Option<Bytes>,
    /// What said that it has begun.
    pub(super) initialized_message: Option<Bytes>,
    /// Counts the sessions.
    pub(super) generation: u64,
}

impl UpstreamSession {
    /// The client begins one.
    pub(super) fn begin(&mut self, hello: Bytes) {
        *self = Self { initialize_message: Some(hello), generation: self.generation + 1, ..Self::default() };
    }

    /// The revision is settled.
    pub(super) fn set_negotiated_version(&mut self, version: &str) {
        self.version = HeaderValue::from_str(version).ok();
    }

    /// Whether the client speaks a revision without sessions.
    pub(super) fn is_stateless(&self) -> bool {
        self.is_stateless
    }

    /// What requests carry that are no message.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut fields = HeaderMap::new();
        fields.extend(self.id.clone().map(|id| (SESSION_ID_HEADER, id)));
        fields.extend(self.version.clone().map(|version| (PROTOCOL_VERSION_HEADER, version)));
        fields
    }

    /// What a message carries. One that says itself of which revision it is belongs to no session.
    pub(super) fn headers_for(&mut self, letter: &OutboundMessage) -> HeaderMap {
        let Some(version) = &letter.declared_version else { return self.headers() };
        self.version = Some(version.clone());
        self.is_stateless = true;
        let mut fields = letter.mirrored_headers.clone();
        fields.insert(PROTOCOL_VERSION_HEADER, version.clone());
        fields
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::{OutboundMessage, UpstreamSession};
    use crate::mcp::request_headers::RequestHeaders;
    use crate::upstream::link::in_flight::InFlight;

    /// `expect`: session, revision and method.
    fn check(session: &mut UpstreamSession, message: &'static str, expect: [Option<&str>; 3]) {
        let letter =
            OutboundMessage::parse(&message.into(), &RequestHeaders::default(), &InFlight::default());
        let fields = session.headers_for(&letter);
        let field = |name: &str| fields.get(name).map(|value| value.to_str().expect("ASCII"));
        let found = [field("mcp-session-id"), field("mcp-protocol-version"), field("mcp-method")];
        assert_eq!(found, expect, "{message}");
    }

    #[test]
    fn a_message_carries_its_own_revision_or_the_sessions() {
        let modern = r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let legacy = r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;
        let mut session = UpstreamSession::default();
        check(&mut session, legacy, [None, None, None]);
        check(&mut session, modern, [None, Some("2026-07-28"), Some("x")]);
        check(&mut session, legacy, [None, Some("2026-07-28"), None]);
        session.begin("{}".into());
        check(&mut session, legacy, [None, None, None]);
        session.id = Some(HeaderValue::from_static("s"));
        session.set_negotiated_version("2025-06-18");
        check(&mut session, legacy, [Some("s"), Some("2025-06-18"), None]);
        check(&mut session, modern, [None, Some("2026-07-28"), Some("x")]);
    }
}
