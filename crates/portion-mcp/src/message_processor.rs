//! Interface between the loops that carry messages and the code that decides on them.

use std::fmt::Display;
use std::future::Future;

use crate::frame::Frame;

/// Reason for [`MessageProcessor::on_server_gone`] if the gateway itself stops.
pub const GATEWAY_STOPS: &str = "the gateway is stopping and left the server";

/// Processes each message and decides what to send.
///
/// A direction processes one message at a time, in order, and writes the result before the next call; the two
/// directions call concurrently. A slow call delays its direction, except for [deferred](Self::is_deferred) messages.
#[allow(clippy::wrong_self_convention, reason = "from whom a message comes, not a conversion")]
pub trait MessageProcessor: Send + Sync {
    /// A message from the client, parsed once for all calls that follow.
    type ClientMessage: Send;

    /// Parses a message from the client. Called once for each message, in order.
    fn parse_client_frame(&self, frame: Frame) -> Self::ClientMessage;

    /// Processes a message from the client. Returns the messages to send, in order.
    fn process_client_message(
        &self,
        message: Self::ClientMessage,
    ) -> impl Future<Output = Vec<OutgoingMessage>> + Send;

    /// Returns true if a message from the client is answered here and takes long. Later messages do not wait for it, and
    /// its result may be sent after theirs.
    ///
    /// Called at most once for each message, in order: a later message may refer to a deferred one.
    fn is_deferred(&self, _: &Self::ClientMessage) -> bool {
        false
    }

    /// Processes a deferred message from the client.
    fn process_deferred(
        &self,
        message: Self::ClientMessage,
    ) -> impl Future<Output = Vec<OutgoingMessage>> + Send {
        self.process_client_message(message)
    }

    /// Rejects a deferred message because too many are queued.
    fn reject_overload(&self, _: &Self::ClientMessage) -> Vec<OutgoingMessage> {
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

    /// Returns true if more may be sent to the server for a message of the client once the server has sent a message: the
    /// server's stdin then stays open after the client's input has ended.
    fn has_held_messages(&self) -> bool {
        false
    }

    /// Returns true if the response to a request that the server has answered is still being made. The end of the server
    /// does not concern it; [`next_timeout`](Self::next_timeout) returns it.
    fn is_responding(&self) -> bool {
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
