//! The fetches of a gateway, each in a task of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::Payload;
use portion_core::policy::Policy;
use portion_core::view::{Request, View};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::carrier::{error_text, payload_of};
use super::fetch::Fetch;
use super::need::{Need, sized};
use super::paged_list::PagedList;
use super::rate_limit::{RateLimiter, retry_delay};
use crate::call::Caller;
use crate::effective_policy::EffectivePolicy;
use crate::gateway_parts::Clock;
use crate::offload::offload;
use crate::paged_call::{FirstPage, PageError, PagedCall, PagingNames};
use crate::renderer::{capture, payload_bytes};
use crate::store::{CachedStore, OwnerId, StoreWriteError, StoredSnapshot};

/// Most lists that are fetched at the same time; others wait.
const MAX_CONCURRENT_FETCHES: usize = 16;
/// Longest wait of a reply for further pages. Most clients wait 60 s for a reply.
const MAX_WAIT: Duration = Duration::from_secs(45);

/// Shortest time that a reply waits until what it shows is stored.
const MIN_STORING_WAIT: Duration = Duration::from_secs(5);

/// The fetches of a gateway.
pub(crate) struct Fetches {
    pub(super) store: CachedStore,
    pub(super) clock: Clock,
    /// Claims the lists that this process fetches.
    pub(super) owner: OwnerId,
    in_progress: Mutex<HashMap<SnapshotId, Arc<Fetch>>>,
    rate_limiter: RateLimiter,
    permits: Arc<Semaphore>,
    /// True once any list was fetched page by page.
    was_used: AtomicBool,
}

/// The stored snapshot of a list that grows.
#[derive(Clone, Debug)]
pub(crate) struct Deposit {
    pub(crate) scope: Scope,
    /// The snapshot as it was stored first, with its metadata.
    pub(crate) snapshot: StoredSnapshot,
    /// Policy under which it is captured.
    pub(crate) policy: Arc<EffectivePolicy>,
}

impl Fetches {
    pub(crate) fn new(store: CachedStore, clock: Clock) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_CONCURRENT_FETCHES));
        let mut owner = OwnerId::default();
        // Without randomness nothing is stored.
        let _ = getrandom::fill(&mut owner);
        Self {
            store,
            clock,
            owner,
            in_progress: Mutex::default(),
            rate_limiter: RateLimiter::default(),
            permits,
            was_used: AtomicBool::new(false),
        }
    }

    /// Returns true once any list was fetched page by page.
    pub(crate) fn was_used(&self) -> bool {
        self.was_used.load(Ordering::Relaxed)
    }

    /// Counts a request of a client to an upstream.
    pub(crate) fn record_request(&self, upstream: Option<&str>) {
        self.rate_limiter.record(upstream, Instant::now());
    }

    /// Returns the time until which a reply may wait. `timeout`: the timeout of a request, if there is one.
    pub(crate) fn deadline(timeout: Option<Duration>) -> Instant {
        Instant::now() + timeout.unwrap_or(MAX_WAIT).min(MAX_WAIT)
    }

    /// Begins to fetch the list of which this is the first page, up to what a request wants. Returns `None` if the page has no
    /// list, else the fetch, and the request with the [size](sized) of its page.
    pub(crate) fn begin(
        self: &Arc<Self>,
        call: &Arc<PagedCall>,
        (page, request): (Payload, Request),
        policy: &Policy,
        upstream: Option<Arc<str>>,
    ) -> Option<(Arc<Fetch>, Request)> {
        let mut list = PagedList::begin(call, upstream.clone(), page)?;
        let request = call.request_in_list(request, list.skipped, list.item_count);
        let request = sized(request, list.opening_count, policy);
        let from_start = || match (&call.first, request.limit) {
            (FirstPage::Plain { .. }, Some(limit)) if !request.selects_from_whole() => {
                Some(0..limit as usize)
            }
            _ => None,
        };
        let wanted = Need::wanted_items(&request, policy).or_else(from_start);
        if let Some(wanted) = wanted.filter(|_| !call.is_own_page()) {
            list.extend_to(&wanted);
        }
        self.was_used.store(true, Ordering::Relaxed);
        // The caller's request counts.
        self.rate_limiter.begin(upstream.as_deref(), call.pushdown.requests_per_second, Instant::now());
        Some((self.start(list, Arc::clone(call), upstream), request))
    }

    /// Keeps the snapshot of a list that grows under its id.
    pub(crate) async fn attach(self: &Arc<Self>, fetch: &Arc<Fetch>, deposit: Deposit, count: usize) {
        let id = deposit.snapshot.id;
        *fetch.stored_count.lock().await = count;
        fetch.record_view(&deposit.snapshot.view);
        // A fetch with a deposit that is not among these has lost its list.
        self.in_progress.lock().insert(id, Arc::clone(fetch));
        *fetch.deposit.lock() = Some(deposit);
        if fetch.progress().is_over {
            self.settle(fetch).await;
        }
    }

    /// Waits until the stored list meets a need, if it is being fetched.
    pub(crate) async fn wait_until_stored(&self, id: SnapshotId, need: Need, deadline: Instant) {
        let Some(fetch) = self.get(id) else { return };
        fetch.wait(need, deadline).await;
        let storing = async {
            let stored = *fetch.stored_count.lock().await;
            // A fetch that is over stores its list itself.
            if fetch.progress().is_over {
                self.settle(&fetch).await;
            } else if !need.is_met(stored, false) {
                let reason_need = if fetch.meets(need) { Need::Items(0) } else { need };
                self.replace_snapshot(&fetch, reason_need).await;
            }
        };
        // A store that is slow delays no reply for long. The fetch stores its list by itself, too.
        let limit = deadline.saturating_duration_since(Instant::now()).max(MIN_STORING_WAIT);
        let _ = tokio::time::timeout(limit, storing).await;
    }

    /// Keeps a view of a list that is being fetched.
    pub(crate) fn record_view(&self, id: SnapshotId, view: &View) {
        if let Some(fetch) = self.get(id) {
            fetch.record_view(view);
        }
    }

    /// Returns true if the list is being fetched.
    pub(crate) fn is_in_progress(&self, id: SnapshotId) -> bool {
        self.get(id).is_some()
    }

    /// Returns the number of items that were fetched, if the list is being fetched.
    pub(crate) fn fetched_count(&self, id: SnapshotId) -> Option<usize> {
        self.get(id).map(|fetch| fetch.progress().count)
    }

    /// Continues to fetch a stored list that is not complete, until it meets a need, and ahead. Returns false if that is
    /// not possible.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        stored: &StoredSnapshot,
        caller: &Caller,
        need: Need,
    ) -> bool {
        let (Some(source), Some(endpoint)) = (&caller.page_source, &stored.endpoint) else { return false };
        let extent = stored.snapshot.upstream_list();
        let Some((extent, state)) = extent.and_then(|extent| Some((extent, extent.continuation.as_deref()?)))
        else {
            return false;
        };
        let configured = caller.rule.config().pushdown.clone();
        let Some(pushdown) = configured.or_else(|| PagedList::stated_pushdown(state)) else { return false };
        // The bound holds for what needs everything.
        if need == Need::All && extent.fetched >= pushdown.max_fetch {
            return false;
        }
        let fetched = (payload_of(&stored.snapshot), !stored.snapshot.redacted().is_empty());
        let state = (state, extent.opening_count);
        let Some(list) =
            PagedList::resume(Arc::clone(&pushdown), caller.upstream.clone(), fetched, state, need)
        else {
            return false;
        };
        let snapshot = stored.clone();
        let fetch = Fetch::new(list);
        {
            let mut all = self.in_progress.lock();
            if all.contains_key(&stored.id) {
                return true;
            }
            all.insert(stored.id, Arc::clone(&fetch));
        }
        *fetch.stored_count.lock().await = extent.fetched;
        fetch.record_view(&stored.view);
        let (scope, policy) = (caller.scope, Arc::clone(&caller.effective_policy));
        *fetch.deposit.lock() = Some(Deposit { scope, snapshot, policy });
        let (tool, source) = (endpoint.name.clone(), Arc::clone(source));
        let call = PagedCall {
            tool,
            pushdown,
            source,
            arguments: String::new(),
            names: PagingNames::default(),
            first: FirstPage::Chosen { start: 0, size: 0 },
            own: None,
        };
        self.spawn(&fetch, Arc::new(call), caller.upstream.clone());
        true
    }

    fn start(
        self: &Arc<Self>,
        list: PagedList,
        call: Arc<PagedCall>,
        upstream: Option<Arc<str>>,
    ) -> Arc<Fetch> {
        let fetch = Fetch::new(list);
        if !fetch.progress().is_over {
            self.spawn(&fetch, call, upstream);
        }
        fetch
    }

    fn spawn(self: &Arc<Self>, fetch: &Arc<Fetch>, call: Arc<PagedCall>, upstream: Option<Arc<str>>) {
        let (fetches, task_fetch) = (Arc::clone(self), Arc::clone(fetch));
        let Ok(runtime) = Handle::try_current() else {
            return fetch.edit(|list| list.stop("no further page can be fetched here".into()));
        };
        runtime.spawn(async move {
            tokio::select! {
                () = fetches.fetch_pages(&task_fetch, &call, upstream.as_deref()) => {}
                () = fetches.share_progress(&task_fetch) => {}
            }
            fetches.settle(&task_fetch).await;
        });
    }

    async fn fetch_pages(&self, fetch: &Arc<Fetch>, call: &PagedCall, upstream: Option<&str>) {
        let _permit = self.permits.acquire().await;
        let mut failures = 0;
        loop {
            // Nothing can read a list whose first reply was never sent.
            let has_deposit = fetch.deposit.lock().is_some();
            if !has_deposit && Arc::strong_count(fetch) == 1 {
                return fetch.edit(|list| list.stop("the call was cancelled".into()));
            }
            let Some(arguments) = fetch.list().next_arguments() else { return };
            let rate = call.pushdown.requests_per_second;
            tokio::time::sleep(self.rate_limiter.reserve(upstream, rate, Instant::now())).await;
            let mut requested_delay = None;
            let reason = match call.source.fetch_page(&call.tool, &arguments).await {
                Ok(page) if !page.is_error => {
                    failures = 0;
                    fetch.edit(|list| list.add_page(&page));
                    continue;
                }
                Ok(page) => error_text(&page),
                Err(error @ PageError::Closed) => {
                    return fetch.edit(|list| list.stop(error.to_string()));
                }
                Err(error) => {
                    if let PageError::Limited { delay, .. } = error {
                        requested_delay = Some(delay);
                    }
                    error.to_string()
                }
            };
            let Some(delay) = retry_delay(failures, requested_delay) else {
                // The reason may quote the upstream, whose content does not belong in a log.
                let bytes = reason.len();
                tracing::warn!(
                    tool = call.tool,
                    reason_bytes = bytes,
                    "fetching further pages failed; the replies say why"
                );
                return fetch.edit(|list| list.stop(format!("a further page failed: {reason}")));
            };
            failures += 1;
            if requested_delay.is_some() {
                self.rate_limiter.pause(upstream, delay, Instant::now());
            }
            tokio::time::sleep(delay).await;
        }
    }

    /// Gives up all lists at the end of the program, so that other instances go on with them at once.
    pub(crate) fn give_up(&self) {
        if !self.store.is_shared() {
            return;
        }
        let all = std::mem::take(&mut *self.in_progress.lock());
        for fetch in all.values() {
            fetch.edit(|list| list.stop("this instance ends".into()));
            if let Some((scope, id)) = fetch.deposit_key() {
                self.store.release_later(&scope, id, self.owner);
            }
        }
    }

    /// Stores the list once it is over, and forgets the fetch. Does nothing before its snapshot is stored.
    pub(super) async fn settle(&self, fetch: &Fetch) {
        self.replace_snapshot(fetch, Need::All).await;
        let Some((scope, id)) = fetch.deposit_key() else { return };
        self.forget(fetch, id);
        self.release(&scope, id).await;
    }

    /// Replaces the stored snapshot by one with the items fetched so far. `need`: what a reply waits for.
    pub(super) async fn replace_snapshot(&self, fetch: &Fetch, need: Need) {
        let mut stored = fetch.stored_count.lock().await;
        let Some(deposit) = fetch.deposit.lock().clone() else {
            return;
        };
        if !self.is_current(fetch, deposit.snapshot.id) {
            return;
        }
        let payload = fetch.to_payload(need);
        let count = payload.upstream_list.as_ref().map_or(0, |list| list.fetched);
        let policy = Arc::clone(&deposit.policy);
        let captured = offload(payload_bytes(&payload), move || capture(payload, &policy)).await;
        let Ok(snapshot) = captured else { return };
        let snapshot = Arc::new(snapshot);
        let views: Vec<View> = fetch.views().iter().filter_map(|view| view.rebased(&snapshot)).collect();
        let first = views.first().cloned().unwrap_or_else(View::root);
        let replacement = StoredSnapshot { snapshot: Arc::clone(&snapshot), view: first, ..deposit.snapshot };
        let id = replacement.id;
        let now = (self.clock)();
        match self.store.replace(&deposit.scope, replacement, self.owner, now).await {
            Ok(()) => {}
            Err(StoreWriteError::Claimed) => return self.lose(fetch, id),
            Err(refused) => {
                tracing::warn!(%refused, "a list that was fetched is not stored; its first items stay");
                return;
            }
        }
        *stored = count;
        for view in views.into_iter().skip(1) {
            let _ = self.store.put_view(&deposit.scope, id, (&snapshot, view), (self.clock)()).await;
        }
    }

    /// Returns true if this is the fetch of the list now.
    pub(super) fn is_current(&self, fetch: &Fetch, id: SnapshotId) -> bool {
        self.get(id).is_some_and(|current| current.is(fetch))
    }

    /// Forgets a fetch. It may be settled by its task and by a reply at the same time, and another one of the same list may
    /// have begun in between.
    pub(super) fn forget(&self, fetch: &Fetch, id: SnapshotId) {
        let mut all = self.in_progress.lock();
        if all.get(&id).is_some_and(|current| current.is(fetch)) {
            all.remove(&id);
        }
    }

    fn get(&self, id: SnapshotId) -> Option<Arc<Fetch>> {
        self.in_progress.lock().get(&id).cloned()
    }
}

impl Fetch {
    /// Stops fetching, because nothing can read the list.
    pub(crate) fn abandon(&self) {
        self.edit(|list| list.stop("the list is not stored".into()));
    }
}
