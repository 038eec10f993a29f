//! State kept between the posts of a session: capabilities and tools of the server, and requests whose responses may
//! arrive on another stream.
//!
//! A proxy cannot know if a session goes on, and many clients leave without ending theirs. A session that nothing uses
//! becomes dormant: it keeps what it has learned in a few hundred bytes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use parking_lot::Mutex;
use portion_core::cursor::Scope;

use super::session::ProxySession;
use crate::mcp::{DormantProcessor, McpProcessor, McpProcessorFactory};
use portion_gateway::principal::Principal;

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
