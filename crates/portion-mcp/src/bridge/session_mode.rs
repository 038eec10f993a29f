//! Determines from the revision of a request if it belongs to a session; limits of a bridge, and requests to end a session or a link.

use std::time::Duration;

use hyper::HeaderMap;
use portion_text::display::shortened;

use super::{bad_request, header_value};
use crate::front::http::http_error::HttpResult;
use crate::mcp::ParsedBatch;

/// Header with the protocol revision.
pub(super) const PROTOCOL_VERSION_HEADER: &str = "mcp-protocol-version";
/// Year of the first revision without sessions.
const STATELESS_SINCE: &str = "2026";

/// Revisions with sessions.
const STATEFUL_REVISIONS: [&str; 5] = ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Use of sessions by a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionMode {
    /// `initialize` begins a session (2024-11-05 to 2025-11-25).
    Stateful,
    /// Each post is independent (since 2026-07-28).
    Stateless,
}

/// Returns the mode of a request without a body.
///
/// # Errors
/// Returns an error if the header is not a revision.
pub(super) fn from_headers(headers: &HeaderMap) -> HttpResult<SessionMode> {
    let Some(version) = headers.get(PROTOCOL_VERSION_HEADER) else { return Ok(SessionMode::Stateful) };
    let Some(version) = version.to_str().ok().filter(|version| is_revision(version)) else {
        let version = String::from_utf8_lossy(version.as_bytes());
        let version = shortened(&version);
        return Err(bad_request(format!(
            "`{version}` in MCP-Protocol-Version is not a revision of MCP; send a revision such as 2025-11-25"
        )));
    };
    Ok(if version < STATELESS_SINCE { SessionMode::Stateful } else { SessionMode::Stateless })
}

/// Returns the mode of a post.
///
/// # Errors
/// Returns an error if the header is not a revision.
pub(super) fn from_post(headers: &HeaderMap, batch: &ParsedBatch<'_>) -> HttpResult<SessionMode> {
    if batch.messages.iter().any(|message| message.protocol_version().is_some()) {
        return Ok(SessionMode::Stateless);
    }
    // The revision of a new session is not negotiated before the response to `initialize`.
    if batch.requests().any(|message| message.method() == "initialize") {
        return Ok(SessionMode::Stateful);
    }
    from_headers(headers)
}

/// Checks the revision header of a request in a session: it must be a known revision or the negotiated one, which may
/// be any.
///
/// # Errors
/// Returns an error if it is neither, as 2025-06-18 requires.
pub(super) fn check_negotiated_version(headers: &HeaderMap, negotiated: Option<&str>) -> HttpResult<()> {
    let Some(version) = header_value(headers, PROTOCOL_VERSION_HEADER) else { return Ok(()) };
    if STATEFUL_REVISIONS.contains(&version) || negotiated == Some(version) {
        return Ok(());
    }
    let (version, expected) = (shortened(version), shortened(negotiated.unwrap_or("2025-11-25")));
    Err(bad_request(format!(
        "`{version}` in MCP-Protocol-Version is not the revision of this session; send {expected}"
    )))
}

/// Returns true if the client supports events without data, introduced with 2025-11-25.
pub(super) fn supports_priming(headers: &HeaderMap) -> bool {
    header_value(headers, PROTOCOL_VERSION_HEADER).is_some_and(|version| version >= "2025-11-25")
}

/// Returns true for `YYYY-MM-DD`.
fn is_revision(version: &str) -> bool {
    let shape =
        |(i, byte): (usize, u8)| if matches!(i, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    version.len() == 10 && version.bytes().enumerate().all(shape)
}

/// Time for a link to close after its outbox was dropped; then the inbox is dropped as well.
pub(super) const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Limits of a bridge.
#[derive(Clone, Copy, Debug)]
pub struct BridgeLimits {
    /// Concurrent sessions.
    pub max_sessions: usize,
    /// Longest idle time of a session, and of the shared link of clients without sessions.
    pub idle_timeout: Duration,
}

impl Default for BridgeLimits {
    fn default() -> Self {
        Self { max_sessions: 1000, idle_timeout: Duration::from_mins(30) }
    }
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::HeaderValue;

    use super::{SessionMode, check_negotiated_version, from_headers, from_post};
    use crate::mcp::ParsedBatch;

    fn check(header: Option<&'static str>, params: &str, method: &str, expect: Option<SessionMode>) {
        let mut headers = HeaderMap::new();
        if let Some(version) = header {
            headers.insert(super::PROTOCOL_VERSION_HEADER, HeaderValue::from_static(version));
        }
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let batch = ParsedBatch::parse(&text).expect("a message");
        assert_eq!(from_post(&headers, &batch).ok(), expect, "{header:?} {text}");
    }

    #[test]
    fn the_mode_follows_from_the_revision_of_a_request() {
        let is_stateless = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        check(None, "{}", "tools/list", Some(SessionMode::Stateful));
        check(Some("2025-06-18"), "{}", "tools/list", Some(SessionMode::Stateful));
        check(Some("2026-07-28"), "{}", "tools/list", Some(SessionMode::Stateless));
        check(None, is_stateless, "tools/list", Some(SessionMode::Stateless));
        check(Some("2026-07-28"), "{}", "initialize", Some(SessionMode::Stateful));
        check(Some("2026-07-28"), is_stateless, "initialize", Some(SessionMode::Stateless));
        check(Some("latest"), "{}", "tools/list", None);
        check(Some("2025-13"), "{}", "tools/list", None);
    }

    #[test]
    fn errors_repeat_the_beginning_of_a_revision() {
        let long = "x".repeat(50_000);
        let mut headers = HeaderMap::new();
        headers.insert(super::PROTOCOL_VERSION_HEADER, HeaderValue::try_from(&long).expect("a value"));
        let not_negotiated = check_negotiated_version(&headers, Some("y"));
        for error in [from_headers(&headers).err(), not_negotiated.err()] {
            let error = format!("{error:?}");
            assert!(error.contains("xxx…") && error.len() < 500, "{error}");
        }
    }
}
