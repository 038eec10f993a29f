//! What is remembered between posts: what a server has said of itself, and requests whose answers may come another way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::HeaderMap;
use portion_core::cursor::Scope;

use super::session_opening::SessionOpening;
use crate::front::http::Principal;
use crate::mcp::{McpProcessor, McpProcessorFactory, RequestIdMap};
use crate::relay::MessageProcessor as _;

/// How many sessions are remembered; of more, those are forgotten that have not been used for longest. Forgetting
/// one costs a question for the tools.
const MAX_SESSIONS: usize = 8192;
/// How many unanswered posts of a session are remembered, for the client to have them resumed.
const MAX_UNANSWERED_POSTS: usize = 64;

/// The id that a server has given a session.
pub(super) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id")?.to_str().ok()
}

/// One session; or, where a server has none, all that one principal asks.
pub(super) struct ProxySession {
    /// Knows the server. Posts have siblings of it, for each has its own requests.
    pub(super) processor: McpProcessor,
    pub(super) opening: SessionOpening,
    /// Ids of requests under way, which no other request of the session may have; `None` where ids are no session's.
    ids_in_flight: Option<Mutex<RequestIdMap<()>>>,
    /// Posts whose streams ended before the answer, which the client may have resumed.
    unanswered_posts: Mutex<Vec<Arc<McpProcessor>>>,
    last_used: AtomicU64,
}

/// The ids of a post's requests, taken as long as this lives.
pub(super) struct ReservedIds {
    session: Arc<ProxySession>,
    ids: Vec<Box<str>>,
}

/// All sessions.
#[derive(Default)]
pub(super) struct SessionCache {
    sessions: Mutex<SessionMap>,
    use_count: AtomicU64,
}

/// By principal and id.
type SessionMap = HashMap<(Scope, Box<str>), Arc<ProxySession>>;

impl SessionCache {
    /// The session that a request names, as far as anything is known of it; or, where it names none, all that its caller
    /// asks.
    pub(super) fn get_or_insert(
        &self,
        principal: &Principal,
        lanes: &McpProcessorFactory,
    ) -> Arc<ProxySession> {
        let now = self.use_count.fetch_add(1, Ordering::Relaxed);
        let (scope, id) = (principal.scope(), principal.session_id().unwrap_or_default());
        let mut all = self.sessions();
        let session = all.entry((scope, id.into())).or_insert_with(|| {
            // Nobody has seen the server give this id: several clients may have made it up.
            let lane = lanes
                .new_processor(scope, principal.conversation(principal.session_id()))
                .with_reuse(principal.has_credential());
            Arc::new(ProxySession::new(lane, !id.is_empty()))
        });
        session.last_used.store(now, Ordering::Relaxed);
        let session = Arc::clone(session);
        evict_least_recent(&mut all);
        session
    }

    /// A session has begun, or a caller has begun anew: this is known of the server.
    pub(super) fn insert_started(&self, principal: &Principal, id: Option<&str>, lane: &McpProcessor) {
        let id = id.filter(|id| !id.is_empty());
        let scope = id.map_or_else(|| principal.sessionless_scope(), |id| principal.session_scope(id));
        let key = (scope, id.unwrap_or_default().into());
        let lane = lane.fork().with_session(scope, principal.conversation(id));
        let mut all = self.sessions();
        // A server that gives one id to many tells nobody apart by it.
        let is_one_caller = principal.has_credential() || (id.is_some() && !all.contains_key(&key));
        let lane = lane.with_reuse(is_one_caller);
        let session = match id {
            Some(_) => ProxySession::new(lane, true),
            None => ProxySession::new(lane.without_client(), false),
        };
        session.last_used.store(self.use_count.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        all.insert(key, Arc::new(session));
        evict_least_recent(&mut all);
    }

    /// The session that a request names has ended.
    pub(super) fn remove(&self, principal: &Principal) {
        let key = (principal.scope(), principal.session_id().unwrap_or_default().into());
        let mut all = self.sessions();
        let Some(ended) = all.remove(&key) else { return };
        if !principal.has_credential() && principal.session_id().is_some() {
            // Its id has been given: should the server give it again, it tells nobody apart.
            let rest = ProxySession::new(ended.processor.fork().with_reuse(false), true);
            rest.last_used.store(ended.last_used.load(Ordering::Relaxed), Ordering::Relaxed);
            all.insert(key, Arc::new(rest));
        }
    }

    fn sessions(&self) -> MutexGuard<'_, SessionMap> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProxySession {
    /// A session that has no id yet.
    pub(super) fn without_id(principal: &Principal, lanes: &McpProcessorFactory) -> Self {
        let scope = principal.sessionless_scope();
        let lane = lanes.new_processor(scope, principal.conversation(None));
        Self::new(lane.with_reuse(principal.has_credential()), false)
    }

    fn new(lane: McpProcessor, has_ids: bool) -> Self {
        let ids = has_ids.then(Mutex::default);
        Self {
            processor: lane,
            opening: SessionOpening::default(),
            ids_in_flight: ids,
            unanswered_posts: Mutex::default(),
            last_used: AtomicU64::new(0),
        }
    }

    /// A lane for a post.
    pub(super) fn post_processor(&self) -> McpProcessor {
        if self.ids_in_flight.is_some() { self.processor.fork_in_session() } else { self.processor.fork() }
    }

    /// Takes the ids of a post's requests.
    ///
    /// # Errors
    /// The id that is taken already.
    pub(super) fn reserve_ids<'a>(
        self: &Arc<Self>,
        ids: impl Iterator<Item = &'a str>,
    ) -> Result<ReservedIds, Box<str>> {
        let mut taken = ReservedIds { session: Arc::clone(self), ids: Vec::new() };
        let Some(all) = &self.ids_in_flight else { return Ok(taken) };
        for id in ids {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            if all.contains(id) {
                return Err(id.into());
            }
            all.insert(id, ());
            taken.ids.push(id.into());
        }
        Ok(taken)
    }

    /// Keeps a post whose stream ended before the answer.
    pub(super) fn keep_unanswered(&self, lane: Arc<McpProcessor>) {
        let mut unanswered = self.unanswered_posts();
        if unanswered.len() >= MAX_UNANSWERED_POSTS {
            unanswered.remove(0);
        }
        unanswered.push(lane);
    }

    /// The lane that an answer of this id belongs to, which came on a stream of the session's own.
    pub(super) fn processor_awaiting(&self, raw_id: &str) -> Option<Arc<McpProcessor>> {
        let mut unanswered = self.unanswered_posts();
        unanswered.retain(|lane| lane.pending_count() > 0);
        unanswered.iter().find(|lane| lane.is_awaiting(raw_id)).map(Arc::clone)
    }

    fn unanswered_posts(&self) -> MutexGuard<'_, Vec<Arc<McpProcessor>>> {
        self.unanswered_posts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReservedIds {
    /// They are answered: a client may use them again as soon as it knows.
    pub(super) fn release(&mut self) {
        let Some(all) = &self.session.ids_in_flight else { return };
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        for id in self.ids.drain(..) {
            all.take(&id);
        }
    }

    /// Nothing, for what has been given back.
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
    // An eighth at a time, so that not every new session looks at all others.
    let (_, oldest_kept, _) = uses.select_nth_unstable(MAX_SESSIONS / 8);
    let oldest_kept = *oldest_kept;
    all.retain(|_, session| session.last_used.load(Ordering::Relaxed) >= oldest_kept);
}
