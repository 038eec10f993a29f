//! The sessions of clients of revisions up to 2025-11-25: each has a link, and so a server, of its own.
//!
//! - `conversation`: one session
//! - `desk`: whose is what its server says
//! - `stream`: what is on its way by one answer
//! - `kept`: what was delivered and may have got lost
//! - `reader`: a client that hears a stream

mod conversation;
mod desk;
mod kept;
mod reader;
mod stream;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};

use super::reply::{Accept, Reply, Source as _, events, reply};
use super::{Limits, accepted, bad, era, field};
use crate::front::http::Principal;
use crate::front::http::refusal::{Refusal, json};
use crate::http::body::{self, Body};
use crate::mcp::code::{INTERNAL, INVALID_REQUEST};
use crate::mcp::{Heard, Lanes, Note};
use crate::upstream::link::Dial;
use conversation::Session;
use reader::{Reader, read_event_id};

/// The header field that names the session.
const SESSION: &str = "mcp-session-id";
/// The header field that names the last event that a client has heard.
const LAST_EVENT: &str = "last-event-id";
/// How long a session must have been idle to make room for another.
const DISPENSABLE: Duration = Duration::from_mins(1);
/// How often sessions are looked at.
const ROUND: Duration = Duration::from_secs(15);

/// All sessions.
pub(super) struct Sessions {
    dial: Arc<dyn Dial>,
    lanes: Lanes,
    limits: Limits,
    all: Mutex<HashMap<String, Arc<Session>>>,
    looked_after: AtomicBool,
}

/// A session whose beginning nobody has seen yet: dropping it ends the session.
struct Opening(Option<Arc<Session>>);

impl Sessions {
    pub(super) fn new(dial: Arc<dyn Dial>, lanes: Lanes, limits: Limits) -> Self {
        Self { dial, lanes, limits, all: Mutex::default(), looked_after: AtomicBool::new(false) }
    }

    /// Answers what was posted.
    pub(super) async fn post(
        self: &Arc<Self>,
        principal: &Principal,
        headers: &HeaderMap,
        text: &str,
        heard: &Heard<'_>,
    ) -> Result<Response<Body>, Refusal> {
        if heard.requests().next().is_none() {
            let session = self.find(principal, headers)?;
            session.desk().touch(Instant::now());
            session.say(text, heard, None).await;
            return Ok(accepted());
        }
        let accept = Accept::of(headers).check()?;
        let begins = !headers.contains_key(SESSION)
            && heard.requests().any(|request| request.method() == "initialize");
        // What answers `initialize` is looked at first, where the client lets us.
        let accept = if begins { accept } else { accept.as_listed() };
        let session = if begins {
            let first = heard.requests().next().map_or("null", |request| request.id());
            self.open(principal).await.map_err(|refusal| refusal.of(first))?
        } else {
            self.find(principal, headers)?
        };
        let opening = Opening(begins.then(|| Arc::clone(&session)));
        let seat = session.desk().post(heard, accept.stream, Instant::now());
        let reader = Reader::new(&session, seat);
        let priming = era::knows_priming(headers).then(|| reader.here());
        session.say(text, heard, Some(seat)).await;
        let mut response = match reply(reader, accept, heard.batch, priming).await {
            Reply::Json(answer) if begins && !is_result(&answer) => return Ok(json(StatusCode::OK, answer)),
            Reply::Json(answer) => json(StatusCode::OK, answer),
            Reply::Stream(response) => response,
            Reply::Lost(_) => return Err(ended()),
        };
        opening.seen();
        name(&mut response, &session);
        Ok(response)
    }

    /// The stream of what belongs to no post, or of what a client has missed.
    pub(super) fn listen(
        &self,
        principal: &Principal,
        headers: &HeaderMap,
    ) -> Result<Response<Body>, Refusal> {
        if !Accept::of(headers).stream {
            let message = "what is heard here is text/event-stream; send Accept with it";
            return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message));
        }
        let session = self.find(principal, headers)?;
        let after = match field(headers, LAST_EVENT) {
            Some(id) => {
                Some(read_event_id(id).ok_or_else(|| bad(format!("no event here has the id `{id}`")))?)
            }
            None => None,
        };
        let seat = session.desk().listen(after, Instant::now());
        let seat = seat.ok_or_else(|| bad("what came after this event is not kept any more; ask anew"))?;
        // Whoever read here before hears its end.
        session.changed.notify_waiters();
        let mut reader = Reader::new(&session, seat);
        reader.is_streamed();
        let priming = era::knows_priming(headers).then(|| reader.here());
        let mut response = events(reader, &[], priming);
        name(&mut response, &session);
        Ok(response)
    }

    /// Ends a session.
    pub(super) fn end(&self, principal: &Principal, headers: &HeaderMap) -> Result<Response<Body>, Refusal> {
        let session = self.find(principal, headers)?;
        session.end();
        Ok(Response::new(body::empty()))
    }

    /// Ends all of them, and waits until their servers have left.
    pub(super) async fn close(&self) {
        let all: Vec<_> = self.all().drain().map(|(_, session)| session).collect();
        all.iter().for_each(|session| session.end());
        for session in all {
            session.ended().await;
        }
    }

    fn find(&self, principal: &Principal, headers: &HeaderMap) -> Result<Arc<Session>, Refusal> {
        let id =
            field(headers, SESSION).ok_or_else(|| bad("Mcp-Session-Id is missing; send initialize first"))?;
        let owner = principal.owner();
        let found =
            self.all().get(id).filter(|session| session.owner.is(&owner) && !session.is_over()).cloned();
        let found = found.ok_or_else(ended)?;
        era::check_settled(headers, found.settled())?;
        Ok(found)
    }

    async fn open(self: &Arc<Self>, principal: &Principal) -> Result<Arc<Session>, Refusal> {
        self.make_room()?;
        let link = self.dial.dial().await;
        let link =
            link.map_err(|error| Refusal::new(StatusCode::BAD_GATEWAY, INTERNAL, error.to_string()))?;
        let id = random_id()?;
        let scope = principal.in_session(&id);
        let lane = self.lanes.lane(scope, principal.conversation(Some(&id)));
        let session = Session::begin(id.clone(), principal.owner(), lane, link);
        self.all().insert(id, Arc::clone(&session));
        if !self.looked_after.swap(true, Ordering::Relaxed) {
            tokio::spawn(look_after(Arc::downgrade(self)));
        }
        Ok(session)
    }

    fn make_room(&self) -> Result<(), Refusal> {
        let mut all = self.all();
        all.retain(|_, session| !session.has_ended());
        let open = all.values().filter(|session| !session.is_over()).count();
        if open < self.limits.sessions {
            return Ok(());
        }
        let idle = all.values().filter(|session| !session.is_over());
        let idle = idle.filter_map(|session| Some((session.desk().idle_since()?, session)));
        let longest = idle.min_by_key(|(since, _)| *since).filter(|(since, _)| since.elapsed() > DISPENSABLE);
        let Some((_, session)) = longest else {
            let message =
                format!("{open} sessions are open, which is all there may be; end one, or try later");
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, INTERNAL, message));
        };
        tracing::info!("ended the session that was idle longest, to make room");
        session.end();
        Ok(())
    }

    /// Ends what is idle.
    fn tidy(&self, now: Instant) {
        let mut all = self.all();
        all.retain(|_, session| !session.has_ended());
        for session in all.values().filter(|session| !session.is_over()) {
            let idle = {
                let mut desk = session.desk();
                desk.tidy(now);
                desk.idle_since()
            };
            if idle.is_some_and(|since| now.duration_since(since) > self.limits.idle) {
                tracing::info!("ended a session that was idle");
                session.end();
            }
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opening {
    fn seen(mut self) {
        self.0 = None;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.end();
        }
    }
}

async fn look_after(sessions: Weak<Sessions>) {
    loop {
        tokio::time::sleep(ROUND).await;
        let Some(sessions) = sessions.upgrade() else { return };
        sessions.tidy(Instant::now());
    }
}

fn ended() -> Refusal {
    // The same for all three: who guesses an id learns nothing.
    let message = "this session does not exist, has ended, or was begun with other credentials, such as a token that was \
                   refreshed since and is no JSON Web Token of the same subject; send initialize again";
    Refusal::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message)
}

/// Tells the client the name of its session.
fn name(response: &mut Response<Body>, session: &Session) {
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION, id);
    }
}

fn is_result(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    Heard::read(&text).is_ok_and(|heard| heard.messages.iter().any(Note::is_result))
}

/// 128 bits that nobody can guess.
fn random_id() -> Result<String, Refusal> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| {
        let message = format!("no session can be begun: the system has no randomness to give: {error}");
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL, message)
    })?;
    Ok(format!("{:032x}", u128::from_be_bytes(id)))
}
