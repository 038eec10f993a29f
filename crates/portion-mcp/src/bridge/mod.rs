//! Serves HTTP clients in front of a server with a single message stream: a child process, or any other [`Link`].
//!
//! Revisions up to 2025-11-25 have sessions, each with a link of its own (`session`). Since 2026-07-28 there are none:
//! all posts share one link (`stateless`). Each request declares its revision; nothing is negotiated here.
//! The response to a post is JSON or a stream of events (`post_response`).
//!
//! [`Link`]: crate::upstream::link::Link

mod post_response;
mod session;
mod stateless;

use std::pin::Pin;
use std::sync::{Arc, Once, OnceLock};
use std::time::Duration;

use hyper::{HeaderMap, Method, Response};
use portion_text::display::shortened;

use crate::front::http::http_error::{HttpError, accepted, bad_request, header_value, method_not_allowed};
use crate::front::http::{Backend, InboundRequest, RequestBody, ResponseFuture};
use crate::http::body::Body;
use crate::mcp::{McpProcessorFactory, ParsedBatch};
use crate::once::OneShotFlag;
use crate::upstream::link::Connector;
use session::BridgeSessions;
use stateless::StatelessClients;

/// Header with the protocol revision.
const PROTOCOL_VERSION_HEADER: &str = "mcp-protocol-version";
/// Year of the first revision without sessions.
const STATELESS_SINCE: &str = "2026";

/// Revisions with sessions.
const STATEFUL_REVISIONS: [&str; 5] = ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Backend in front of a server with a single message stream.
pub struct Bridge {
    sessions: Arc<BridgeSessions>,
    stateless: Arc<StatelessClients>,
    /// Run when the first client sends a query.
    query_warning: Once,
}

impl Bridge {
    /// Creates a bridge to the server of `connector`. It connects at the first request.
    pub fn new(
        connector: Arc<dyn Connector>,
        processor_factory: McpProcessorFactory,
        limits: BridgeLimits,
    ) -> Self {
        let sessions =
            Arc::new(BridgeSessions::new(Arc::clone(&connector), processor_factory.clone(), limits));
        Self {
            sessions,
            stateless: Arc::new(StatelessClients::new(connector, processor_factory, limits.idle_timeout)),
            query_warning: Once::new(),
        }
    }

    /// Warns once that queries have no effect: the messages of a client are sent without its URL.
    fn warn_of_query(&self) {
        self.query_warning.call_once(|| {
            tracing::warn!(
                "a client's URL has a query, which is not sent to this server; set it in the server's own URL"
            );
        });
    }

    async fn handle_post(&self, request: InboundRequest) -> Result<Response<Body>, HttpError> {
        // `HttpServer` rejects all other posts.
        let RequestBody::Messages(batch) = request.body else {
            return Err(bad_request("the body is not a message"));
        };
        match from_post(&request.headers, &batch.view())? {
            SessionMode::Stateful => {
                self.sessions.handle_post(&request.principal, &request.headers, batch).await
            }
            SessionMode::Stateless => {
                self.stateless.handle_post(&request.principal, &request.headers, batch).await
            }
        }
    }

    fn handle_other(&self, request: InboundRequest) -> Result<Response<Body>, HttpError> {
        match (request.method, from_headers(&request.headers)?) {
            (Method::GET, SessionMode::Stateful) => {
                self.sessions.open_stream(&request.principal, &request.headers)
            }
            (Method::DELETE, SessionMode::Stateful) => {
                self.sessions.end_session(&request.principal, &request.headers)
            }
            (_, SessionMode::Stateful) => Ok(method_not_allowed("GET, POST, DELETE")),
            (_, SessionMode::Stateless) => Ok(method_not_allowed("POST")),
        }
    }
}

impl Backend for Bridge {
    fn handle(&self, request: InboundRequest) -> ResponseFuture<'_> {
        Box::pin(async {
            if request.query.is_some() {
                self.warn_of_query();
            }
            let response = if request.method == Method::POST {
                Box::pin(self.handle_post(request)).await
            } else {
                self.handle_other(request)
            };
            response.unwrap_or_else(Into::into)
        })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            tokio::join!(self.sessions.close(), self.stateless.close());
        })
    }
}

/// Use of sessions by a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionMode {
    /// `initialize` begins a session (2024-11-05 to 2025-11-25).
    Stateful,
    /// Each post is independent (since 2026-07-28).
    Stateless,
}

/// Returns the mode of a request without a body.
///
/// # Errors
/// Returns an error if the header is not a revision.
fn from_headers(headers: &HeaderMap) -> Result<SessionMode, HttpError> {
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
fn from_post(headers: &HeaderMap, batch: &ParsedBatch<'_>) -> Result<SessionMode, HttpError> {
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
fn check_negotiated_version(headers: &HeaderMap, negotiated: Option<&str>) -> Result<(), HttpError> {
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
fn supports_priming(headers: &HeaderMap) -> bool {
    header_value(headers, PROTOCOL_VERSION_HEADER).is_some_and(|version| version >= "2025-11-25")
}

/// Returns true for `YYYY-MM-DD`.
fn is_revision(version: &str) -> bool {
    let shape =
        |(i, byte): (usize, u8)| if matches!(i, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    version.len() == 10 && version.bytes().enumerate().all(shape)
}

/// Time for a link to close after its outbox was dropped; then the inbox is dropped as well.
const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(3);

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

/// A request to end, made once; the first reason counts.
#[derive(Debug, Default)]
struct EndRequest {
    reason: OnceLock<&'static str>,
    is_made: OneShotFlag,
}

impl EndRequest {
    /// Requests the end. `reason` is a sentence that `before it responded` can follow, where "it" is the server.
    fn make(&self, reason: &'static str) {
        let _ = self.reason.set(reason);
        self.is_made.set();
    }

    /// Waits for the request. Returns its reason.
    async fn wait(&self) -> &'static str {
        self.is_made.wait().await;
        // `make` sets the reason before the flag.
        self.reason.get().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod lifetime_tests {
    use super::EndRequest;

    #[tokio::test]
    async fn the_first_reason_counts() {
        let end = EndRequest::default();
        end.make("the session was ended");
        end.make("the gateway is stopping");
        assert_eq!(end.wait().await, "the session was ended");
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
