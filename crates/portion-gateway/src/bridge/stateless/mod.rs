//! Clients of 2026-07-28 and later: no sessions, one link for all, dialled when somebody asks.
//!
//! - `headers`: the header fields say what the body says
//! - `trunk`: the link
//! - `table`: whose is what its server says
//! - `exchange`: a post and its answer

mod exchange;
mod headers;
mod table;
mod trunk;

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::reply::{Accept, Reply, reply};
use super::{accepted, bad};
use crate::frame::Frame;
use crate::front::http::Principal;
use crate::front::http::refusal::{Refusal, json};
use crate::http::body::Body;
use crate::mcp::code::{
    HEADER_MISMATCH, INTERNAL, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MISSING_CAPABILITY,
    PARSE_ERROR, UNSUPPORTED_VERSION,
};
use crate::mcp::{Heard, Lanes, Note, Role};
use crate::relay::{Lane as _, Outgoing};
use crate::upstream::link::Dial;
use exchange::Exchange;
use trunk::Trunk;

/// How long a server that has never said anything may take for `server/discover`. Clients wait 10 s, and servers of
/// earlier revisions may say nothing before `initialize`.
const PROBE: Duration = Duration::from_secs(8);
/// How often the link is looked at.
const ROUND: Duration = Duration::from_secs(15);

/// The link that all of them share, and how it is made.
pub(super) struct Shared {
    dial: Arc<dyn Dial>,
    lanes: Lanes,
    idle: Duration,
    trunk: Mutex<Option<Arc<Trunk>>>,
}

impl Shared {
    pub(super) fn new(dial: Arc<dyn Dial>, lanes: Lanes, idle: Duration) -> Self {
        Self { dial, lanes, idle, trunk: Mutex::default() }
    }

    /// Answers what was posted.
    pub(super) async fn post(
        self: &Arc<Self>,
        principal: &Principal,
        headers: &HeaderMap,
        text: &str,
        heard: &Heard<'_>,
    ) -> Result<Response<Body>, Refusal> {
        let [note] = &*heard.messages else {
            return Err(bad("a batch; this revision has none: post one message"));
        };
        match note.role() {
            _ if heard.batch => Err(bad("a batch; this revision has none: post one message")),
            Role::Response => Err(bad("an answer; in this revision servers ask nothing")),
            Role::Notification => self.notified(principal, text, note).await,
            Role::Request => {
                self.request(principal, headers, text, note).await.map_err(|refusal| refusal.of(note.id()))
            }
        }
    }

    /// Ends the link, and waits until the server has left.
    pub(super) async fn close(&self) {
        if let Some(trunk) = self.trunk.lock().await.take() {
            trunk.end();
            trunk.ended().await;
        }
    }

    async fn request(
        self: &Arc<Self>,
        principal: &Principal,
        headers: &HeaderMap,
        text: &str,
        note: &Note<'_>,
    ) -> Result<Response<Body>, Refusal> {
        let mut accept = Accept::of(headers).check()?;
        let method = note.method();
        if method == "subscriptions/listen" {
            if !accept.stream {
                let message = "a subscription is heard as text/event-stream; send Accept with it";
                return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message));
            }
            accept.json = false;
        }
        headers::check(headers, note)?;
        if method == "initialize" {
            return Err(no_handshake());
        }
        let (trunk, mut exchange) = self.exchange(principal, headers, note).await?;
        let is_probe = method == "server/discover";
        if is_probe && trunk.is_mute() {
            return Err(unanswered());
        }
        exchange.say(text).await;
        let mut reply = pin!(reply(exchange, accept, false, None));
        let reply = match timeout(PROBE, &mut reply).await {
            Ok(reply) => reply,
            Err(_) if is_probe && !trunk.has_spoken() => {
                trunk.was_mute();
                return Err(unanswered());
            }
            Err(_) => reply.await,
        };
        match reply {
            Reply::Json(answer) => Ok(json(status(&answer), answer)),
            Reply::Stream(response) => Ok(response),
            Reply::Lost(why) => Err(Refusal::new(StatusCode::BAD_GATEWAY, INTERNAL, why)),
        }
    }

    async fn notified(
        self: &Arc<Self>,
        principal: &Principal,
        text: &str,
        note: &Note<'_>,
    ) -> Result<Response<Body>, Refusal> {
        // Its id would be one of another's: who wants to cancel leaves.
        if note.method() != "notifications/cancelled" {
            let trunk = self.trunk().await?;
            let frame = Frame::Message(text.as_bytes().to_vec());
            for said in trunk.lane(principal).from_client(frame).await {
                if let Outgoing::ToServer(message) = said {
                    trunk.send_as_it_is(message).await;
                }
            }
        }
        Ok(accepted())
    }

    /// A place on the link, for a request whose header fields are right.
    async fn exchange(
        self: &Arc<Self>,
        principal: &Principal,
        headers: &HeaderMap,
        note: &Note<'_>,
    ) -> Result<(Arc<Trunk>, Exchange), Refusal> {
        loop {
            let trunk = self.trunk().await?;
            let lane = trunk.lane(principal);
            headers::check_params(headers, note, &lane)?;
            if let Some(exchange) = trunk.exchange(lane, principal.sessionless(), note) {
                return Ok((trunk, exchange));
            }
        }
    }

    async fn trunk(self: &Arc<Self>) -> Result<Arc<Trunk>, Refusal> {
        let mut current = self.trunk.lock().await;
        if let Some(trunk) = current.as_ref().filter(|trunk| !trunk.is_over()) {
            return Ok(Arc::clone(trunk));
        }
        let link = self.dial.dial().await;
        let link =
            link.map_err(|error| Refusal::new(StatusCode::BAD_GATEWAY, INTERNAL, error.to_string()))?;
        let trunk = Trunk::begin(self.lanes.clone(), link);
        tokio::spawn(look_after(Arc::downgrade(&trunk), self.idle));
        *current = Some(Arc::clone(&trunk));
        Ok(trunk)
    }
}

/// Ends a link that nobody has used for so long.
async fn look_after(trunk: Weak<Trunk>, idle: Duration) {
    loop {
        tokio::time::sleep(ROUND).await;
        let Some(trunk) = trunk.upgrade().filter(|trunk| !trunk.is_over()) else { return };
        if trunk.idle_since().is_some_and(|since| Instant::now().duration_since(since) > idle) {
            tracing::info!("ended the server of clients without sessions, for it was idle");
            trunk.end();
        }
    }
}

/// What makes a client of several revisions go on with `initialize`.
fn unanswered() -> Refusal {
    let message =
        "the server does not answer server/discover; it may be of an earlier revision: send initialize";
    Refusal::new(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, message)
}

/// A server that knows both kinds of revisions might begin a session with it, on the link that is everybody's.
fn no_handshake() -> Refusal {
    let message =
        "this revision has no initialize; send what you want to ask, or initialize as 2025-11-25 has it";
    Refusal::new(StatusCode::NOT_FOUND, METHOD_NOT_FOUND, message)
}

/// The status that an answer has in this revision.
fn status(answer: &[u8]) -> StatusCode {
    let text = String::from_utf8_lossy(answer);
    let code = Heard::read(&text).ok().and_then(|heard| heard.messages.first().and_then(Note::error_code));
    let is = |known: i32| code == Some(known.into());
    if is(METHOD_NOT_FOUND) {
        StatusCode::NOT_FOUND
    } else if [PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, HEADER_MISMATCH].into_iter().any(is)
        || [MISSING_CAPABILITY, UNSUPPORTED_VERSION].into_iter().any(is)
    {
        StatusCode::BAD_REQUEST
    } else {
        StatusCode::OK
    }
}
