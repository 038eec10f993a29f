//! The events of an answer, as long as it lasts.

use std::collections::VecDeque;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::header::HeaderValue;

use crate::http::body::Body;
use crate::http::event::{Event, Events, Piece};

/// What stands around an event's data may have this many bytes.
const AROUND: usize = 4 << 10;
/// The longest time that a server may make us wait before the stream is resumed.
const LONGEST_RETRY: Duration = Duration::from_mins(5);

/// A stream of events that comes in.
pub(crate) struct Stream {
    body: Body,
    events: Option<Events>,
    ready: VecDeque<Piece>,
    limit: usize,
    /// From where on it can be resumed.
    pub(crate) resume: Resume,
}

/// How a stream that has ended is taken up again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resume {
    /// What was seen last, where the server gave it a name.
    pub(crate) after: Option<HeaderValue>,
    /// How long to wait before.
    pub(crate) retry: Option<Duration>,
}

/// What comes.
pub(crate) enum Item {
    Event(Event),
    /// An event over the limit, which was dropped; it had this many bytes.
    TooLarge(u64),
}

impl Stream {
    /// Events with at most `limit` bytes of data. What an earlier stream knew of resuming holds until the server
    /// says otherwise.
    pub(crate) fn new(body: Body, limit: usize, resume: Resume) -> Self {
        let events = Some(Events::new(limit.saturating_add(AROUND)));
        Self { body, events, ready: VecDeque::new(), limit, resume }
    }

    /// The next event; `None` at the end, come when it should or not.
    pub(crate) async fn next(&mut self) -> Option<Item> {
        loop {
            while let Some(piece) = self.ready.pop_front() {
                self.remember(&piece);
                match piece {
                    Piece::Event(event) if event.data().len() > self.limit => {
                        return Some(Item::TooLarge(event.data().len() as u64));
                    }
                    // An event with empty data only tells from where on to resume.
                    Piece::Event(event) if event.data().is_empty() => {}
                    Piece::Event(event) => return Some(Item::Event(event)),
                    Piece::TooLarge(bytes) => return Some(Item::TooLarge(bytes)),
                    Piece::Aside(_) => {}
                }
            }
            let events = self.events.as_mut()?;
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.ready.extend(frame.data_ref().into_iter().flat_map(|bytes| events.push(bytes)));
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "an event stream broke off");
                    self.events = None;
                }
                None => self.events = None,
            }
        }
    }

    fn remember(&mut self, piece: &Piece) {
        if let Some(id) = piece.id() {
            self.resume.after = HeaderValue::from_bytes(id).ok().filter(|id| !id.is_empty());
        }
        if let Some(retry) = piece.retry() {
            self.resume.retry = Some(retry.min(LONGEST_RETRY));
        }
    }
}
