//! Makes all replies with content. A payload enters by [`Gateway::answer`], a request with a cursor by
//! [`Gateway::open_cursor`].
//!
//! A fresh payload is captured and rendered at once. It is stored only if the reply omits something. If the
//! store refuses it, the reply is rendered again without cursors. On failure the reply gets smaller or
//! simpler; the upstream is not asked again.
//!
//! ```
//! use std::sync::Arc;
//!
//! use portion_core::cursor::Scope;
//! use portion_core::payload::{Block, Content, Payload};
//! use portion_core::policy::Policy;
//! use portion_tokens::{Factor, Tokenizer};
//! use portion_core::view::Request;
//! use portion_gateway::call::{Call, Caller, Reply};
//! use portion_gateway::effective_policy::EffectivePolicy;
//! use portion_gateway::gateway::Gateway;
//! use portion_gateway::gateway_parts::GatewayParts;
//! use portion_gateway::rules::EndpointRules;
//! use portion_gateway::session::ClientSession;
//! use portion_gateway::store::MemoryStore;
//!
//! let policy = EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::O200k, Factor::ONE);
//! let store = Arc::new(MemoryStore::default());
//! let gateway = Gateway::new(GatewayParts::new(EndpointRules::fixed(policy), store, [7; 32]));
//!
//! let items: Vec<String> = (0..5_000).map(|id| format!("{{\"id\":{id}}}")).collect();
//! let block = Block::new("/content/0/text", Content::Text(format!("[{}]", items.join(","))));
//! let payload = Payload { blocks: vec![block], ..Payload::default() };
//!
//! let rule = Arc::clone(gateway.rules().default_rule());
//! let caller = Caller::new(Scope::from_principal("ada"), ClientSession::new_unique(), rule);
//! let call = Call { caller, endpoint: None, payload, request: Request::default(), reuse: None };
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! let reply = runtime.block_on(gateway.answer(call));
//! let Reply::Portion(page) = reply else { panic!("a list of this size is paginated") };
//! assert!(page.next_cursor().is_some());
//! # Ok::<(), std::io::Error>(())
//! ```

mod counted_page;
mod cursor_call;
mod finish;
mod follow_up;
mod fresh;
mod lookup;
mod pass_through;
mod query;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use portion_core::cursor::{Keyring, Position, Scope, SnapshotId};
use portion_core::event::Outcome;
use portion_core::payload::UpstreamList;
use portion_core::snapshot::Snapshot;
use portion_core::view::{Request, View};
use portion_policy::endpoint::Endpoint;
use portion_tokens::{BYTE_COUNTER, ReferenceCounter};

use crate::accounting::{Accounting, ReplyOutcome, RequestInfo};
use crate::accuracy;
use crate::call::{Call, Caller, Fault, Reply, ReuseKey, SnapshotQuery};
use crate::dropped_messages::{self, DropCounter, DropReason};
use crate::effective_policy::EffectivePolicy;
use crate::gateway_parts::{Clock, GatewayParts};
use crate::issued_cursors::IssuedCursors;
use crate::kept_results::KeptResults;
use crate::pushdown::{Fetches, Need, sized_as_opened};
use crate::renderer::{Renderer, ReplyForm, payload_bytes};
use crate::rules::EndpointRules;
use crate::served_pages::{ServedPage, ServedPages};
use crate::store::{BackendStatus, CachedStore, StoreStats, StoredSnapshot};
pub use cursor_call::CursorCall;
pub use lookup::NestedPortion;

/// Makes replies.
pub struct Gateway {
    rules: ArcSwap<EndpointRules>,
    renderer: Arc<Renderer>,
    store: CachedStore,
    issued_cursors: IssuedCursors,
    kept_results: KeptResults,
    served_pages: ServedPages,
    fetches: Arc<Fetches>,
    accounting: Arc<Accounting>,
    drop_counter: DropCounter,
    clock: Clock,
}

/// A request whose reply is being made.
#[derive(Clone)]
struct RequestContext {
    caller: Caller,
    endpoint: Option<Arc<Endpoint>>,
    /// True if the request never reaches the upstream.
    is_follow_up: bool,
    /// True if the upstream returned an error.
    is_upstream_error: bool,
    /// Snapshot of the original payload, if it was stored earlier.
    origin_snapshot: Option<SnapshotId>,
    /// Result of the upstream on which a query is answered in place of it. Records have its size.
    queried_snapshot: Option<Arc<Snapshot>>,
    started_at: Instant,
}

impl RequestContext {
    /// Creates the context of a request that never reaches the upstream.
    fn for_follow_up(caller: Caller, endpoint: Option<Endpoint>, started_at: Instant) -> Self {
        Self {
            caller,
            endpoint: endpoint.map(Arc::new),
            is_follow_up: true,
            is_upstream_error: false,
            origin_snapshot: None,
            queried_snapshot: None,
            started_at,
        }
    }

    /// Adds the source of a cursor's snapshot, if it is known.
    fn with_source(self, endpoint: Option<Arc<Endpoint>>, origin: Option<SnapshotId>) -> Self {
        Self { endpoint: endpoint.or(self.endpoint), origin_snapshot: origin, ..self }
    }

    fn request_info(&self) -> RequestInfo<'_> {
        RequestInfo {
            caller: &self.caller,
            endpoint: self.endpoint.as_deref(),
            is_follow_up: self.is_follow_up,
            is_upstream_error: self.is_upstream_error,
            origin_snapshot: self.origin_snapshot,
            queried_bytes: self.queried_snapshot.as_ref().map_or(0, |snapshot| snapshot.payload_bytes()),
            started_at: self.started_at,
        }
    }
}

impl Gateway {
    /// Creates a gateway from its parts.
    pub fn new(parts: GatewayParts) -> Self {
        let GatewayParts { rules, cursor_secret, earlier_cursor_secrets, store, clock, observer } = parts;
        let keyring = Keyring::new(&cursor_secret).with_earlier(&earlier_cursor_secrets);
        Self {
            rules: ArcSwap::from_pointee(rules),
            renderer: Arc::new(Renderer { keyring }),
            fetches: Arc::new(Fetches::new(store.clone(), Arc::clone(&clock))),
            store,
            issued_cursors: IssuedCursors::default(),
            kept_results: KeptResults::default(),
            served_pages: ServedPages::default(),
            accounting: Arc::new(Accounting::new(observer, Arc::clone(&clock))),
            drop_counter: DropCounter::default(),
            clock,
        }
    }

    /// Returns the current endpoint rules.
    pub fn rules(&self) -> Arc<EndpointRules> {
        self.rules.load_full()
    }

    /// Replaces the endpoint rules for new requests. Earlier requests and their follow-ups keep the rules
    /// that they began with.
    pub fn replace_rules(&self, rules: EndpointRules) {
        let earlier = self.rules.swap(Arc::new(rules));
        if !self.rules.load().has_same_counting(&earlier) {
            self.accounting.accuracy_tracker.clear_endpoints();
        }
    }

    /// Returns the accuracy of recent token counts.
    pub fn accuracy_stats(&self) -> accuracy::AccuracyStats {
        let reference = self.rules.load().default_rule().policy_for_client(None).reference;
        accuracy::AccuracyStats {
            exact_counter: reference.and_then(ReferenceCounter::vocabulary),
            ..self.accounting.accuracy_tracker.stats()
        }
    }

    /// Waits at most `limit` until all pending records are emitted. Returns true if they are. For the end of
    /// the program.
    pub fn flush(&self, limit: Duration) -> bool {
        self.accounting.deferred_worker.flush(limit)
    }

    /// Waits at most `limit` until all snapshots are written to the store, and ends the fetches of further pages. Returns
    /// true if they are written. For the end of the program.
    pub fn flush_store(&self, limit: Duration) -> bool {
        self.fetches.give_up();
        self.store.flush(limit)
    }

    /// Returns statistics of the store.
    pub fn store_stats(&self) -> StoreStats {
        self.store.stats(self.now())
    }

    /// Returns the state of the store behind the memory, if there is one.
    pub fn backend_status(&self) -> Option<BackendStatus> {
        self.store.backend_status()
    }

    /// Returns the counts of server messages that were not relayed.
    pub fn drop_counts(&self) -> dropped_messages::DropCounts {
        self.drop_counter.counts()
    }

    /// Counts a server message that is not relayed.
    pub fn record_drop(&self, dropped: DropReason, bytes: usize, why: &str) {
        self.drop_counter.record(dropped, bytes, why, self.now());
    }

    /// Returns true if a follow-up may have to wait for further pages of the upstream.
    pub fn fetches_pages(&self) -> bool {
        self.fetches.was_used()
    }

    /// Returns the current time of the gateway's clock.
    pub fn now(&self) -> Instant {
        (self.clock)()
    }

    /// Returns an id for one of the gateway's own spans.
    pub fn next_span_id(&self) -> u64 {
        getrandom::u64().unwrap_or_default().max(1)
    }

    /// Returns what the reply to an earlier call of a tool that pages its own results has shown, if that is known.
    pub fn served_page(&self, caller: &Caller, key: &ReuseKey) -> Option<ServedPage> {
        self.served_pages.get(caller.scope, *key)
    }

    /// Answers a call with the payload that the upstream returned, or the query of its request on that payload. An error of
    /// the upstream is shown whatever the query.
    pub async fn answer(&self, call: Call) -> Reply {
        let Call { caller, endpoint, payload, mut request, reuse } = call;
        let context = RequestContext {
            is_follow_up: false,
            is_upstream_error: payload.is_error,
            ..RequestContext::for_follow_up(caller, endpoint, self.now())
        };
        self.fetches.record_request(context.caller.upstream.as_deref());
        let relayed = context.caller.shaping_mode.pass_through.filter(|relayed| {
            request.is_plain() && relayed.max_bytes.is_none_or(|limit| payload_bytes(&payload) <= limit)
        });
        match relayed {
            Some(relayed) => Box::pin(self.relay(context.request_info(), relayed, payload)).await,
            None => match SnapshotQuery::take_from(&mut request).filter(|_| !payload.is_error) {
                Some(query) => {
                    Box::pin(self.answer_first_query(context, payload, (request, query), reuse)).await
                }
                None => Box::pin(self.answer_fresh(context, payload, request, reuse)).await,
            },
        }
    }

    /// Answers a call from the snapshot of an earlier equal call. Returns `None` if that is not possible for
    /// this request, or the snapshot is gone, and the upstream has to be asked.
    ///
    /// A continuation can always be answered from the snapshot. Another selection only if the endpoint is
    /// read-only, or if the configuration allows it. A query is asked about a new result.
    pub async fn answer_from_reuse(
        &self,
        caller: &Caller,
        endpoint: &Endpoint,
        reuse: &ReuseKey,
        request: &Request,
    ) -> Option<Reply> {
        let (goes_on, selects) = (request.is_continuation(), request.has_selection());
        let answerable = match caller.rule.config().reuse {
            None => goes_on || (endpoint.read_only && selects),
            Some(allowed) => allowed && (goes_on || selects),
        };
        if !answerable || request.cursor.is_some() || request.query.is_given() {
            return None;
        }
        let begun = self.now();
        let stored = self.store.find_reusable(&caller.scope, *reuse, begun).await?;
        if self.has_other_redaction(caller, &stored) {
            return None;
        }
        let caller = Caller { read_uri: None, ..self.with_snapshot_rule(caller.clone(), &stored) };
        let request = sized_as_opened(request.clone(), &stored.snapshot, &caller.effective_policy.policy);
        if self.is_beyond_fetch(&caller, &stored, &request) || has_other_page_size(&caller, &stored, &request)
        {
            return None;
        }
        let need = Need::of_follow_up(&request, Position::default(), &stored, &caller);
        let stored = self.with_needed_items(&caller, stored, need).await.ok()?;
        // What this list has not reached, the caller's own arguments may.
        let wanted = Need::wanted_items(&request, &caller.effective_policy.policy);
        let is_before = |list: &UpstreamList| {
            let end = list.skipped + list.fetched;
            list.is_partial && !list.is_stuck() && wanted.is_some_and(|wanted| end <= wanted.start)
        };
        if !self.fetches.is_in_progress(stored.id) && stored.snapshot.upstream_list().is_some_and(is_before) {
            return None;
        }
        let context = RequestContext {
            origin_snapshot: Some(stored.origin_snapshot),
            ..RequestContext::for_follow_up(caller, Some(endpoint.clone()), begun)
        };
        // The reply is that of a fresh call: what earlier replies showed does not count.
        let base = (StoredSnapshot { view: View::root(), ..stored }, Position::default());
        Some(self.answer_from_stored(context, base, request, ReplyForm::Rebuilt).await)
    }

    /// Returns true if this gateway has issued a cursor in the scope.
    pub fn has_issued(&self, scope: &Scope, cursor: &str) -> bool {
        self.snapshot_of(scope, cursor).is_some()
    }

    /// Returns the snapshot of a cursor that this gateway has issued in the scope.
    pub fn snapshot_of(&self, scope: &Scope, cursor: &str) -> Option<SnapshotId> {
        self.renderer.keyring.verify(cursor, scope).ok().map(|target| target.snapshot)
    }

    /// Fits a fault into the budget of its request, and records it as the reply to a call.
    pub fn report_fault(
        &self,
        fault: Fault,
        caller: &Caller,
        request: &Request,
        endpoint: &Endpoint,
    ) -> Fault {
        self.fit_and_report_fault(fault, request, self.request_info(endpoint, caller))
    }

    /// Records an upstream failure that is passed on unchanged. `bytes`: its size, if known.
    pub fn report_upstream_failure(&self, caller: &Caller, endpoint: &Endpoint, bytes: usize) {
        let account = RequestInfo { is_upstream_error: true, ..self.request_info(endpoint, caller) };
        self.accounting.report(account, ReplyOutcome::passed_through(Outcome::Untouched, bytes, None));
    }

    fn request_info<'a>(&self, endpoint: &'a Endpoint, caller: &'a Caller) -> RequestInfo<'a> {
        RequestInfo {
            caller,
            endpoint: Some(endpoint),
            is_follow_up: false,
            is_upstream_error: false,
            origin_snapshot: None,
            queried_bytes: 0,
            started_at: self.now(),
        }
    }

    /// Fits a reworded fault into the budget. The original fault is already recorded.
    pub fn refit_fault(fault: Fault, effective_policy: &EffectivePolicy, max_tokens: Option<usize>) -> Reply {
        Reply::Fault(fit_fault(fault, effective_policy, max_tokens))
    }

    fn fault_reply(&self, fault: Fault, request: &Request, account: RequestInfo<'_>) -> Reply {
        Reply::Fault(self.fit_and_report_fault(fault, request, account))
    }

    /// Fits a fault into the budget of its request, and records it.
    fn fit_and_report_fault(&self, fault: Fault, request: &Request, account: RequestInfo<'_>) -> Fault {
        let effective_policy = &account.caller.effective_policy;
        let fault = fit_fault(fault, effective_policy, request.max_tokens);
        self.issued_cursors.record(account.caller, &fault.cursor);
        let tokens = catch_unwind(AssertUnwindSafe(|| effective_policy.counter.count(&fault.to_json())));
        let tokens = tokens.unwrap_or(effective_policy.policy.token_budget_threshold);
        let original_bytes = account.queried_bytes;
        let outcome = ReplyOutcome { original_bytes, ..ReplyOutcome::from_fault(&fault, tokens) };
        self.accounting.report(account, outcome);
        fault
    }
}

/// Returns true if a request names a page by number without a size, and the earlier walk has another page size than the
/// configured one.
fn has_other_page_size(caller: &Caller, stored: &StoredSnapshot, request: &Request) -> bool {
    let policy = &caller.effective_policy.policy;
    let is_of_operator = request.limit.is_none() && policy.render_options.has_fixed_page_size;
    let size = stored.view.page_size().map_or(policy.default_page_size, |size| size as usize);
    is_of_operator && request.page.is_some_and(|page| page > 1) && size != policy.default_page_size
}

/// Fits a fault into the budget of its request.
fn fit_fault(fault: Fault, effective_policy: &EffectivePolicy, max_tokens: Option<usize>) -> Fault {
    let EffectivePolicy { policy, counter, .. } = &effective_policy.for_errors();
    let budget = max_tokens.unwrap_or(policy.token_budget_threshold);
    let fitted = catch_unwind(AssertUnwindSafe(|| {
        fault.clone().fit_to_budget(*counter, budget, policy.hard_byte_limit)
    }));
    fitted.unwrap_or_else(|_| fault.fit_to_budget(BYTE_COUNTER, budget, policy.fallback_byte_limit))
}
