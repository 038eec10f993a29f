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
mod hearing;
mod letter;
mod listening;
mod renewal;
mod server;
mod session;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Said;
use crate::latch::Latch;
use crate::upstream::http::{Answer, Trouble, Wire};
use exchange::Exchange;
use listening::listen;
use server::{Posted, Server};

/// How long the next message waits for a notification or a response to be taken.
const TAKEN: Duration = Duration::from_secs(5);
/// How long the server may take to hear that the session is over.
const FAREWELL: Duration = Duration::from_secs(1);

/// Carries messages to one server.
pub(super) struct Streamable {
    server: Arc<Server>,
}

/// The first message, after it was posted.
pub(super) struct First {
    exchange: Exchange,
    posted: Result<Posted, Trouble>,
}

impl First {
    /// Why it came to nothing, if it did.
    pub(super) fn trouble(&self) -> Option<&Trouble> {
        self.posted.as_ref().err()
    }

    /// The same, where there is more to say of why.
    pub(super) fn because(self, trouble: Trouble) -> Self {
        Self { posted: Err(trouble), ..self }
    }
}

impl Streamable {
    pub(super) fn new(wire: Wire, incoming: mpsc::Sender<Said>) -> Self {
        Self { server: Arc::new(Server::new(wire, incoming)) }
    }

    /// Posts the first message, and leaves it to the caller whether this is the way to this server.
    pub(super) async fn try_first(&self, message: &Bytes) -> First {
        let exchange = self.exchange(message);
        let posted = self.server.post(&exchange.letter).await;
        First { exchange, posted }
    }

    /// It is: goes on with that message.
    pub(super) async fn take_first(&self, first: First) {
        let First { exchange, posted } = first;
        if exchange.letter.begins_session {
            exchange.go_on(posted).await;
        } else {
            self.server.spawn(exchange.go_on(posted));
        }
    }

    /// Carries messages until there are no more.
    pub(super) async fn carry(&self, outgoing: &mut mpsc::Receiver<Vec<u8>>) {
        while let Some(message) = outgoing.recv().await {
            self.say(message.into()).await;
        }
        self.server.flights.settled().await;
    }

    /// Ends what is under way, and the session.
    pub(super) async fn leave(&self) {
        let server = &self.server;
        server.over.set();
        let session = server.session().clone();
        if session.id.is_some()
            && !matches!(timeout(FAREWELL, server.wire.delete(session.fields())).await, Ok(Ok(())))
        {
            tracing::debug!("the server was not told that the session is over");
        }
    }

    /// Carries a message.
    pub(super) async fn say(&self, message: Bytes) {
        let exchange = self.exchange(&message);
        let letter = &exchange.letter;
        if letter.cancels.as_deref().is_some_and(|id| self.drops(id)) {
            return;
        }
        if letter.begins_session {
            // Nothing goes out before the session has begun.
            return exchange.run().await;
        }
        if !letter.ids.is_empty() {
            return self.server.spawn(exchange.run());
        }
        let begun = letter.has_begun.then(|| letter.bytes.clone());
        let taken = Arc::new(Latch::default());
        let told = Arc::clone(&taken);
        self.server.spawn(async move {
            tell(exchange).await;
            told.set();
        });
        let _ = timeout(TAKEN, taken.wait()).await;
        if begun.is_some() {
            self.server.session().begun = begun;
            listen(&self.server).await;
        }
    }

    fn exchange(&self, message: &Bytes) -> Exchange {
        let letter = self.server.letter(message);
        if letter.begins_session {
            self.server.session().begin(letter.bytes.clone());
        }
        Exchange { server: Arc::clone(&self.server), letter }
    }

    /// A request is cancelled. From 2026-07-28 on that is done by closing its stream, and the server is told nothing
    /// else; before, it has to be told.
    fn drops(&self, raw_id: &str) -> bool {
        // Waited for or not, its answer is not wanted any more.
        let Some(flight) = self.server.flights.land(raw_id) else { return self.server.session().is_modern() };
        if flight.modern {
            flight.dropped.set();
        }
        flight.modern
    }
}

/// Posts what has no answer. What the server says against it is passed on where it is a message.
async fn tell(exchange: Exchange) {
    let Exchange { server, letter } = &exchange;
    match server.post(letter).await {
        Ok(Posted::Answer(Answer::Json(json))) => drop(server.heard(json, None).await),
        Ok(Posted::Answer(_)) => {}
        Ok(Posted::NoSession(_, trouble)) | Err(trouble) => {
            tracing::warn!(%trouble, "the server did not take a message");
        }
    }
}
