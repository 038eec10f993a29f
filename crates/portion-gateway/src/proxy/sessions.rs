//! What is remembered between posts: what a server has said of itself, and requests whose answers may come another way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::HeaderMap;
use portion_core::cursor::Scope;

use super::opening::Opening;
use crate::front::http::Principal;
use crate::mcp::{Ids, Lanes, McpLane};
use crate::relay::Lane as _;

/// How many sessions are remembered; of more, those are forgotten that have not been used for longest. Forgetting
/// one costs a question for the tools.
const REMEMBERED: usize = 8192;
/// How many unanswered posts of a session are remembered, for the client to have them resumed.
const UNANSWERED: usize = 64;

/// The id that a server has given a session.
pub(super) fn session_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-session-id")?.to_str().ok()
}

/// One session; or, where a server has none, all that one principal asks.
pub(super) struct Session {
    /// Knows the server. Posts have siblings of it, for each has its own requests.
    pub(super) lane: McpLane,
    pub(super) opening: Opening,
    /// Ids of requests under way, which no other request of the session may have; `None` where ids are no session's.
    ids: Option<Mutex<Ids<()>>>,
    /// Posts whose streams ended before the answer, which the client may have resumed.
    unanswered: Mutex<Vec<Arc<McpLane>>>,
    used: AtomicU64,
}

/// The ids of a post's requests, taken as long as this lives.
pub(super) struct Taken {
    session: Arc<Session>,
    ids: Vec<Box<str>>,
}

/// All sessions.
#[derive(Default)]
pub(super) struct Sessions {
    all: Mutex<All>,
    uses: AtomicU64,
}

/// By principal and id.
type All = HashMap<(Scope, Box<str>), Arc<Session>>;

impl Sessions {
    /// The session that a request names, as far as anything is known of it; or, where it names none, all that its caller
    /// asks.
    pub(super) fn session(&self, principal: &Principal, lanes: &Lanes) -> Arc<Session> {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        let (scope, id) = (principal.scope(), principal.session().unwrap_or_default());
        let mut all = self.all();
        let session = all.entry((scope, id.into())).or_insert_with(|| {
            // Nobody has seen the server give this id: several clients may have made it up.
            let lane = lanes
                .lane(scope, principal.conversation(principal.session()))
                .reusing(principal.has_credential());
            Arc::new(Session::new(lane, !id.is_empty()))
        });
        session.used.store(now, Ordering::Relaxed);
        let session = Arc::clone(session);
        make_room(&mut all);
        session
    }

    /// A session has begun, or a caller has begun anew: this is known of the server.
    pub(super) fn begin(&self, principal: &Principal, id: Option<&str>, lane: &McpLane) {
        let id = id.filter(|id| !id.is_empty());
        let scope = id.map_or_else(|| principal.sessionless(), |id| principal.in_session(id));
        let key = (scope, id.unwrap_or_default().into());
        let lane = lane.sibling().in_session(scope, principal.conversation(id));
        let mut all = self.all();
        // A server that gives one id to many tells nobody apart by it.
        let is_one_caller = principal.has_credential() || (id.is_some() && !all.contains_key(&key));
        let lane = lane.reusing(is_one_caller);
        let session = match id {
            Some(_) => Session::new(lane, true),
            None => Session::new(lane.for_anybody(), false),
        };
        session.used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        all.insert(key, Arc::new(session));
        make_room(&mut all);
    }

    /// The session that a request names has ended.
    pub(super) fn end(&self, principal: &Principal) {
        let key = (principal.scope(), principal.session().unwrap_or_default().into());
        let mut all = self.all();
        let Some(ended) = all.remove(&key) else { return };
        if !principal.has_credential() && principal.session().is_some() {
            // Its id has been given: should the server give it again, it tells nobody apart.
            let rest = Session::new(ended.lane.sibling().reusing(false), true);
            rest.used.store(ended.used.load(Ordering::Relaxed), Ordering::Relaxed);
            all.insert(key, Arc::new(rest));
        }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// A session that has no id yet.
    pub(super) fn fresh(principal: &Principal, lanes: &Lanes) -> Self {
        let scope = principal.sessionless();
        let lane = lanes.lane(scope, principal.conversation(None));
        Self::new(lane.reusing(principal.has_credential()), false)
    }

    fn new(lane: McpLane, has_ids: bool) -> Self {
        let ids = has_ids.then(Mutex::default);
        Self { lane, opening: Opening::default(), ids, unanswered: Mutex::default(), used: AtomicU64::new(0) }
    }

    /// A lane for a post.
    pub(super) fn post_lane(&self) -> McpLane {
        if self.ids.is_some() { self.lane.partner() } else { self.lane.sibling() }
    }

    /// Takes the ids of a post's requests.
    ///
    /// # Errors
    /// The id that is taken already.
    pub(super) fn take<'a>(self: &Arc<Self>, ids: impl Iterator<Item = &'a str>) -> Result<Taken, Box<str>> {
        let mut taken = Taken { session: Arc::clone(self), ids: Vec::new() };
        let Some(all) = &self.ids else { return Ok(taken) };
        for id in ids {
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            if all.has(id) {
                return Err(id.into());
            }
            all.insert(id, ());
            taken.ids.push(id.into());
        }
        Ok(taken)
    }

    /// Keeps a post whose stream ended before the answer.
    pub(super) fn keep(&self, lane: Arc<McpLane>) {
        let mut unanswered = self.unanswered();
        if unanswered.len() >= UNANSWERED {
            unanswered.remove(0);
        }
        unanswered.push(lane);
    }

    /// The lane that an answer of this id belongs to, which came on a stream of the session's own.
    pub(super) fn lane_of(&self, raw_id: &str) -> Option<Arc<McpLane>> {
        let mut unanswered = self.unanswered();
        unanswered.retain(|lane| lane.pending() > 0);
        unanswered.iter().find(|lane| lane.awaits(raw_id)).map(Arc::clone)
    }

    fn unanswered(&self) -> MutexGuard<'_, Vec<Arc<McpLane>>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// They are answered: a client may use them again as soon as it knows.
    pub(super) fn give_back(&mut self) {
        let Some(all) = &self.session.ids else { return };
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        for id in self.ids.drain(..) {
            all.take(&id);
        }
    }

    /// Nothing, for what has been given back.
    pub(super) fn none(session: &Arc<Session>) -> Self {
        Self { session: Arc::clone(session), ids: Vec::new() }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn make_room(all: &mut All) {
    if all.len() <= REMEMBERED {
        return;
    }
    let mut uses: Vec<u64> = all.values().map(|session| session.used.load(Ordering::Relaxed)).collect();
    // An eighth at a time, so that not every new session looks at all others.
    let (_, oldest_kept, _) = uses.select_nth_unstable(REMEMBERED / 8);
    let oldest_kept = *oldest_kept;
    all.retain(|_, session| session.used.load(Ordering::Relaxed) >= oldest_kept);
}
