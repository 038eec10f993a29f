//! Sessions of clients of revisions up to 2025-11-25. Each has a link, and thus a server, of its own.
//!
//! - `bridge_session`: one session
//! - `stream_router`: routes server messages to streams
//! - `stream`: messages queued for one response, and a client that reads them

mod bridge_session;
mod stream;
mod stream_router;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use hyper::header::HeaderValue;
use hyper::{Response, StatusCode};
use parking_lot::Mutex;
use portion_core::cursor::Scope;
use portion_gateway::principal::Principal;
use portion_text::display::shortened;

use super::post_response::{AcceptedTypes, MessageSource as _, PostResponse, event_stream_response, respond};
use super::{BridgedServer, Sender, accepted, bad_gateway, bad_request, header_value, session_mode};
use crate::front::http::http_error::{HttpError, HttpResult, json_response};
use crate::http::body::{self, Body};
use crate::mcp::envelope::{INTERNAL_ERROR, INVALID_REQUEST, SERVER_BUSY};
use crate::mcp::{MessageView, OwnedBatch, ParsedBatch};
use crate::message_processor::GATEWAY_STOPS;
use bridge_session::BridgeSession;
use stream::{SubscriptionReader, parse_event_id};

/// Header with the session id.
const SESSION_ID_HEADER: &str = "mcp-session-id";
/// Header with the id of the last event that a client has received.
const LAST_EVENT_ID_HEADER: &str = "last-event-id";
/// Seconds after which a client should retry if all sessions are in use.
const RETRY_AFTER_SECONDS: u16 = 1;
/// Reason for the end of a session other than the end of the gateway.
const SESSION_ENDED: &str = "the session was ended";
/// Interval at which idle sessions are ended.
const SWEEP_INTERVAL: Duration = Duration::from_secs(15);

/// All sessions of a bridge.
pub(super) struct BridgeSessions {
    server: BridgedServer,
    sessions: Mutex<HashMap<String, Arc<BridgeSession>>>,
    /// Number of sessions whose link is being opened.
    opening_count: AtomicUsize,
    has_sweeper: AtomicBool,
}

/// Place of a session that is being opened.
struct OpeningSlot<'a>(&'a AtomicUsize);

/// Guard of a session whose id the client has not received yet: dropping it ends the session.
struct NewSessionGuard(Option<Arc<BridgeSession>>);

impl BridgeSessions {
    pub(super) fn new(server: BridgedServer) -> Self {
        Self {
            server,
            sessions: Mutex::default(),
            opening_count: AtomicUsize::new(0),
            has_sweeper: AtomicBool::new(false),
        }
    }

    /// Answers a post.
    pub(super) async fn handle_post(self: &Arc<Self>, sender: Sender<'_>, posted: OwnedBatch) -> HttpResult {
        let headers = sender.headers;
        let batch = posted.view();
        if batch.requests().next().is_none() {
            let session = self.find_session(sender)?;
            session.router.lock().touch(Instant::now());
            session.forward_post(posted, None).await;
            return Ok(accepted());
        }
        let accept = AcceptedTypes::from_headers(headers).require_any()?;
        let is_new = !headers.contains_key(SESSION_ID_HEADER)
            && batch.requests().any(|request| request.method() == "initialize");
        // The response to `initialize` is preferred as JSON, so that an error can end the session.
        let accept = if is_new { accept } else { accept.prefer_listed_first() };
        let session = if is_new {
            let first_id = batch.requests().next().map_or("null", |request| request.id());
            self.open_session(sender.principal).await.map_err(|error| error.for_request(first_id))?
        } else {
            self.find_session(sender)?
        };
        let guard = NewSessionGuard(is_new.then(|| Arc::clone(&session)));
        let subscription =
            session.router.lock().open_post_stream(&batch, accept.accepts_stream, Instant::now());
        let reader = SubscriptionReader::new(&session, subscription);
        let priming = session_mode::supports_priming(headers).then(|| reader.current_event_id());
        let is_batch = batch.is_batch;
        session.forward_post(posted, Some(subscription)).await;
        let mut response = match respond(reader, accept, is_batch, priming).await {
            PostResponse::Json(json) if is_new && !is_result(&json) => {
                return Ok(json_response(StatusCode::OK, json));
            }
            PostResponse::Json(json) => json_response(StatusCode::OK, json),
            PostResponse::Stream(response) => response,
            PostResponse::Lost(_) => return Err(session_not_found()),
        };
        guard.disarm();
        set_session_header(&mut response, &session);
        Ok(response)
    }

    /// Opens the listening stream, or resumes a stream.
    pub(super) fn open_stream(&self, sender: Sender<'_>) -> HttpResult {
        let headers = sender.headers;
        if !AcceptedTypes::from_headers(headers).accepts_stream {
            let message = "this stream is text/event-stream; send Accept with it";
            return Err(HttpError::new(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, message));
        }
        let session = self.find_session(sender)?;
        let after = match header_value(headers, LAST_EVENT_ID_HEADER) {
            Some(id) => Some(parse_event_id(id).ok_or_else(|| {
                let message = format!("no event has the id `{}`", shortened(id));
                bad_request(message)
            })?),
            None => None,
        };
        let subscription = session.router.lock().subscribe(after, Instant::now());
        let subscription = subscription
            .ok_or_else(|| bad_request("the events after this one have expired; repeat the request"))?;
        // Wakes the previous reader, whose stream ends.
        session.changed.notify_waiters();
        let mut reader = SubscriptionReader::new(&session, subscription);
        reader.mark_streamed();
        let priming = session_mode::supports_priming(headers).then(|| reader.current_event_id());
        let mut response = event_stream_response(reader, &[], priming);
        set_session_header(&mut response, &session);
        Ok(response)
    }

    /// Ends the session of a request.
    pub(super) fn end_session(&self, sender: Sender<'_>) -> HttpResult {
        let session = self.find_session(sender)?;
        session.end(SESSION_ENDED);
        Ok(Response::new(body::empty()))
    }

    /// Ends all sessions, because the gateway stops, and waits until their servers have ended.
    pub(super) async fn close(&self) {
        let all: Vec<_> = self.sessions.lock().drain().map(|(_, session)| session).collect();
        all.iter().for_each(|session| session.end(GATEWAY_STOPS));
        for session in all {
            session.ended.wait().await;
        }
    }

    fn find_session(&self, sender: Sender<'_>) -> Result<Arc<BridgeSession>, HttpError> {
        let Sender { principal, headers } = sender;
        let id = header_value(headers, SESSION_ID_HEADER)
            .ok_or_else(|| bad_request("Mcp-Session-Id is missing; send initialize first"))?;
        let owner = principal.owner_scope;
        let found = self
            .sessions
            .lock()
            .get(id)
            .filter(|session| session.owner.constant_time_eq(&owner) && !session.is_over())
            .cloned();
        let found = found.ok_or_else(session_not_found)?;
        session_mode::check_negotiated_version(headers, found.negotiated_version.get().map(String::as_str))?;
        Ok(found)
    }

    async fn open_session(self: &Arc<Self>, principal: &Principal) -> Result<Arc<BridgeSession>, HttpError> {
        let slot = self.reserve_slot()?;
        let link = self.server.connector.connect().await.map_err(|error| bad_gateway(&error))?;
        let id = random_session_id()?;
        let scope = principal.session_scope(&id);
        let processor = self.server.processor_factory.new_processor(scope, principal.conversation(Some(&id)));
        let session = BridgeSession::start(id.clone(), principal.owner_scope, processor, link);
        {
            let mut all = self.sessions.lock();
            all.insert(id, Arc::clone(&session));
            drop(slot);
        }
        if !self.has_sweeper.swap(true, Ordering::Relaxed) {
            tokio::spawn(sweep_periodically(Arc::downgrade(self)));
        }
        Ok(session)
    }

    /// Reserves a place for a session. Ends an idle session if there is none.
    fn reserve_slot(&self) -> Result<OpeningSlot<'_>, HttpError> {
        let mut all = self.sessions.lock();
        all.retain(|_, session| !session.ended.is_set());
        let open = all.values().filter(|session| !session.is_over()).count();
        let open = open + self.opening_count.load(Ordering::Relaxed);
        // Incremented under the lock of the sessions, so that two requests never get the last place.
        let reserve = || {
            self.opening_count.fetch_add(1, Ordering::Relaxed);
            OpeningSlot(&self.opening_count)
        };
        if open < self.server.limits.max_sessions {
            return Ok(reserve());
        }
        let sessions: Vec<_> = all.values().filter(|session| !session.is_over()).collect();
        let candidates: Vec<_> =
            sessions.iter().map(|session| (session.owner, session.router.lock().idle_since())).collect();
        let Some(evicted) = choose(&candidates, Instant::now()) else {
            let message = format!("{open} sessions are open, which is the maximum; end one, or retry later");
            let error = HttpError::new(StatusCode::SERVICE_UNAVAILABLE, SERVER_BUSY, message);
            return Err(error.retry_after(RETRY_AFTER_SECONDS));
        };
        tracing::info!("ended an idle session to make room for another");
        sessions[evicted].end(SESSION_ENDED);
        Ok(reserve())
    }

    /// Ends idle sessions, and drops expired messages.
    fn end_idle_sessions(&self, now: Instant) {
        let mut all = self.sessions.lock();
        all.retain(|_, session| !session.ended.is_set());
        for session in all.values().filter(|session| !session.is_over()) {
            let idle_since = {
                let mut router = session.router.lock();
                router.expire(now);
                router.idle_since()
            };
            if idle_since.is_some_and(|since| now.duration_since(since) > self.server.limits.idle_timeout) {
                tracing::info!("ended an idle session");
                session.end(SESSION_ENDED);
            }
        }
    }
}

impl Drop for OpeningSlot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl NewSessionGuard {
    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for NewSessionGuard {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.end(SESSION_ENDED);
        }
    }
}

async fn sweep_periodically(sessions: Weak<BridgeSessions>) {
    loop {
        tokio::time::sleep(SWEEP_INTERVAL).await;
        let Some(sessions) = sessions.upgrade() else { return };
        sessions.end_idle_sessions(Instant::now());
    }
}

fn session_not_found() -> HttpError {
    // The same error in all three cases: guessing an id reveals nothing.
    let message = "this session does not exist, has ended, or was created with other credentials (a refreshed token \
                   must be a JSON Web Token of the same subject); send initialize again";
    HttpError::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message)
}

/// Sets the session id header.
fn set_session_header(response: &mut Response<Body>, session: &BridgeSession) {
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION_ID_HEADER, id);
    }
}

fn is_result(json: &[u8]) -> bool {
    ParsedBatch::read(json, |batch| batch.messages.iter().any(MessageView::is_result)) == Some(true)
}

/// Returns a random id of 128 bits.
fn random_session_id() -> Result<String, HttpError> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| {
        let message = format!("cannot create a session: the system provides no randomness: {error}");
        HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR, message)
    })?;
    Ok(format!("{:032x}", u128::from_be_bytes(id)))
}

/// Sessions that were used within this time are not ended.
const MIN_IDLE_TO_EVICT: Duration = Duration::from_mins(1);

/// Returns the session to end, by its place; `None` if all are in use. Each session has an owner and the time since when it
/// is idle. The owner of the most sessions gives one up, so that a caller that opens many cannot end those of others.
pub(super) fn choose(sessions: &[(Scope, Option<Instant>)], now: Instant) -> Option<usize> {
    let mut counts: HashMap<Scope, usize> = HashMap::new();
    for (owner, _) in sessions {
        *counts.entry(*owner).or_default() += 1;
    }
    let idle = sessions.iter().enumerate().filter_map(|(place, (owner, since))| {
        let since = since.filter(|since| now.duration_since(*since) > MIN_IDLE_TO_EVICT)?;
        Some(((Reverse(counts[owner]), since), place))
    });
    idle.min().map(|(_, place)| place)
}

#[cfg(test)]
mod eviction_tests {
    use std::time::{Duration, Instant};

    use portion_core::cursor::Scope;

    use super::choose;

    #[test]
    fn the_owner_of_the_most_sessions_gives_up_the_one_that_is_idle_longest() {
        let start = Instant::now();
        let now = start + Duration::from_hours(1);
        let check = |sessions: &[(&str, Option<u64>)], expect: Option<usize>| {
            let sessions: Vec<_> = sessions
                .iter()
                .map(|(owner, idle)| {
                    (
                        Scope::from_principal(owner),
                        idle.and_then(|idle| now.checked_sub(Duration::from_secs(idle))),
                    )
                })
                .collect();
            assert_eq!(choose(&sessions, now), expect, "{sessions:?}");
        };
        check(&[], None);
        check(&[("a", None), ("b", Some(60))], None);
        check(&[("a", Some(61)), ("b", Some(62))], Some(1));
        check(&[("a", Some(3000)), ("b", Some(70)), ("b", Some(80))], Some(2));
        check(&[("a", Some(3000)), ("b", None), ("b", Some(30))], Some(0));
    }
}
