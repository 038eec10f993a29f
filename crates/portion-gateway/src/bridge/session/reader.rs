//! A client that hears a stream of its session.

use std::sync::Arc;
use std::time::Instant;

use super::conversation::Session;
use super::desk::{Next, Seat};
use crate::bridge::reply::{Piece, Source, Taken};

/// A client at a stream. Dropping it leaves the stream.
pub(super) struct Reader {
    session: Arc<Session>,
    seat: Seat,
    /// It has been told by which ids it can come back.
    can_return: bool,
}

impl Reader {
    /// At a place that the session's desk has given out.
    pub(super) fn new(session: &Arc<Session>, seat: Seat) -> Self {
        Self { session: Arc::clone(session), seat, can_return: false }
    }

    /// The id of what is to come after now, by which a client can come back that has heard nothing yet.
    pub(super) fn here(&self) -> String {
        let number = self.session.desk().number();
        event_id(self.seat.stream, number)
    }
}

impl Source for Reader {
    async fn wait(&mut self) {
        loop {
            let mut changed = std::pin::pin!(self.session.changed.notified());
            changed.as_mut().enable();
            if self.session.desk().is_ready(self.seat) {
                return;
            }
            changed.await;
        }
    }

    async fn take(&mut self) -> Taken {
        let next = self.session.desk().next(self.seat, Instant::now());
        // Somebody may wait for this stream to become shorter.
        self.session.changed.notify_waiters();
        match next {
            Next::Event(event) => {
                let id = Some(event_id(self.seat.stream, event.number));
                Taken::Piece(Piece { id, data: event.data, answer: event.answer })
            }
            Next::Nothing => Taken::Nothing,
            Next::End => Taken::End,
        }
    }

    fn is_streamed(&mut self) {
        self.can_return = true;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.session.desk().leave(self.seat, self.can_return, Instant::now());
        self.session.changed.notify_waiters();
    }
}

/// The id of a message on a stream.
fn event_id(stream: u64, number: u64) -> String {
    format!("{stream}-{number}")
}

/// The stream, and the message on it, that an id names.
pub(super) fn read_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
