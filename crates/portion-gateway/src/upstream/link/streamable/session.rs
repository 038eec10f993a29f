//! What a server has said of the session, and what each request to it therefore carries.

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::letter::Letter;

/// The field with the session.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The field with the revision.
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// A session; revisions from 2026-07-28 on have none, and servers before need not have any.
#[derive(Clone, Default)]
pub(super) struct Session {
    /// Its name, where the server gave it one.
    pub(super) id: Option<HeaderValue>,
    /// The revision that was settled on, or the last that a request named.
    version: Option<HeaderValue>,
    /// A request has named its revision since the session began: there are no sessions then.
    modern: bool,
    /// What began it, for beginning it anew.
    pub(super) hello: Option<Bytes>,
    /// What said that it has begun.
    pub(super) begun: Option<Bytes>,
    /// Counts the sessions.
    pub(super) number: u64,
}

impl Session {
    /// The client begins one.
    pub(super) fn begin(&mut self, hello: Bytes) {
        *self = Self { hello: Some(hello), number: self.number + 1, ..Self::default() };
    }

    /// The revision is settled.
    pub(super) fn settle(&mut self, version: &str) {
        self.version = HeaderValue::from_str(version).ok();
    }

    /// Whether the client speaks a revision without sessions.
    pub(super) fn is_modern(&self) -> bool {
        self.modern
    }

    /// What requests carry that are no message.
    pub(super) fn fields(&self) -> HeaderMap {
        let mut fields = HeaderMap::new();
        fields.extend(self.id.clone().map(|id| (SESSION, id)));
        fields.extend(self.version.clone().map(|version| (VERSION, version)));
        fields
    }

    /// What a message carries. One that says itself of which revision it is belongs to no session.
    pub(super) fn fields_of(&mut self, letter: &Letter) -> HeaderMap {
        let Some(version) = &letter.version else { return self.fields() };
        self.version = Some(version.clone());
        self.modern = true;
        let mut fields = letter.repeated.clone();
        fields.insert(VERSION, version.clone());
        fields
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::{Letter, Session};
    use crate::mcp::mirror::Mirror;
    use crate::upstream::link::flights::Flights;

    /// `expect`: session, revision and method.
    fn check(session: &mut Session, message: &'static str, expect: [Option<&str>; 3]) {
        let letter = Letter::read(&message.into(), &Mirror::default(), &Flights::default());
        let fields = session.fields_of(&letter);
        let field = |name: &str| fields.get(name).map(|value| value.to_str().expect("ASCII"));
        let found = [field("mcp-session-id"), field("mcp-protocol-version"), field("mcp-method")];
        assert_eq!(found, expect, "{message}");
    }

    #[test]
    fn a_message_carries_its_own_revision_or_the_sessions() {
        let modern = r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let legacy = r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;
        let mut session = Session::default();
        check(&mut session, legacy, [None, None, None]);
        check(&mut session, modern, [None, Some("2026-07-28"), Some("x")]);
        check(&mut session, legacy, [None, Some("2026-07-28"), None]);
        session.begin("{}".into());
        check(&mut session, legacy, [None, None, None]);
        session.id = Some(HeaderValue::from_static("s"));
        session.settle("2025-06-18");
        check(&mut session, legacy, [Some("s"), Some("2025-06-18"), None]);
        check(&mut session, modern, [None, Some("2026-07-28"), Some("x")]);
    }
}
