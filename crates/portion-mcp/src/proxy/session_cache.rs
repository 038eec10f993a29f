//! State kept between the posts of a session: capabilities and tools of the server, and requests whose responses may
//! arrive on another stream.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::HeaderMap;
use portion_core::cursor::Scope;

use super::session_opening::SessionOpening;
use crate::mcp::{McpProcessor, McpProcessorFactory, RequestIdMap};
use crate::relay::MessageProcessor as _;
use portion_gateway::principal::Principal;

/// Sessions kept; the least recently used are evicted. An evicted session costs another `tools/list` request.
const MAX_SESSIONS: usize = 8192;
/// Unanswered posts kept per session, so that the client can resume them.
const MAX_UNANSWERED_POSTS: usize = 64;

/// Returns the session id that the server has assigned.
pub(super) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id")?.to_str().ok()
}

/// A session, or all requests of one principal if the server has no sessions.
pub(super) struct ProxySession {
    /// Holds the state of the server. Each post gets a fork of it, with its own requests.
    pub(super) processor: McpProcessor,
    pub(super) opening: SessionOpening,
    /// Ids of the pending requests, which must be unique in the session; `None` if this is not a session.
    ids_in_flight: Option<Mutex<RequestIdMap<()>>>,
    /// Posts whose streams ended before the response, and which the client may resume.
    unanswered_posts: Mutex<Vec<Arc<McpProcessor>>>,
    last_used: AtomicU64,
}

/// Reserved ids of the requests of a post; released when this is dropped.
pub(super) struct ReservedIds {
    session: Arc<ProxySession>,
    ids: Vec<Box<str>>,
}

/// Cache of all sessions.
#[derive(Default)]
pub(super) struct SessionCache {
    sessions: Mutex<SessionMap>,
    use_count: AtomicU64,
}

/// Sessions by scope and id.
type SessionMap = HashMap<(Scope, Box<str>), Arc<ProxySession>>;

impl SessionCache {
    /// Returns the session of a request, or that of its caller if it has no session id.
    pub(super) fn get_or_insert(
        &self,
        principal: &Principal,
        processor_factory: &McpProcessorFactory,
    ) -> Arc<ProxySession> {
        let now = self.use_count.fetch_add(1, Ordering::Relaxed);
        let (scope, id) = (principal.scope(), principal.session_id().unwrap_or_default());
        let mut all = self.sessions();
        let session = all.entry((scope, id.into())).or_insert_with(|| {
            // The server was not seen to assign this id: several clients may have made it up.
            let processor = processor_factory
                .new_processor(scope, principal.conversation(principal.session_id()))
                .with_reuse(principal.has_credential());
            Arc::new(ProxySession::new(processor, !id.is_empty()))
        });
        session.last_used.store(now, Ordering::Relaxed);
        let session = Arc::clone(session);
        evict_least_recent(&mut all);
        session
    }

    /// Adds a session that has begun, or replaces that of a caller without session id.
    pub(super) fn insert_started(&self, principal: &Principal, id: Option<&str>, processor: &McpProcessor) {
        let id = id.filter(|id| !id.is_empty());
        let scope = id.map_or_else(|| principal.sessionless_scope(), |id| principal.session_scope(id));
        let key = (scope, id.unwrap_or_default().into());
        let processor = processor.fork().with_session(scope, principal.conversation(id));
        let mut all = self.sessions();
        // An id that the server assigns several times does not identify a caller.
        let identifies_caller = principal.has_credential() || (id.is_some() && !all.contains_key(&key));
        let processor = processor.with_reuse(identifies_caller);
        let session = match id {
            Some(_) => ProxySession::new(processor, true),
            None => ProxySession::new(processor.without_client(), false),
        };
        session.last_used.store(self.use_count.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        all.insert(key, Arc::new(session));
        evict_least_recent(&mut all);
    }

    /// Removes the session of a request.
    pub(super) fn remove(&self, principal: &Principal) {
        let key = (principal.scope(), principal.session_id().unwrap_or_default().into());
        let mut all = self.sessions();
        let Some(ended) = all.remove(&key) else { return };
        if !principal.has_credential() && principal.session_id().is_some() {
            // Keeps the id without reuse: if the server assigns it again, it does not identify a caller.
            let tombstone = ProxySession::new(ended.processor.fork().with_reuse(false), true);
            tombstone.last_used.store(ended.last_used.load(Ordering::Relaxed), Ordering::Relaxed);
            all.insert(key, Arc::new(tombstone));
        }
    }

    fn sessions(&self) -> MutexGuard<'_, SessionMap> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProxySession {
    /// Creates a session that has no id yet.
    pub(super) fn without_id(principal: &Principal, processor_factory: &McpProcessorFactory) -> Self {
        let scope = principal.sessionless_scope();
        let processor = processor_factory.new_processor(scope, principal.conversation(None));
        Self::new(processor.with_reuse(principal.has_credential()), false)
    }

    fn new(processor: McpProcessor, has_ids: bool) -> Self {
        let ids_in_flight = has_ids.then(Mutex::default);
        Self {
            processor,
            opening: SessionOpening::default(),
            ids_in_flight,
            unanswered_posts: Mutex::default(),
            last_used: AtomicU64::new(0),
        }
    }

    /// Returns a processor for a post.
    pub(super) fn post_processor(&self) -> McpProcessor {
        if self.ids_in_flight.is_some() { self.processor.fork_in_session() } else { self.processor.fork() }
    }

    /// Reserves the ids of the requests of a post.
    ///
    /// # Errors
    /// Returns the first id that is already reserved.
    pub(super) fn reserve_ids<'a>(
        self: &Arc<Self>,
        ids: impl Iterator<Item = &'a str>,
    ) -> Result<ReservedIds, Box<str>> {
        let mut reserved = ReservedIds { session: Arc::clone(self), ids: Vec::new() };
        let Some(all) = &self.ids_in_flight else { return Ok(reserved) };
        for id in ids {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            if all.contains(id) {
                return Err(id.into());
            }
            all.insert(id, ());
            reserved.ids.push(id.into());
        }
        Ok(reserved)
    }

    /// Keeps a post whose stream ended before the response.
    pub(super) fn keep_unanswered(&self, processor: Arc<McpProcessor>) {
        let mut unanswered = self.unanswered_posts();
        if unanswered.len() >= MAX_UNANSWERED_POSTS {
            unanswered.remove(0);
        }
        unanswered.push(processor);
    }

    /// Returns the processor of the unanswered post that waits for the response with this id.
    pub(super) fn processor_awaiting(&self, raw_id: &str) -> Option<Arc<McpProcessor>> {
        let mut unanswered = self.unanswered_posts();
        unanswered.retain(|processor| processor.pending_count() > 0);
        unanswered.iter().find(|processor| processor.is_awaiting(raw_id)).map(Arc::clone)
    }

    fn unanswered_posts(&self) -> MutexGuard<'_, Vec<Arc<McpProcessor>>> {
        self.unanswered_posts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReservedIds {
    /// Releases the ids; called before the client gets the responses, because it may reuse them at once.
    pub(super) fn release(&mut self) {
        let Some(all) = &self.session.ids_in_flight else { return };
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
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

fn evict_least_recent(all: &mut SessionMap) {
    if all.len() <= MAX_SESSIONS {
        return;
    }
    let mut uses: Vec<u64> = all.values().map(|session| session.last_used.load(Ordering::Relaxed)).collect();
    // Evicts an eighth at a time, so that not every new session scans all others.
    let (_, oldest_kept, _) = uses.select_nth_unstable(MAX_SESSIONS / 8);
    let oldest_kept = *oldest_kept;
    all.retain(|_, session| session.last_used.load(Ordering::Relaxed) >= oldest_kept);
}
