//! Calls of tools that the gateway itself makes, for further pages of a list.
//!
//! A transport with one message stream sends what [`InternalCalls`] queues, and passes on every message of the server, so
//! the responses arrive here. Other transports provide an [`UpstreamCaller`] of their own.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use parking_lot::Mutex;
use portion_gateway::paged_call::PageError;
use tokio::sync::{Notify, oneshot};

use super::super::envelope::{RequestIdMap, cancellation_notification};

/// Future of a response, the message as received.
pub type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, PageError>> + Send + 'a>>;

/// Sends requests to the server and returns the responses.
pub trait UpstreamCaller: Send + Sync {
    /// Sends a request with an id that no other request has. `id`: the id as written. A dropped future cancels the
    /// request.
    fn call<'a>(&'a self, id: &'a str, request: Vec<u8>) -> ResponseFuture<'a>;
}

/// Queue of messages that no received message has caused.
#[derive(Debug, Default)]
pub(super) struct InternalCalls {
    state: Mutex<CallState>,
    /// Notified when a message is queued.
    pub(super) queued: Notify,
}

#[derive(Debug, Default)]
struct CallState {
    queue: VecDeque<QueuedMessage>,
    waiting: RequestIdMap<oneshot::Sender<Result<Vec<u8>, PageError>>>,
    is_closed: bool,
}

/// A queued message.
#[derive(Debug)]
pub(super) enum QueuedMessage {
    /// To the server: a request, or a cancellation.
    ToServer(Vec<u8>),
    /// The response to a pending request of the client.
    Response {
        /// Id of the request as written.
        id: String,
        message: Vec<u8>,
    },
}

impl InternalCalls {
    /// Returns the next queued message.
    pub(super) fn take_queued(&self) -> Option<QueuedMessage> {
        self.state.lock().queue.pop_front()
    }

    /// Queues the response to a pending request of the client.
    pub(super) fn respond(&self, id: String, message: Vec<u8>) {
        self.enqueue(QueuedMessage::Response { id, message });
    }

    /// Completes a call by its response. Returns false if no call has this id.
    pub(super) fn complete(&self, raw_id: &str, response: Result<Vec<u8>, PageError>) -> bool {
        let waiting = self.state.lock().waiting.take(raw_id);
        waiting.map(|waiting| waiting.send(response)).is_some()
    }

    /// Returns true if a call with this id waits for its response.
    pub(super) fn is_waiting(&self, raw_id: &str) -> bool {
        self.state.lock().waiting.contains(raw_id)
    }

    /// Fails all calls, because the server has ended.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.waiting = RequestIdMap::default();
    }

    fn enqueue(&self, message: QueuedMessage) {
        self.state.lock().queue.push_back(message);
        self.queued.notify_one();
    }
}

impl UpstreamCaller for InternalCalls {
    fn call<'a>(&'a self, id: &'a str, request: Vec<u8>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let (sender, receiver) = oneshot::channel();
            {
                let mut state = self.state.lock();
                if state.is_closed {
                    return Err(PageError::Closed);
                }
                state.waiting.insert(id, sender);
            }
            self.enqueue(QueuedMessage::ToServer(request));
            let _cancel = CancelOnDrop { calls: self, id };
            receiver.await.unwrap_or(Err(PageError::Closed))
        })
    }
}

/// Cancels a call that no one waits for any more.
struct CancelOnDrop<'a> {
    calls: &'a InternalCalls,
    id: &'a str,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if self.calls.state.lock().waiting.take(self.id).is_some() {
            let cancellation = cancellation_notification(self.id, "the result is no longer needed");
            self.calls.enqueue(QueuedMessage::ToServer(cancellation.into_bytes()));
        }
    }
}
