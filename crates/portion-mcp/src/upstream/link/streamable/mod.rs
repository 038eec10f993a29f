//! Link to a server over streamable HTTP, of any revision.
//!
//! Each message is a POST. The response is JSON or a stream of events. Before 2026-07-28 there is one more stream, for
//! unsolicited messages of the server, and there are sessions, which the client behind a link does not see.
//!
//! - `server_handle`: state shared by all tasks of a link; `session`: session headers of each request
//! - `outbound_message`: a message of the client; `exchange`: posts it and forwards the response
//! - `listening_stream`: the stream for unsolicited messages; `backoff`: delay before a stream is opened again
//! - `inbound`: messages of the server, on their way to the client
//! - `session_renewal`: a new session in place of one that the server has ended

mod backoff;
mod exchange;
mod inbound;
mod listening_stream;
mod outbound_message;
mod server_handle;
mod session;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::LinkEvent;
use crate::once::OneShotFlag;
use crate::upstream::http::{RequestError, ResponseContent, ServerClient};
use exchange::MessageExchange;
use listening_stream::open_listening_stream;
use server_handle::{PostOutcome, ServerHandle};

/// Longest delay of the next message until a notification or a response has been posted.
const POST_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout for ending the session at the server.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Link to one server.
pub(super) struct StreamableLink {
    server: Arc<ServerHandle>,
}

/// The first message, after it was posted, and the outcome.
pub(super) struct FirstExchange {
    exchange: MessageExchange,
    posted: Result<PostOutcome, RequestError>,
}

impl FirstExchange {
    /// Returns the error of the post, if it failed.
    pub(super) fn error(&self) -> Option<&RequestError> {
        self.posted.as_ref().err()
    }

    /// Replaces the error by a more specific one.
    pub(super) fn with_error(self, trouble: RequestError) -> Self {
        Self { posted: Err(trouble), ..self }
    }
}

impl StreamableLink {
    pub(super) fn new(client: ServerClient, incoming: mpsc::Sender<LinkEvent>) -> Self {
        Self { server: Arc::new(ServerHandle::new(client, incoming)) }
    }

    /// Posts the first message; the caller decides from the outcome whether the server speaks this transport.
    pub(super) async fn post_first(&self, message: &Bytes) -> FirstExchange {
        let exchange = self.new_exchange(message);
        let posted = self.server.post(&exchange.message).await;
        FirstExchange { exchange, posted }
    }

    /// Processes the response to the first message.
    pub(super) async fn continue_first(&self, first: FirstExchange) {
        let FirstExchange { exchange, posted } = first;
        if exchange.message.is_initialize {
            exchange.continue_with(posted).await;
        } else {
            self.server.spawn(exchange.continue_with(posted));
        }
    }

    /// Sends messages until the channel is closed, and waits for the pending requests.
    pub(super) async fn run(&self, outgoing: &mut mpsc::Receiver<Vec<u8>>) {
        while let Some(message) = outgoing.recv().await {
            self.send(message.into()).await;
        }
        self.server.in_flight.wait_until_complete().await;
    }

    /// Ends all tasks and the session.
    pub(super) async fn close(&self) {
        let server = &self.server;
        server.is_closed.set();
        let session = server.session().clone();
        if session.id.is_some()
            && !matches!(
                timeout(SESSION_END_TIMEOUT, server.client.delete(session.headers())).await,
                Ok(Ok(()))
            )
        {
            tracing::debug!("the end of the session could not be sent to the server");
        }
    }

    /// Sends one message.
    pub(super) async fn send(&self, message: Bytes) {
        let exchange = self.new_exchange(&message);
        let outbound = &exchange.message;
        if outbound.cancelled_id.as_deref().is_some_and(|id| self.cancel(id)) {
            return;
        }
        if outbound.is_initialize {
            // No other message is sent before the session has begun.
            return exchange.run().await;
        }
        if !outbound.request_ids.is_empty() {
            return self.server.spawn(exchange.run());
        }
        let initialized = outbound.is_initialized_notification.then(|| outbound.bytes.clone());
        let taken = Arc::new(OneShotFlag::default());
        let posted = Arc::clone(&taken);
        self.server.spawn(async move {
            post_one_way(exchange).await;
            posted.set();
        });
        let _ = timeout(POST_TIMEOUT, taken.wait()).await;
        if initialized.is_some() {
            self.server.session().initialized_message = initialized;
            open_listening_stream(&self.server).await;
        }
    }

    fn new_exchange(&self, message: &Bytes) -> MessageExchange {
        let outbound = self.server.parse_message(message);
        if outbound.is_initialize {
            self.server.session().begin(outbound.bytes.clone());
        }
        MessageExchange { server: Arc::clone(&self.server), message: outbound }
    }

    /// Cancels a request. Since 2026-07-28 closing its stream is the cancellation, and the notification is not posted;
    /// before, it is. Returns true if it must not be posted.
    fn cancel(&self, raw_id: &str) -> bool {
        // The response is not wanted any more, even if it is not pending.
        let Some(request) = self.server.in_flight.complete(raw_id) else {
            return self.server.session().is_stateless();
        };
        if request.is_stateless {
            request.cancelled.set();
        }
        request.is_stateless
    }
}

/// Posts a message without a response. An error of the server is forwarded if it is a message.
async fn post_one_way(exchange: MessageExchange) {
    let MessageExchange { server, message: outbound } = &exchange;
    match server.post(outbound).await {
        Ok(PostOutcome::Content(ResponseContent::Json(json))) => drop(server.receive(json, None).await),
        Ok(PostOutcome::Content(_)) => {}
        Ok(PostOutcome::SessionLost(_, trouble)) | Err(trouble) => {
            tracing::warn!(%trouble, "the server did not accept a message");
        }
    }
}
