//! A link to a server that speaks streamable HTTP, of any revision.
//!
//! Each message is a POST. What comes in answer is JSON or a stream of events; before 2026-07-28 there is one more
//! stream, which the server speaks on unasked, and sessions, which the client behind a link knows nothing of.
//!
//! - `server`: what all tasks of a link share; `session`: what each request carries
//! - `letter`: a message of the client; `exchange`: the same with what comes in answer to it
//! - `listening`: the server's own stream; `backoff`: when a stream is opened again
//! - `hearing`: what the server says, on its way to the client
//! - `renewal`: a new session for one that the server has ended

mod backoff;
mod exchange;
mod inbound;
mod listening_stream;
mod outbound_message;
mod server_handle;
mod session;
mod session_renewal;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::LinkEvent;
use crate::one_shot_flag::OneShotFlag;
use crate::upstream::http::{RequestError, ResponseContent, ServerClient};
use exchange::MessageExchange;
use listening_stream::open_listening_stream;
use server_handle::{PostOutcome, ServerHandle};

/// How long the next message waits for a notification or a response to be taken.
const POST_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the server may take to hear that the session is over.
const SESSION_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Carries messages to one server.
pub(super) struct StreamableLink {
    server: Arc<ServerHandle>,
}

/// The first message, after it was posted.
pub(super) struct FirstExchange {
    exchange: MessageExchange,
    posted: Result<PostOutcome, RequestError>,
}

impl FirstExchange {
    /// Why it came to nothing, if it did.
    pub(super) fn error(&self) -> Option<&RequestError> {
        self.posted.as_ref().err()
    }

    /// The same, where there is more to say of why.
    pub(super) fn with_error(self, trouble: RequestError) -> Self {
        Self { posted: Err(trouble), ..self }
    }
}

impl StreamableLink {
    pub(super) fn new(wire: ServerClient, incoming: mpsc::Sender<LinkEvent>) -> Self {
        Self { server: Arc::new(ServerHandle::new(wire, incoming)) }
    }

    /// Posts the first message, and leaves it to the caller whether this is the way to this server.
    pub(super) async fn post_first(&self, message: &Bytes) -> FirstExchange {
        let exchange = self.new_exchange(message);
        let posted = self.server.post(&exchange.message).await;
        FirstExchange { exchange, posted }
    }

    /// It is: goes on with that message.
    pub(super) async fn continue_first(&self, first: FirstExchange) {
        let FirstExchange { exchange, posted } = first;
        if exchange.message.is_initialize {
            exchange.continue_with(posted).await;
        } else {
            self.server.spawn(exchange.continue_with(posted));
        }
    }

    /// Carries messages until there are no more.
    pub(super) async fn run(&self, outgoing: &mut mpsc::Receiver<Vec<u8>>) {
        while let Some(message) = outgoing.recv().await {
            self.send(message.into()).await;
        }
        self.server.in_flight.wait_until_complete().await;
    }

    /// Ends what is under way, and the session.
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
            tracing::debug!("the server was not told that the session is over");
        }
    }

    /// Carries a message.
    pub(super) async fn send(&self, message: Bytes) {
        let exchange = self.new_exchange(&message);
        let letter = &exchange.message;
        if letter.cancelled_id.as_deref().is_some_and(|id| self.cancel(id)) {
            return;
        }
        if letter.is_initialize {
            // Nothing goes out before the session has begun.
            return exchange.run().await;
        }
        if !letter.request_ids.is_empty() {
            return self.server.spawn(exchange.run());
        }
        let begun = letter.is_initialized_notification.then(|| letter.bytes.clone());
        let taken = Arc::new(OneShotFlag::default());
        let told = Arc::clone(&taken);
        self.server.spawn(async move {
            post_one_way(exchange).await;
            told.set();
        });
        let _ = timeout(POST_TIMEOUT, taken.wait()).await;
        if begun.is_some() {
            self.server.session().initialized_message = begun;
            open_listening_stream(&self.server).await;
        }
    }

    fn new_exchange(&self, message: &Bytes) -> MessageExchange {
        let letter = self.server.parse_message(message);
        if letter.is_initialize {
            self.server.session().begin(letter.bytes.clone());
        }
        MessageExchange { server: Arc::clone(&self.server), message: letter }
    }

    /// A request is cancelled. From 2026-07-28 on that is done by closing its stream, and the server is told nothing
    /// else; before, it has to be told.
    fn cancel(&self, raw_id: &str) -> bool {
        // Waited for or not, its answer is not wanted any more.
        let Some(flight) = self.server.in_flight.complete(raw_id) else {
            return self.server.session().is_stateless();
        };
        if flight.is_stateless {
            flight.cancelled.set();
        }
        flight.is_stateless
    }
}

/// Posts what has no answer. What the server says against it is passed on where it is a message.
async fn post_one_way(exchange: MessageExchange) {
    let MessageExchange { server, message: letter } = &exchange;
    match server.post(letter).await {
        Ok(PostOutcome::Content(ResponseContent::Json(json))) => drop(server.receive(json, None).await),
        Ok(PostOutcome::Content(_)) => {}
        Ok(PostOutcome::SessionLost(_, trouble)) | Err(trouble) => {
            tracing::warn!(%trouble, "the server did not take a message");
        }
    }
}
