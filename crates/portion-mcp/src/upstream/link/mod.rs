//! Message links to servers, independent of the transport.
//!
//! Messages to the server go into the [`Outbox`] of a [`Link`], messages from the server come out of its [`Inbox`], in
//! order. The transport is the pipes of a process (`child`) or HTTP.
//!
//! - `remote`: a server over HTTP; detects its transport, and answers pings while a person logs in
//! - `streamable`: streamable HTTP, of any revision; `sse`: HTTP with server-sent events, of 2024-11-05

mod child;
pub mod remote;
mod sse;
mod streamable;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use memchr::memmem;
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::StderrLines;
use crate::frame::{Frame, replace_line_breaks};
use crate::mcp::envelope::INTERNAL_ERROR;
use crate::mcp::{MessageView, ParsedBatch, RequestIdMap};
use crate::once::{OneShotFlag, wait_until};
use crate::upstream::stdio::ServerFailure;
pub use child::ChildConnector;

/// Messages queued on a link in each direction; a sender waits while the queue is full.
const CHANNEL_CAPACITY: usize = 64;

/// Link to a server.
#[derive(Debug)]
pub struct Link {
    /// Messages to the server.
    pub outbox: Outbox,
    /// Messages from the server.
    pub inbox: Inbox,
}

/// Sends messages to the server. The link is closed once the last clone has been dropped.
#[derive(Clone, Debug)]
pub struct Outbox(mpsc::Sender<Vec<u8>>);

/// Receives messages of the server. The link is closed once it has been dropped.
#[derive(Debug)]
pub struct Inbox(mpsc::Receiver<LinkEvent>);

/// Event of an [`Inbox`].
#[derive(Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// A frame of the server.
    Frame(Frame),
    /// The link was closed, for this reason; no event follows.
    Closed(CloseReason),
}

/// The ends of the channels that the transport holds.
#[derive(Debug)]
pub struct LinkTransport {
    /// Messages to be sent to the server.
    pub outgoing: mpsc::Receiver<Vec<u8>>,
    /// Events from the server. Sending fails once the inbox has been dropped.
    pub incoming: mpsc::Sender<LinkEvent>,
}

/// The link is closed.
#[derive(Debug, Error)]
#[error("the server has ended")]
pub struct LinkClosed;

/// Reason that a link could not be established, and what to fix.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

/// Future of a link.
pub type ConnectFuture<'a> = Pin<Box<dyn Future<Output = Result<Link, ConnectError>> + Send + 'a>>;

/// Connects to one server.
pub trait Connector: Send + Sync {
    /// Establishes a new link.
    fn connect(&self) -> ConnectFuture<'_>;
}

impl Link {
    /// Creates a link and the ends for its transport.
    pub fn new() -> (Self, LinkTransport) {
        let (outbox, outgoing) = mpsc::channel(CHANNEL_CAPACITY);
        let (incoming, inbox) = mpsc::channel(CHANNEL_CAPACITY);
        (Self { outbox: Outbox(outbox), inbox: Inbox(inbox) }, LinkTransport { outgoing, incoming })
    }
}

impl Outbox {
    /// Sends a message, which has no newline at its end; waits while the queue is full.
    ///
    /// # Errors
    /// Returns [`LinkClosed`] if the link is closed.
    pub async fn send(&self, message: Vec<u8>) -> Result<(), LinkClosed> {
        self.0.send(message).await.map_err(|_| LinkClosed)
    }

    /// Sends a message like [`Self::send`], from a thread that runs no tasks.
    ///
    /// # Errors
    /// Returns [`LinkClosed`] if the link is closed.
    pub fn blocking_send(&self, message: Vec<u8>) -> Result<(), LinkClosed> {
        self.0.blocking_send(message).map_err(|_| LinkClosed)
    }
}

impl Inbox {
    /// Returns the next event of the server; `None` after [`LinkEvent::Closed`].
    pub async fn next(&mut self) -> Option<LinkEvent> {
        self.0.recv().await
    }

    /// Waits at most `limit` until the link is closed, and drops its last events.
    pub(crate) async fn wait_closed(mut self, limit: Duration) {
        let _ = timeout(limit, async { while self.next().await.is_some() {} }).await;
    }
}

/// Reason that a link was closed. Displays as the message and the last lines of the server's stderr.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}{stderr}")]
pub struct CloseReason {
    message: String,
    stderr: StderrLines,
}

impl CloseReason {
    /// Creates a reason without lines of stderr.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), stderr: StderrLines::default() }
    }

    /// Returns the reason without the lines of stderr, for callers whose own stderr has a copy of them.
    #[must_use]
    pub fn without_stderr(self) -> Self {
        Self::new(self.message)
    }
}

impl From<&ServerFailure> for CloseReason {
    fn from(failure: &ServerFailure) -> Self {
        Self { message: failure.sentence(), stderr: failure.stderr.clone() }
    }
}

/// Puts a message on one line. JSON has raw line breaks only between tokens, where a space means the same.
fn to_single_line(mut message: Vec<u8>) -> Vec<u8> {
    while matches!(message.last(), Some(b'\n' | b'\r')) {
        message.pop();
    }
    replace_line_breaks(&mut message);
    message
}

/// Returns a response with its id replaced by `raw_id`.
fn with_response_id(text: &str, response: &MessageView<'_>, raw_id: &str) -> Vec<u8> {
    let object_start = response.span().start as usize + 1;
    let (start, end, id) = response.id_span().map_or_else(
        || (object_start, object_start, format!("\"id\":{raw_id},")),
        |span| (span.start as usize, span.end as usize, raw_id.to_owned()),
    );
    [&text[..start], &id, &text[end..]].concat().into_bytes()
}

/// Adds the id of the only pending request to an error without an id. Other frames stay as they are.
pub(crate) fn with_missing_id(frame: Frame, pending_id: impl FnOnce() -> Option<String>) -> Frame {
    let Frame::Message(bytes) = &frame else { return frame };
    // Saves the parsing of large results.
    if memmem::find(bytes, b"\"error\"").is_none() {
        return frame;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return frame };
    let Ok(batch) = ParsedBatch::parse(text) else { return frame };
    match batch.error_without_id().and_then(|error| Some((error, pending_id()?))) {
        Some((error, id)) => Frame::Message(with_response_id(text, error, &id)),
        None => frame,
    }
}

/// Returns the error response to a failed request.
fn failure_message(raw_id: &str, error: &dyn fmt::Display) -> Vec<u8> {
    crate::mcp::envelope::json_rpc_error(raw_id, INTERNAL_ERROR, &error.to_string()).into_bytes()
}

/// Pending requests by id.
#[derive(Default)]
struct InFlight {
    requests: Mutex<RequestIdMap<InFlightRequest>>,
    /// Notified whenever a request completes.
    completed: Notify,
}

/// A pending request.
pub(super) struct InFlightRequest {
    raw_id: String,
    /// True since 2026-07-28: closing its stream cancels the request.
    pub(super) is_stateless: bool,
    /// True for a subscription, which has no response.
    is_subscription: bool,
    /// Set when the response is not wanted any more.
    pub(super) cancelled: Arc<OneShotFlag>,
}

impl InFlight {
    /// Adds a request.
    fn register(&self, request: &MessageView<'_>, cancelled: &Arc<OneShotFlag>) {
        let entry = InFlightRequest {
            raw_id: request.id().to_owned(),
            is_stateless: request.protocol_version().is_some(),
            is_subscription: request.method() == "subscriptions/listen",
            cancelled: Arc::clone(cancelled),
        };
        self.requests.lock().insert(request.id(), entry);
    }

    /// Removes a request that was answered or is abandoned. The caller must answer it; `None` if it is not pending.
    fn complete(&self, raw_id: &str) -> Option<InFlightRequest> {
        let request = self.requests.lock().take(raw_id);
        self.completed.notify_waiters();
        request
    }

    /// Returns true if the request is pending.
    fn contains(&self, raw_id: &str) -> bool {
        self.requests.lock().contains(raw_id)
    }

    /// Returns the id of the pending request if there is exactly one.
    fn only_id(&self) -> Option<String> {
        let requests = self.requests.lock();
        let mut pending = requests.values();
        pending.next().filter(|_| pending.next().is_none()).map(|request| request.raw_id.clone())
    }

    /// Waits until all requests except subscriptions have completed.
    async fn wait_until_complete(&self) {
        let is_complete = || self.requests.lock().values().all(|request| request.is_subscription);
        wait_until(&self.completed, is_complete).await;
    }
}

#[cfg(test)]
mod tests {
    use super::{to_single_line, with_missing_id, with_response_id};
    use crate::frame::Frame;
    use crate::mcp::ParsedBatch;

    #[test]
    fn line_breaks_become_spaces() {
        assert_eq!(to_single_line(b"{\r\n \"a\": \"\\n\"\n}\n".to_vec()), b"{   \"a\": \"\\n\" }");
    }

    #[test]
    fn a_response_gets_the_id_of_its_request() {
        let check = |text: &str, expect: &str| {
            let batch = ParsedBatch::parse(text).expect("an answer");
            let response = with_response_id(text, &batch.messages[0], "\"é\"");
            assert_eq!(String::from_utf8_lossy(&response), expect);
        };
        check(r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, r#"{"jsonrpc":"2.0","id":"é","error":{}}"#);
        check(r#" {"jsonrpc":"2.0","error":{}}"#, r#" {"id":"é","jsonrpc":"2.0","error":{}}"#);
    }

    #[test]
    fn only_an_error_without_an_id_gets_one() {
        let check = |text: &str, pending: Option<&str>, expect: &str| {
            let frame = with_missing_id(Frame::Message(text.into()), || pending.map(str::to_owned));
            assert_eq!(frame, Frame::Message(expect.into()));
        };
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{}}"#;
        check(error, Some("7"), r#"{"jsonrpc":"2.0","id":7,"error":{}}"#);
        check(r#"{"jsonrpc":"2.0","error":{}}"#, Some("7"), r#"{"id":7,"jsonrpc":"2.0","error":{}}"#);
        for (text, pending) in [
            (error, None),
            (r#"{"jsonrpc":"2.0","id":8,"error":{}}"#, Some("7")),
            (r#"{"jsonrpc":"2.0","id":null,"result":{"error":1}}"#, Some("7")),
            (r#"[{"jsonrpc":"2.0","id":null,"error":{}}]"#, Some("7")),
            (r#"{"jsonrpc":"2.0","method":"error"}"#, Some("7")),
        ] {
            check(text, pending, text);
        }
    }
}
