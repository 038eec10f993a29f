//! A server as messages each way, whatever carries them.
//!
//! Both ends of a [`Link`] are held by tasks: what is said to the server goes into its [`Outbox`], what the server says
//! comes out of its [`Inbox`], in order. What carries them is a process's pipes (`child`) or HTTP.
//!
//! - `remote`: a server over HTTP, whichever way it speaks
//! - `streamable`: streamable HTTP, of any revision; `sse`: HTTP with server-sent events, as 2024-11-05 had it
//! - `flights`, `message`: what both have in common

mod flights;
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
pub use child::ChildDial;
pub(crate) use message::with_id;

/// Messages that may wait on a link, each way. Whoever is faster than the other end waits.
const WAITING: usize = 64;

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
pub struct Inbox(mpsc::Receiver<Said>);

/// What comes out of an [`Inbox`].
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// The server says something.
    Frame(Frame),
    /// The server is gone, for this reason; nothing follows.
    Gone(String),
}

/// The ends that whoever carries the messages holds.
#[derive(Debug)]
pub struct Carrier {
    /// What is to be carried to the server.
    pub outgoing: mpsc::Receiver<Vec<u8>>,
    /// What it said. An error means that nobody listens any more.
    pub incoming: mpsc::Sender<Said>,
}

/// The link is no more.
#[derive(Debug, Error)]
#[error("the server is gone")]
pub struct Closed;

/// Why there is no link, and what to mend.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct NoLink(pub String);

/// A link to come.
pub type Dialling<'a> = Pin<Box<dyn Future<Output = Result<Link, NoLink>> + Send + 'a>>;

/// Makes links to one server.
pub trait Dial: Send + Sync {
    /// A fresh link.
    fn dial(&self) -> Dialling<'_>;
}

impl Link {
    /// A link, and what its carrier holds.
    pub fn new() -> (Self, Carrier) {
        let (outbox, outgoing) = mpsc::channel(WAITING);
        let (incoming, inbox) = mpsc::channel(WAITING);
        (Self { outbox: Outbox(outbox), inbox: Inbox(inbox) }, Carrier { outgoing, incoming })
    }
}

impl Outbox {
    /// Hands over a message, without its newline; waits where too many wait already.
    ///
    /// # Errors
    /// [`Closed`] where the link is no more.
    pub async fn send(&self, message: Vec<u8>) -> Result<(), Closed> {
        self.0.send(message).await.map_err(|_| Closed)
    }
}

impl Inbox {
    /// What the server says next; `None` after [`Said::Gone`].
    pub async fn next(&mut self) -> Option<Said> {
        self.0.recv().await
    }
}
