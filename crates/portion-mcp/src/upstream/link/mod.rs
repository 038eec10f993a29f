//! Message links to servers, independent of the transport.
//!
//! Messages to the server go into the [`Outbox`] of a [`Link`], messages from the server come out of its [`Inbox`], in
//! order. The transport is the pipes of a process (`child`) or HTTP.
//!
//! - `remote`: a server over HTTP; detects its transport, and answers pings while a person logs in
//! - `streamable`: streamable HTTP, of any revision; `sse`: HTTP with server-sent events, of 2024-11-05
//! - `message`: messages and pending requests, shared by both

mod message;
pub mod remote;
pub mod sse;
mod streamable;

mod child;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::frame::Frame;
use crate::upstream::stderr::StderrLines;
use crate::upstream::stdio::ServerFailure;
pub use child::ChildConnector;
pub(crate) use message::with_missing_id;

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
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.message, self.stderr)
    }
}

impl From<&ServerFailure> for CloseReason {
    fn from(failure: &ServerFailure) -> Self {
        Self { message: failure.sentence(), stderr: failure.stderr().clone() }
    }
}
