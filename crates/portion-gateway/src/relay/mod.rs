//! The loop between a client on our stdio and a server: our child, or one behind a link.
//!
//! With a child, each direction is one thread that reads a message, asks the lane what to make of it and writes the
//! outcome itself: nobody else has to wake up for a message, and a pipe that is full stops only its own
//! direction. What happens when one of them leaves is in `session`. With a link it is the same, but that the link carries
//! what the server says and hears: `linked`.
//!
//! Must be absent here: any idea of what a message means. That is the lane's.

mod child_relay;
mod gate;
mod late_requests;
mod link_relay;
mod message_writer;
mod pump;
mod shutdown_deadline;
mod unavailable;

use std::fmt::Display;
use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;

use crate::frame::Frame;
use crate::front::stdio::StdioFront;
use crate::upstream::link::Link;
use crate::upstream::stdio::Child;
pub use shutdown_deadline::ShutdownDeadline;

/// What is made of each message.
///
/// A direction calls for one message at a time, in order, and writes what it got before it calls again;
/// the two directions call at the same time. A pause in a call is a pause of its direction, but for what
/// [takes long](Self::is_deferred).
#[allow(clippy::wrong_self_convention, reason = "from whom a message comes, not a conversion")]
pub trait MessageProcessor: Send + Sync {
    /// A message from the client. Returns what to send, in order.
    fn process_client_frame(&self, frame: Frame) -> impl Future<Output = Vec<OutgoingMessage>> + Send;

    /// Whether a message from the client is answered here, and not at once: then those after it do not wait for that, and
    /// what `from_client` makes of it may be sent after what it makes of them.
    ///
    /// Called at most once for each message, in order: of one that takes long, a later message may be about it.
    fn is_deferred(&self, _: &Frame) -> bool {
        false
    }

    /// What is made of a message from the client that takes long.
    fn process_deferred(&self, frame: Frame) -> impl Future<Output = Vec<OutgoingMessage>> + Send {
        self.process_client_frame(frame)
    }

    /// What is made of one where too many that take long wait already.
    fn reject_overload(&self, _: &Frame) -> Vec<OutgoingMessage> {
        Vec::new()
    }

    /// A message from the server. Returns what to send, in order.
    fn process_server_frame(&self, frame: Frame) -> impl Future<Output = Vec<OutgoingMessage>> + Send;

    /// Waits until the server has been silent about a request for too long. Returns what to send. Nothing is lost where it is
    /// not waited for to the end.
    fn next_timeout(&self) -> impl Future<Output = Vec<OutgoingMessage>> + Send {
        std::future::pending()
    }

    /// The server is gone: one answer for every pending request. The first line of `how` is a sentence; further lines are
    /// what the server wrote last. Called again for requests that come later.
    fn on_server_gone(&self, how: &dyn Display) -> Vec<OutgoingMessage>;

    /// There is no server: one answer for every pending request, none of which has come to it.
    fn on_server_unreachable(&self, why: &dyn Display) -> Vec<OutgoingMessage> {
        self.on_server_gone(why)
    }

    /// How many of the client's requests still wait for the server.
    fn pending_count(&self) -> usize;

    /// Whether a message of the client is held back until the server has said something: then the
    /// server's input stays open after the client's has ended.
    fn has_held_messages(&self) -> bool {
        false
    }
}

/// A message to send, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub enum OutgoingMessage {
    /// To the one who calls us.
    ToClient(Vec<u8>),
    /// To the one whom we call.
    ToServer(Vec<u8>),
    /// To the one whom we call, a request of the lane's own: the answer is for nobody but the lane.
    InternalRequest(Vec<u8>),
}

/// How a relay ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayOutcome {
    /// The code to leave with: the server's own (128 + n if a signal ended it), 0 if it had to be ended after the
    /// client had left, 128 + n after our own signal n.
    pub code: u8,
    /// The sentence to tell the user where the server left before the client did, or left a request without its answer.
    pub failure: Option<String>,
}

impl From<RelayOutcome> for ExitCode {
    fn from(exit: RelayOutcome) -> Self {
        Self::from(exit.code)
    }
}

/// Answers a client whose server could not be started, until it leaves or has been told. `why` begins with a sentence.
/// The code to leave with is 1, or 128 + n after our own signal n.
///
/// # Panics
/// As [`relay`].
pub async fn serve_unavailable<L: MessageProcessor + 'static>(
    lane: Arc<L>,
    why: String,
    front: StdioFront,
) -> RelayOutcome {
    unavailable::run(lane, why, front).await
}

/// Relays until the client, the server or a signal ends it. Nothing of the child's group is left then; a
/// thread may be, asleep in a `read` of our stdin, so leave `main` soon.
///
/// # Panics
/// Outside of a tokio runtime with IO and time enabled (`enable_all`), and where the system has no more threads.
pub async fn relay<L: MessageProcessor + 'static>(
    lane: Arc<L>,
    child: Child,
    front: StdioFront,
) -> RelayOutcome {
    child_relay::run(lane, child, front).await
}

/// The same with a server behind a link; `carried` ends when the link has. The code to leave with is 0 when the client
/// has left, 1 when the server has, 128 + n after our own signal n.
///
/// # Panics
/// As [`relay`].
pub async fn relay_link<L: MessageProcessor + 'static>(
    lane: Arc<L>,
    link: Link,
    carried: tokio::task::JoinHandle<()>,
    front: StdioFront,
) -> RelayOutcome {
    link_relay::run(lane, link, carried, front).await
}
