//! A session of a client, or all requests of a client without sessions, and the state that is kept between its
//! posts: capabilities and tools of the server, and requests whose responses are open.
//!
//! The first request of a session is delayed until its listening stream is open. Clients open the stream and send the first
//! request at the same time, and a server that sends a request of its own during that first request needs the stream. The
//! proxy could reorder the two.
//!
//! A proxy cannot know if a session goes on, and many clients leave without ending theirs. A session that nothing uses
//! becomes dormant: it keeps what it has learned in a few hundred bytes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use parking_lot::Mutex;
use portion_core::cursor::Scope;
use portion_gateway::principal::Principal;
use tokio::time::timeout;

use crate::mcp::{DormantProcessor, McpProcessor, McpProcessorFactory, RequestIdMap};
use crate::message_processor::MessageProcessor as _;
use crate::once::{OneShotFlag, SetOnDrop};

/// Unanswered posts kept per session, so that the client can resume them.
const MAX_UNANSWERED_POSTS: usize = 64;

/// Sessions kept. Beyond it the least recently used of the caller with the most are evicted, so that no caller evicts the
/// sessions of others: of a verified caller, an evicted session has ended. Of others it costs another `tools/list`
/// request.
const MAX_SESSIONS: usize = 8192;

/// Sessions of the caller with the most from which only its own are evicted. With fewer there are so many callers that the
/// least recently used sessions of all are evicted.
const MIN_LARGEST_SHARE: usize = MAX_SESSIONS / 64;

/// Time after its last request at which a session becomes dormant.
const DORMANT_AFTER: Duration = Duration::from_mins(1);

/// Time after its last request at which the unanswered posts of a session are forgotten.
const UNANSWERED_POSTS_TTL: Duration = Duration::from_mins(30);

/// Interval of the search for sessions that become dormant.
const SWEEP_INTERVAL: Duration = Duration::from_secs(15);

/// A session, or all requests of one principal if the server has no sessions.
pub(super) struct ProxySession {
    /// Holds the state of the server. Each post gets a fork of it, with its own requests.
    pub(super) processor: McpProcessor,
    pub(super) opening: SessionOpening,
    /// Ids of the pending requests, which must be unique in the session; `None` if this is not a session.
    ids_in_flight: Option<Mutex<RequestIdMap<()>>>,
    /// Posts whose streams ended before the response, and which the client may resume.
    pub(super) unanswered_posts: Mutex<Vec<Arc<McpProcessor>>>,
}

/// Reserved ids of the requests of a post; released when this is dropped.
pub(super) struct ReservedIds {
    session: Arc<ProxySession>,
    ids: Vec<Box<str>>,
}

impl ProxySession {
    /// Creates a session that has no id yet.
    pub(super) fn without_id(principal: &Principal, processor_factory: &McpProcessorFactory) -> Self {
        let scope = principal.sessionless_scope;
        let processor = processor_factory.new_processor(scope, principal.conversation(None));
        Self::new(processor.with_reuse(principal.has_credential), false)
    }

    /// Creates a session. `has_ids`: request ids must be unique in it.
    pub(super) fn new(processor: McpProcessor, has_ids: bool) -> Self {
        let ids_in_flight = has_ids.then(Mutex::default);
        Self {
            processor,
            opening: SessionOpening::default(),
            ids_in_flight,
            unanswered_posts: Mutex::default(),
        }
    }

    /// Returns a processor for a post.
    pub(super) fn post_processor(&self) -> McpProcessor {
        if self.ids_in_flight.is_some() { self.processor.fork_in_session() } else { self.processor.fork() }
    }

    /// Reserves the ids of the requests of a post. Returns also those of them that other posts have reserved.
    pub(super) fn reserve_ids<'a>(
        self: &Arc<Self>,
        ids: impl Iterator<Item = &'a str>,
    ) -> (ReservedIds, RequestIdMap<()>) {
        let (mut reserved, mut taken) = (ReservedIds::empty(self), RequestIdMap::default());
        let Some(all) = &self.ids_in_flight else { return (reserved, taken) };
        let mut all = all.lock();
        let (of_others, own): (Vec<_>, Vec<_>) = ids.partition(|id| all.contains(id));
        of_others.into_iter().for_each(|id| taken.insert(id, ()));
        for id in own {
            // A batch may repeat an id.
            if !all.contains(id) {
                all.insert(id, ());
                reserved.ids.push(id.into());
            }
        }
        (reserved, taken)
    }

    /// Keeps a post whose stream ended before the response.
    pub(super) fn keep_unanswered(&self, processor: Arc<McpProcessor>) {
        let mut unanswered = self.unanswered_posts.lock();
        if unanswered.len() >= MAX_UNANSWERED_POSTS {
            unanswered.remove(0);
        }
        unanswered.push(processor);
    }

    /// Returns the processor of the unanswered post that waits for the response with this id.
    pub(super) fn processor_awaiting(&self, raw_id: &str) -> Option<Arc<McpProcessor>> {
        let mut unanswered = self.unanswered_posts.lock();
        unanswered.retain(|processor| processor.pending_count() > 0);
        unanswered.iter().find(|processor| processor.is_awaiting(raw_id)).map(Arc::clone)
    }
}

impl ReservedIds {
    /// Releases the ids; called before the client gets the responses, because it may reuse them at once.
    pub(super) fn release(&mut self) {
        let Some(all) = &self.session.ids_in_flight else { return };
        let mut all = all.lock();
        for id in self.ids.drain(..) {
            all.take(&id);
        }
    }

    /// Creates an empty reservation.
    pub(super) fn empty(session: &Arc<ProxySession>) -> Self {
        Self { session: Arc::clone(session), ids: Vec::new() }
    }
}

impl Drop for ReservedIds {
    fn drop(&mut self) {
        self.release();
    }
}

/// Longest wait of the first request for the response to the stream request.
const STREAM_ANSWER_TIMEOUT: Duration = Duration::from_millis(300);

/// Longest wait for the stream request: a client on the same machine needs a few milliseconds.
const STREAM_REQUEST_TIMEOUT: Duration = Duration::from_millis(30);

/// State of the opening of a session.
#[derive(Default)]
pub(super) struct SessionOpening {
    /// True if the client has sent `initialized`, and no request since.
    is_client_ready: AtomicBool,
    stream_requested: OneShotFlag,
    stream_answered: OneShotFlag,
}

impl SessionOpening {
    /// Records that the client has sent `initialized`.
    pub(super) fn mark_client_ready(&self) {
        self.is_client_ready.store(true, Ordering::Release);
    }

    /// Records a request for the listening stream, which is answered when the guard is dropped.
    pub(super) fn begin_stream_request(&self) -> SetOnDrop<'_> {
        self.stream_requested.set();
        SetOnDrop(&self.stream_answered)
    }

    /// Waits for the listening stream. Returns at once except for the first request after
    /// [`mark_client_ready`](Self::mark_client_ready).
    pub(super) async fn wait_for_stream(&self) {
        if !self.is_client_ready.swap(false, Ordering::AcqRel) {
            return;
        }
        if timeout(STREAM_REQUEST_TIMEOUT, self.stream_requested.wait()).await.is_ok() {
            let _ = timeout(STREAM_ANSWER_TIMEOUT, self.stream_answered.wait()).await;
        }
    }
}

/// Returns the session id that the server has assigned.
pub(super) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id")?.to_str().ok()
}

/// Cache of all sessions.
#[derive(Default)]
pub(super) struct SessionCache(Mutex<CachedSessions>);

#[derive(Default)]
struct CachedSessions {
    by_key: HashMap<SessionKey, CachedSession>,
    use_count: u64,
    swept_at: Option<Instant>,
}

/// Scope and id of a session.
type SessionKey = (Scope, Box<str>);

struct CachedSession {
    state: SessionState,
    /// Caller that began it; see [`Principal::caller_scope`].
    caller: Scope,
    /// Value of `use_count` at the last use.
    last_use: u64,
    last_used_at: Instant,
}

enum SessionState {
    Active(Arc<ProxySession>),
    /// Nothing is pending.
    Dormant(DormantProcessor),
}

impl SessionCache {
    /// Returns the session of a request, or that of its caller if it has no session id.
    pub(super) fn get_or_insert(
        &self,
        principal: &Principal,
        processor_factory: &McpProcessorFactory,
    ) -> Arc<ProxySession> {
        let (scope, id) = (principal.scope(), principal.session_id().unwrap_or_default());
        let key: SessionKey = (scope, id.into());
        let mut all = self.0.lock();
        let session = match all.by_key.get(&key).map(|cached| &cached.state) {
            Some(SessionState::Active(session)) => Arc::clone(session),
            Some(SessionState::Dormant(dormant)) => {
                Arc::new(ProxySession::new(dormant.wake(scope, processor_factory), !id.is_empty()))
            }
            None => {
                // The server was not seen to assign this id: several clients may have made it up.
                let processor = processor_factory
                    .new_processor(scope, principal.conversation(principal.session_id()))
                    .with_reuse(principal.has_credential);
                Arc::new(ProxySession::new(processor, !id.is_empty()))
            }
        };
        let now = processor_factory.gateway.now();
        all.insert(key, principal.caller_scope, Arc::clone(&session), now);
        session
    }

    /// Returns true if a verified caller may use the session of its request. The server does not see the credentials of
    /// such callers, so it cannot refuse the sessions of others: only a session that the caller has begun here is its
    /// own.
    pub(super) fn is_own(&self, principal: &Principal) -> bool {
        let Some(id) = principal.session_id().filter(|_| principal.is_verified) else { return true };
        self.0.lock().by_key.contains_key(&(principal.scope(), id.into()))
    }

    /// Adds a session that has begun, or replaces that of a caller without session id.
    pub(super) fn insert_started(
        &self,
        principal: &Principal,
        id: Option<&str>,
        processor: &McpProcessor,
        now: Instant,
    ) {
        let id = id.filter(|id| !id.is_empty());
        let scope = id.map_or_else(|| principal.sessionless_scope, |id| principal.session_scope(id));
        let key: SessionKey = (scope, id.unwrap_or_default().into());
        let processor = processor.fork().with_session(scope, principal.conversation(id));
        let mut all = self.0.lock();
        // An id that the server assigns several times does not identify a caller.
        let identifies_caller = principal.has_credential || (id.is_some() && !all.by_key.contains_key(&key));
        let processor = processor.with_reuse(identifies_caller);
        let session = match id {
            Some(_) => ProxySession::new(processor, true),
            None => ProxySession::new(processor.without_client(), false),
        };
        all.insert(key, principal.caller_scope, Arc::new(session), now);
    }

    /// Removes the session of a request.
    pub(super) fn remove(&self, principal: &Principal) {
        let key: SessionKey = (principal.scope(), principal.session_id().unwrap_or_default().into());
        let mut all = self.0.lock();
        let Some(ended) = all.by_key.remove(&key) else { return };
        if !principal.has_credential && principal.session_id().is_some() {
            // Keeps the id without reuse: if the server assigns it again, it does not identify a caller.
            let mut dormant = match ended.state {
                SessionState::Active(session) => session.processor.to_dormant(),
                SessionState::Dormant(dormant) => dormant,
            };
            dormant.allows_reuse = false;
            let state = SessionState::Dormant(dormant);
            all.by_key.insert(key, CachedSession { state, ..ended });
        }
    }
}

impl CachedSessions {
    /// Adds or replaces a session that is used now.
    fn insert(&mut self, key: SessionKey, caller: Scope, session: Arc<ProxySession>, now: Instant) {
        self.use_count += 1;
        let state = SessionState::Active(session);
        let session = CachedSession { state, caller, last_use: self.use_count, last_used_at: now };
        self.by_key.insert(key, session);
        if self.by_key.len() > MAX_SESSIONS {
            self.evict();
        }
        if self.swept_at.is_none_or(|swept_at| now.saturating_duration_since(swept_at) >= SWEEP_INTERVAL) {
            self.swept_at = Some(now);
            self.by_key.values_mut().for_each(|cached| cached.sweep(now));
        }
    }

    /// Evicts the older half of the sessions of the caller with the most; if none has many, an eighth of all. That is
    /// many at a time, so that not every new session scans all others.
    fn evict(&mut self) {
        let mut shares: HashMap<Scope, usize> = HashMap::new();
        self.by_key.values().for_each(|session| *shares.entry(session.caller).or_default() += 1);
        let largest = shares.into_iter().max_by_key(|(_, share)| *share);
        let largest = largest.filter(|(_, share)| *share >= MIN_LARGEST_SHARE);
        let evicted_count = largest.map_or(MAX_SESSIONS / 8, |(_, share)| share / 2);
        let is_candidate =
            |session: &CachedSession| largest.is_none_or(|(caller, _)| session.caller == caller);
        let candidates = self.by_key.values().filter(|session| is_candidate(session));
        let mut uses: Vec<u64> = candidates.map(|session| session.last_use).collect();
        let (_, oldest_kept, _) = uses.select_nth_unstable(evicted_count);
        let oldest_kept = *oldest_kept;
        self.by_key.retain(|_, session| session.last_use >= oldest_kept || !is_candidate(session));
    }
}

impl CachedSession {
    /// Makes the session dormant if nothing uses it.
    fn sweep(&mut self, now: Instant) {
        let SessionState::Active(session) = &self.state else { return };
        let idle = now.saturating_duration_since(self.last_used_at);
        if idle < DORMANT_AFTER || Arc::strong_count(session) > 1 {
            return;
        }
        if idle >= UNANSWERED_POSTS_TTL {
            session.unanswered_posts.lock().clear();
        }
        if session.processor.is_quiet() {
            self.state = SessionState::Dormant(session.processor.to_dormant());
        }
    }
}

#[cfg(test)]
mod tests;
