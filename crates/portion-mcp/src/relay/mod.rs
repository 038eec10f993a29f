//! Relays messages between a client on our stdio and a server: a child process, or a server behind a link.
//!
//! With a child, each direction is one thread that reads a message, passes it to the [`MessageProcessor`] and writes
//! the result itself: no other thread has to wake up for a message, and a full pipe blocks only its own direction.
//! `child_relay` also handles the end of either side. `link_relay` does the same for a server behind a link.
//!
//! Must not interpret messages; that is the task of the [`MessageProcessor`].

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

/// Processes each message and decides what to send.
///
/// A direction processes one message at a time, in order, and writes the result before the next call; the two
/// directions call concurrently. A slow call delays its direction, except for [deferred](Self::is_deferred) messages.
#[allow(clippy::wrong_self_convention, reason = "from whom a message comes, not a conversion")]
pub trait MessageProcessor: Send + Sync {
    /// Processes a message from the client. Returns the messages to send, in order.
    fn process_client_frame(&self, frame: Frame) -> impl Future<Output = Vec<OutgoingMessage>> + Send;

    /// Returns true if a message from the client is answered here and takes long. Later messages do not wait for it, and
    /// its result may be sent after theirs.
    ///
    /// Called at most once for each message, in order: a later message may refer to a deferred one.
    fn is_deferred(&self, _: &Frame) -> bool {
        false
    }

    /// Processes a deferred message from the client.
    fn process_deferred(&self, frame: Frame) -> impl Future<Output = Vec<OutgoingMessage>> + Send {
        self.process_client_frame(frame)
    }

    /// Rejects a deferred message because too many are queued.
    fn reject_overload(&self, _: &Frame) -> Vec<OutgoingMessage> {
        Vec::new()
    }

    /// Processes a message from the server. Returns the messages to send, in order.
    fn process_server_frame(&self, frame: Frame) -> impl Future<Output = Vec<OutgoingMessage>> + Send;

    /// Waits until a request to the server times out, and returns the messages to send. Cancel-safe.
    fn next_timeout(&self) -> impl Future<Output = Vec<OutgoingMessage>> + Send {
        std::future::pending()
    }

    /// Answers every pending request after the server has ended. The first line of `how` is a sentence; further lines are
    /// the last lines of the server's stderr. Called again for later requests.
    fn on_server_gone(&self, how: &dyn Display) -> Vec<OutgoingMessage>;

    /// Answers every pending request when the server could not be reached at all; it has received none of them.
    fn on_server_unreachable(&self, why: &dyn Display) -> Vec<OutgoingMessage> {
        self.on_server_gone(why)
    }

    /// Returns the number of client requests that the server has not answered.
    fn pending_count(&self) -> usize;

    /// Returns true if a message of the client is held until a message of the server: the server's stdin then stays open
    /// after the client's input has ended.
    fn has_held_messages(&self) -> bool {
        false
    }
}

/// A message to send, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub enum OutgoingMessage {
    /// To the client.
    ToClient(Vec<u8>),
    /// To the server.
    ToServer(Vec<u8>),
    /// To the server, a request of the processor's own: the response is for the processor only.
    InternalRequest(Vec<u8>),
}

/// Outcome of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayOutcome {
    /// Exit code: that of the server (128 + n if signal n ended it), 0 if the server had to be ended after the client
    /// left, 128 + n after a signal n to us.
    pub code: u8,
    /// Sentence for the user if the server ended before the client left, or without answering a request.
    pub failure: Option<String>,
}

impl From<RelayOutcome> for ExitCode {
    fn from(exit: RelayOutcome) -> Self {
        Self::from(exit.code)
    }
}

/// Answers the requests of a client whose server could not be started, until it leaves or is quiet. `why` begins with a
/// sentence. The exit code is 1, or 128 + n after a signal n to us.
///
/// # Panics
/// Panics like [`relay`].
pub async fn serve_unavailable<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    why: String,
    front: StdioFront,
) -> RelayOutcome {
    unavailable::run(processor, why, front).await
}

/// Relays messages until the client, the server or a signal ends the relay. No process of the child's group remains
/// then. A thread may still block in a `read` of our stdin, so return from `main` soon.
///
/// # Panics
/// Panics outside of a tokio runtime with IO and time enabled (`enable_all`), and if a thread cannot be started.
pub async fn relay<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    child: Child,
    front: StdioFront,
) -> RelayOutcome {
    child_relay::run(processor, child, front).await
}

/// Relays messages to a server behind a link; `link_task` ends with the link. The exit code is 0 if the client left,
/// 1 if the server did, 128 + n after a signal n to us.
///
/// # Panics
/// Panics like [`relay`].
pub async fn relay_link<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    link: Link,
    link_task: tokio::task::JoinHandle<()>,
    front: StdioFront,
) -> RelayOutcome {
    link_relay::run(processor, link, link_task, front).await
}
