//! A server as messages each way, whatever carries them.
//!
//! Both ends of a [`Link`] are held by tasks: what is said to the server goes into its [`Outbox`], what the server says
//! comes out of its [`Inbox`], in order. What carries them is a process's pipes (`child`) or HTTP.
//!
//! - `remote`: a server over HTTP, whichever way it speaks
//! - `streamable`: streamable HTTP, of any revision; `sse`: HTTP with server-sent events, as 2024-11-05 had it
//! - `flights`, `message`: what both have in common

mod in_flight;
mod message;
pub mod remote;
pub mod sse;
mod streamable;

mod child;

use std::future::Future;
use std::pin::Pin;

use thiserror::Error;
use tokio::sync::mpsc;

use crate::frame::Frame;
pub use child::ChildConnector;
pub(crate) use message::with_response_id;

/// Messages that may wait on a link, each way. Whoever is faster than the other end waits.
const CHANNEL_CAPACITY: usize = 64;

/// A connection to a server.
#[derive(Debug)]
pub struct Link {
    /// To the server.
    pub outbox: Outbox,
    /// From the server.
    pub inbox: Inbox,
}

/// Takes messages for the server. Once the last clone has been dropped, the server is asked to leave.
#[derive(Clone, Debug)]
pub struct Outbox(mpsc::Sender<Vec<u8>>);

/// What the server says. Once it has been dropped, nobody listens and the link ends.
#[derive(Debug)]
pub struct Inbox(mpsc::Receiver<LinkEvent>);

/// What comes out of an [`Inbox`].
#[derive(Debug, PartialEq, Eq)]
pub enum LinkEvent {
    /// The server says something.
    Frame(Frame),
    /// The server is gone, for this reason; nothing follows.
    Closed(String),
}

/// The ends that whoever carries the messages holds.
#[derive(Debug)]
pub struct LinkTransport {
    /// What is to be carried to the server.
    pub outgoing: mpsc::Receiver<Vec<u8>>,
    /// What it said. An error means that nobody listens any more.
    pub incoming: mpsc::Sender<LinkEvent>,
}

/// The link is no more.
#[derive(Debug, Error)]
#[error("the server is gone")]
pub struct LinkClosed;

/// Why there is no link, and what to mend.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ConnectError(pub String);

/// A link to come.
pub type ConnectFuture<'a> = Pin<Box<dyn Future<Output = Result<Link, ConnectError>> + Send + 'a>>;

/// Makes links to one server.
pub trait Connector: Send + Sync {
    /// A fresh link.
    fn connect(&self) -> ConnectFuture<'_>;
}

impl Link {
    /// A link, and what its carrier holds.
    pub fn new() -> (Self, LinkTransport) {
        let (outbox, outgoing) = mpsc::channel(CHANNEL_CAPACITY);
        let (incoming, inbox) = mpsc::channel(CHANNEL_CAPACITY);
        (Self { outbox: Outbox(outbox), inbox: Inbox(inbox) }, LinkTransport { outgoing, incoming })
    }
}

impl Outbox {
    /// Hands over a message, without its newline; waits where too many wait already.
    ///
    /// # Errors
    /// [`LinkClosed`] where the link is no more.
    pub async fn send(&self, message: Vec<u8>) -> Result<(), LinkClosed> {
        self.0.send(message).await.map_err(|_| LinkClosed)
    }
}

impl Inbox {
    /// What the server says next; `None` after [`LinkEvent::Closed`].
    pub async fn next(&mut self) -> Option<LinkEvent> {
        self.0.recv().await
    }
}
