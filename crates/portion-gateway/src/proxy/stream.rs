//! A stream of events on its way from the server to the client.
//!
//! Events pass one by one, as soon as they are there and as the bytes that came; where a message in one is changed, the
//! event keeps its id and everything else. A stream that breaks off breaks off for the client too, or ends with an error
//! for each request that can no longer be answered: never as if it were complete.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt as _;
use hyper::Response;
use hyper::body::Incoming;
use tokio::time::timeout;

use super::Inner;
use super::exchange::{Post, answered_by, tell, to_client};
use super::outward::{self, Carried};
use super::sessions::Session;
use crate::frame::Frame;
use crate::front::http::refusal::Refusal;
use crate::http::body::{self, Body, Broken};
use crate::http::event::{Event, Events, Piece, written};
use crate::mcp::Heard;
use crate::mcp::code::INTERNAL;
use crate::relay::{Lane as _, Outgoing};

/// How long a server may say nothing at all on a stream. Listening streams are quiet for long; those whose
/// client has gone are noticed by the connection.
const SILENCE: Duration = Duration::from_hours(1);

/// Bytes of data of an event that is no message, up to which it passes.
const NO_MESSAGE: usize = 4096;

/// Whether an event's data is a message, or a batch of messages.
fn is_rpc(data: &[u8]) -> bool {
    Heard::read(&String::from_utf8_lossy(data)).is_ok()
}

/// A stream under way.
struct Passing {
    body: Body,
    events: Events,
    whose: Whose,
    over: bool,
}

enum Whose {
    /// The answer to a post. `resumable`: the client has seen an id by which it can have it resumed.
    Post { post: Box<Post>, resumable: bool },
    /// What a session hears.
    Session { session: Arc<Session>, inner: Arc<Inner>, carried: Carried, is_resumed: bool },
}

/// The stream that answers a post. `first`: what was answered here already.
pub(super) fn posted(post: Post, answer: Response<Incoming>, first: &[Vec<u8>]) -> Response<Body> {
    let limit = post.inner.lanes.message_limit;
    let first = first.iter().flat_map(|message| written(None, message)).collect();
    passing(answer, limit, first, Whose::Post { post: Box::new(post), resumable: false })
}

/// The stream that a session hears.
pub(super) fn listening(
    inner: Arc<Inner>,
    session: Arc<Session>,
    carried: Carried,
    answer: Response<Incoming>,
) -> Response<Body> {
    let limit = inner.lanes.message_limit;
    let is_resumed = carried.headers.contains_key("last-event-id");
    passing(answer, limit, Vec::new(), Whose::Session { session, inner, carried, is_resumed })
}

fn passing(answer: Response<Incoming>, limit: usize, first: Vec<u8>, whose: Whose) -> Response<Body> {
    let (head, body) = match outward::readable(answer) {
        Ok(parts) => parts,
        Err(unknown) => {
            return Refusal::new(hyper::StatusCode::BAD_GATEWAY, INTERNAL, unknown.to_string()).into();
        }
    };
    let passing = Passing { body, events: Events::new(limit), whose, over: false };
    let chunks = stream::unfold((passing, first), |(mut passing, first)| async move {
        let chunk = if first.is_empty() { passing.next().await? } else { Ok(first.into()) };
        Some((chunk, (passing, Vec::new())))
    });
    Response::from_parts(head, body::streamed(chunks))
}

impl Passing {
    /// What passes next; `None` at the end.
    async fn next(&mut self) -> Option<Result<Bytes, Broken>> {
        while !self.over {
            let came = tokio::select! {
                came = timeout(SILENCE, self.body.frame()) => came,
                expired = self.whose.expired() => return Some(Ok(self.expires(&expired))),
                () = self.whose.leaving() => return None,
            };
            let frame = match came {
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(broken))) => return Some(self.breaks_off(broken).await),
                Ok(None) => {
                    self.over = true;
                    return self.ends().map(Ok);
                }
                Err(_) => return Some(self.breaks_off(Broken("the server fell silent".into())).await),
            };
            let Some(bytes) = frame.data_ref() else { continue };
            let mut out = Vec::with_capacity(bytes.len());
            for piece in self.events.push(bytes) {
                match piece {
                    Piece::Aside(raw) => out.extend(raw),
                    Piece::Event(event) => self.event(event, &mut out).await,
                    Piece::TooLarge(bytes) => self.too_large(bytes, &mut out).await,
                }
            }
            if !out.is_empty() {
                return Some(Ok(out.into()));
            }
        }
        None
    }

    /// The server has been silent about requests for too long. Ends the stream where nothing else waits.
    fn expires(&mut self, expired: &[Vec<u8>]) -> Bytes {
        if let Whose::Post { post, .. } = &mut self.whose
            && post.lane.pending() == 0
        {
            post.taken.give_back();
            self.over = true;
        }
        // Half an event may have passed: an empty line ends it.
        let told = expired.iter().flat_map(|message| written(None, message));
        b"\n\n".iter().copied().chain(told).collect()
    }

    async fn event(&mut self, event: Event, out: &mut Vec<u8>) {
        if let Whose::Post { resumable, .. } = &mut self.whose {
            *resumable |= event.id().is_some();
        }
        let is_message = event.kind() == b"message" && !event.data().is_empty();
        // What is no message may be one to others, as long as it is small.
        if !is_message || !is_rpc(event.data()) {
            let is_small = event.data().len() <= NO_MESSAGE;
            out.extend(if is_small { event.into_raw() } else { event.without_data() });
            return;
        }
        let mut heard = self.whose.hears(Frame::Message(event.data().to_vec())).await.into_iter();
        if let Whose::Post { post, .. } = &mut self.whose
            && post.lane.pending() == 0
        {
            post.taken.give_back();
        }
        match heard.next() {
            // It was dropped; the client may go on from its id all the same.
            None => out.extend(event.without_data()),
            Some(message) if message == event.data() => out.extend(event.into_raw()),
            Some(message) => out.extend(event.with_data(&message)),
        }
        heard.for_each(|message| out.extend(written(None, &message)));
    }

    async fn too_large(&mut self, bytes: u64, out: &mut Vec<u8>) {
        let frame = match &self.whose {
            Whose::Post { post, .. } => post.too_large(bytes),
            Whose::Session { .. } => Frame::TooLarge { id: None, has_method: false, bytes },
        };
        self.whose.hears(frame).await.iter().for_each(|message| out.extend(written(None, message)));
    }

    /// The server has ended the stream. What can be resumed will be; everything else is told.
    fn ends(&mut self) -> Option<Bytes> {
        let rest = std::mem::replace(&mut self.events, Events::new(0)).rest();
        let told = match &self.whose {
            Whose::Post { post, resumable: false } => post.unanswered(&"the server ended its stream"),
            _ => Vec::new(),
        };
        let all: Vec<u8> =
            rest.into_iter().chain(told.iter().flat_map(|message| written(None, message))).collect();
        (!all.is_empty()).then(|| all.into())
    }

    /// The stream has broken off. What can be resumed will be, unless the server takes no connections any more.
    async fn breaks_off(&mut self, broken: Broken) -> Result<Bytes, Broken> {
        self.over = true;
        let told = match &self.whose {
            Whose::Post { post, resumable } if !resumable || post.inner.outward.is_deserted().await => {
                post.lost(&broken)
            }
            _ => Vec::new(),
        };
        if told.is_empty() {
            return Err(broken);
        }
        tracing::warn!(%broken, "an exchange with the server failed");
        // Half an event may have passed: an empty line ends it.
        let told = told.iter().flat_map(|message| written(None, message));
        Ok(b"\n\n".iter().copied().chain(told).collect())
    }
}

impl Whose {
    /// Returns once nobody need be listening any more.
    async fn leaving(&self) {
        match self {
            Self::Post { .. } => std::future::pending().await,
            Self::Session { inner, .. } => inner.leaving.wait().await,
        }
    }

    /// Waits until the server has been silent about a request for too long. Returns what the client hears.
    async fn expired(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Post { post, .. } => post.expired().await,
            Self::Session { .. } => std::future::pending().await,
        }
    }

    /// What the client hears of what the server said.
    async fn hears(&self, frame: Frame) -> Vec<Vec<u8>> {
        let (session, inner, carried, is_resumed) = match self {
            Self::Post { post, .. } => return post.hears(post.claimed(frame)).await,
            Self::Session { session, inner, carried, is_resumed } => (session, inner, carried, *is_resumed),
        };
        let lane = match &frame {
            Frame::Message(message) => {
                std::str::from_utf8(message).ok().and_then(answered_by).and_then(|id| session.lane_of(id))
            }
            Frame::TooLarge { .. } => None,
        };
        if let Some(lane) = lane {
            return Post::resumed(inner, session, carried, lane).hears(frame).await;
        }
        let said = if is_resumed {
            session.lane.from_resumed(frame).await
        } else {
            session.lane.from_server(frame).await
        };
        for message in said.iter().filter_map(|said| match said {
            Outgoing::ToServer(message) => Some(message.clone()),
            Outgoing::ToClient(_) | Outgoing::Question(_) => None,
        }) {
            let mut carried = carried.clone();
            carried.headers.remove("last-event-id");
            tokio::spawn(tell(Arc::clone(inner), carried, message));
        }
        to_client(said)
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if let Whose::Post { post, resumable: true } = &self.whose
            && post.lane.pending() > 0
        {
            post.session.keep(Arc::clone(&post.lane));
        }
    }
}
