//! State of the session with a server, and the headers that follow for each request.
//!
//! A session that the server has ended is replaced. A client on stdio has no notion of sessions and would have to be
//! restarted. So its `initialize` is sent again, and the response is not forwarded to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::{sleep, timeout};

use super::{PostOutcome, ServerHandle};
use crate::mcp::request_headers::RequestHeaders;
use crate::mcp::{MessageKind, MessageView, ParsedBatch};
use crate::once::OneShotFlag;
use crate::upstream::http::{RequestError, ResponseContent, ResumePoint, StreamItem};
use crate::upstream::link::InFlight;

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
    pub(super) is_stateless: bool,
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
            let mut session = self.session.lock();
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
                    StreamItem::Event(event) if negotiated_version(&event.data).is_some() => {
                        break event.data;
                    }
                    StreamItem::Event(_) | StreamItem::TooLarge(_) => {}
                }
            },
            PostOutcome::Content(_) => return Err(ended()),
            PostOutcome::SessionLost(_, trouble) => return Err(trouble),
        };
        let version = negotiated_version(&response).ok_or_else(ended)?;
        self.session.lock().set_negotiated_version(&version);
        if let Some(initialized) = initialized {
            self.post(&OutboundMessage { bytes: initialized.clone(), ..OutboundMessage::default() }).await?;
            self.session.lock().initialized_message = Some(initialized);
            open_listening_stream(self).await;
        }
        Ok(true)
    }
}

/// Returns the revision in a response to `initialize`.
fn negotiated_version(response: &[u8]) -> Option<String> {
    let is_response = |message: &&MessageView<'_>| message.kind() == MessageKind::Response;
    ParsedBatch::read(response, |batch| batch.messages.iter().find(is_response)?.negotiated_version())
        .flatten()
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
        self.mirrored_headers.extend(request_headers.header_fields(message));
    }
}

/// Longest delay of the next message until the stream is open: messages that the server sends before would be lost.
const OPEN_TIMEOUT: Duration = Duration::from_millis(300);
/// Backoff after short streams with messages, and after short streams without.
const ACTIVE_BACKOFF: BackoffPolicy = BackoffPolicy::with_max_delay(Duration::from_secs(1));
const EMPTY_BACKOFF: BackoffPolicy =
    BackoffPolicy { initial_delay: Duration::from_secs(1), max_delay: Duration::from_secs(30) };

/// Opens the stream in a task of its own; returns as soon as the server has responded.
pub(super) async fn open_listening_stream(server: &Arc<ServerHandle>) {
    let opened = Arc::new(OneShotFlag::default());
    server.spawn(keep_listening(Arc::clone(server), Arc::clone(&opened)));
    let _ = timeout(OPEN_TIMEOUT, opened.wait()).await;
}

/// Reopens the stream until the session has ended or the server rejects it.
async fn keep_listening(server: Arc<ServerHandle>, opened: Arc<OneShotFlag>) {
    let generation = server.session.lock().generation;
    let mut resume = ResumePoint::default();
    let mut backoff = Backoff::default();
    while server.session.lock().generation == generation {
        let started = Instant::now();
        let outcome = server.open_stream(resume.clone()).await;
        opened.set();
        let mut policy = EMPTY_BACKOFF;
        match outcome {
            Ok(mut stream) => {
                while let Some(item) = stream.next().await {
                    policy = ACTIVE_BACKOFF;
                    let forwarded = match item {
                        StreamItem::Event(event) if event.event_type() == b"message" => {
                            server.receive(event.data, None).await
                        }
                        StreamItem::Event(_) => Ok(()),
                        StreamItem::TooLarge(bytes) => {
                            tracing::warn!(bytes, "dropped an oversized server message");
                            Ok(())
                        }
                    };
                    if forwarded.is_err() {
                        return;
                    }
                }
                resume = stream.resume_point;
            }
            Err(trouble) if trouble.is_transient() => {
                tracing::debug!(%trouble, "the listening stream failed; it is reopened");
            }
            Err(trouble) => {
                tracing::debug!(%trouble, "the server has no listening stream");
                return;
            }
        }
        sleep(backoff.next_delay(started.elapsed(), resume.retry_delay, policy)).await;
    }
}

/// Lower bound of the delay, whatever the server asks for.
const MIN_DELAY: Duration = Duration::from_millis(100);
/// Delay if the server does not set one.
const DEFAULT_DELAY: Duration = Duration::from_secs(1);
/// A stream shorter than this counts as ended at once.
const SHORT_STREAM: Duration = Duration::from_secs(1);

/// Growth of the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BackoffPolicy {
    /// Delay after the first stream that ended at once; it doubles with each further such stream.
    pub(super) initial_delay: Duration,
    pub(super) max_delay: Duration,
}

/// Counts the streams in a row that ended at once.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    short_stream_count: u32,
}

impl BackoffPolicy {
    /// Policy for streams that carry messages, or whose response a client awaits.
    pub(super) const fn with_max_delay(max_delay: Duration) -> Self {
        Self { initial_delay: MIN_DELAY, max_delay }
    }
}

impl Backoff {
    /// Returns the delay after a stream that lasted for `lasted`. `retry` is the delay that the server asked for.
    pub(super) fn next_delay(
        &mut self,
        lasted: Duration,
        retry: Option<Duration>,
        policy: BackoffPolicy,
    ) -> Duration {
        let requested = retry.unwrap_or(DEFAULT_DELAY).max(MIN_DELAY);
        if lasted >= SHORT_STREAM {
            self.short_stream_count = 0;
            return requested;
        }
        let doubled = policy.initial_delay.saturating_mul(2_u32.saturating_pow(self.short_stream_count));
        self.short_stream_count = self.short_stream_count.saturating_add(1);
        requested.max(doubled.min(policy.max_delay))
    }
}

#[cfg(test)]
mod backoff_tests {
    use std::time::Duration;

    use super::{Backoff, BackoffPolicy, MIN_DELAY};

    const SHORT: Duration = Duration::ZERO;
    const LONG: Duration = Duration::from_mins(1);

    fn check(lasted: &[Duration], retry: Option<u64>, policy: BackoffPolicy, expect: &[u64]) {
        let mut backoff = Backoff::default();
        let waited =
            lasted.iter().map(|lasted| backoff.next_delay(*lasted, retry.map(Duration::from_millis), policy));
        let waited: Vec<u128> = waited.map(|wait| wait.as_millis()).collect();
        assert_eq!(waited, expect.iter().map(|wait| u128::from(*wait)).collect::<Vec<_>>(), "{retry:?}");
    }

    #[test]
    fn the_delay_of_the_server_counts_above_the_floor() {
        let policy = BackoffPolicy::with_max_delay(Duration::from_secs(5));
        check(&[LONG; 3], None, policy, &[1000; 3]);
        check(&[LONG; 3], Some(0), policy, &[100; 3]);
        check(&[LONG; 3], Some(90_000), policy, &[90_000; 3]);
        check(&[SHORT], Some(500), policy, &[500]);
        check(&[SHORT], Some(0), policy, &[100]);
    }

    #[test]
    fn the_delay_doubles_for_streams_that_end_at_once() {
        let policy = BackoffPolicy::with_max_delay(Duration::from_secs(5));
        check(&[SHORT; 8], Some(0), policy, &[100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        check(&[SHORT, SHORT, LONG, SHORT], Some(0), policy, &[100, 200, 100, 100]);
        let slow =
            BackoffPolicy { initial_delay: Duration::from_secs(1), max_delay: Duration::from_secs(30) };
        check(&[SHORT; 7], Some(250), slow, &[1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        check(&[SHORT; 2], Some(90_000), slow, &[90_000; 2]);
        let mut backoff = Backoff::default();
        for _ in 0..10_000 {
            let wait = backoff.next_delay(SHORT, Some(Duration::ZERO), slow);
            assert!(wait >= MIN_DELAY && wait <= slow.max_delay);
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::{OutboundMessage, UpstreamSession};
    use crate::mcp::request_headers::RequestHeaders;
    use crate::upstream::link::InFlight;

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
