//! Makes all replies with content; [`Gateway::answer`] is the only entry point.
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
//! use portion_gateway::call::{Call, Caller, Intent, Reply};
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
//! let intent = Intent::Fresh { payload, request: Request::default(), reuse: None };
//! let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! let reply = runtime.block_on(gateway.answer(Call { caller, endpoint: None, intent }));
//! let Reply::Portion(page) = reply else { panic!("a list of this size is paginated") };
//! assert!(page.next_cursor().is_some());
//! # Ok::<(), std::io::Error>(())
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use portion_core::cursor::{Keyring, Position, SnapshotId};
use portion_core::event::Outcome;
use portion_core::payload::Payload;
use portion_core::snapshot::Snapshot;
use portion_core::view::{Request, View};
use portion_policy::endpoint::Endpoint;
use portion_policy::policy_source::EndpointTarget;
use portion_tokens::BYTE_COUNTER;

use crate::accounting::{Accounting, PayloadShape, ReplyOutcome, RequestInfo};
use crate::accuracy;
use crate::accuracy::recount::{CountableReply, EstimateSource};
use crate::accuracy::texts::ReplyTexts;
use crate::call::{Call, Caller, Fault, Intent, Reply, ReuseKey, SnapshotQuery};
use crate::decision_log;
use crate::dropped_messages::{self, DropCounter, DropReason};
use crate::effective_policy::EffectivePolicy;
use crate::gateway_parts::{Clock, GatewayParts};
use crate::offload::offload;
use crate::paged_call::PagedCall;
use crate::pass_through::PassThroughRelay;
use crate::pushdown::{Deposit, Fetch, Fetches, Need};
use crate::query_limiter::{MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};
use crate::renderer::{RenderJob, RenderOutcome, Renderer, ReplyForm, capture, payload_bytes};
use crate::resolved_cursor::{ResolvedCursor, UnresolvedCursor};
use crate::rules::{EndpointRule, EndpointRules};
use crate::snapshot_query::JoinedSnapshot;
use crate::span_ids::SpanIds;
use crate::store::{
    BackendStatus, CachedStore, NewSnapshot, StoreLookupError, StoreStats, StoreWriteError, StoredSnapshot,
    redaction_id,
};

/// Bytes per token where tokens are not counted.
const BYTES_PER_TOKEN: usize = 4;
/// `_meta` key with the remaining budget of a session.
const SESSION_META_KEY: &str = "io.portion/session";

/// Makes replies.
pub struct Gateway {
    rules: ArcSwap<EndpointRules>,
    renderer: Arc<Renderer>,
    store: CachedStore,
    fetches: Arc<Fetches>,
    pass_through: PassThroughRelay,
    accounting: Arc<Accounting>,
    span_ids: SpanIds,
    drop_counter: DropCounter,
    clock: Clock,
}

/// A request whose reply is being made.
struct RequestContext {
    caller: Caller,
    endpoint: Option<Arc<Endpoint>>,
    /// True if the request never reaches the upstream.
    is_follow_up: bool,
    /// True if the upstream returned an error.
    is_upstream_error: bool,
    /// Snapshot of the original payload, if it was stored earlier.
    origin_snapshot: Option<SnapshotId>,
    started_at: Instant,
}

impl RequestContext {
    /// Adds what is known about the target of an unresolved cursor.
    fn with_unresolved_cursor(self, endpoint: Option<Arc<Endpoint>>, origin: Option<SnapshotId>) -> Self {
        Self { endpoint: endpoint.or(self.endpoint), origin_snapshot: origin, ..self }
    }

    fn request_info(&self) -> RequestInfo<'_> {
        let Self {
            caller,
            endpoint,
            is_follow_up: follow_up,
            is_upstream_error: failed,
            origin_snapshot: origin,
            started_at: begun,
        } = self;
        let endpoint = endpoint.as_deref();
        RequestInfo {
            caller,
            endpoint,
            is_follow_up: *follow_up,
            is_upstream_error: *failed,
            origin_snapshot: *origin,
            started_at: *begun,
        }
    }
}

impl Gateway {
    /// Creates a gateway from its parts.
    pub fn new(settings: GatewayParts) -> Self {
        let GatewayParts { rules, cursor_secret: secret, earlier_cursor_secrets, store, clock, observer } =
            settings;
        let keyring = Keyring::new(&secret).with_earlier(&earlier_cursor_secrets);
        let renderer = Arc::new(Renderer { keyring });
        let accounts = Arc::new(Accounting::new(observer, Arc::clone(&clock)));
        let relaying = PassThroughRelay::new(Arc::clone(&renderer), Arc::clone(&accounts));
        let rules = ArcSwap::from_pointee(rules);
        Self {
            rules,
            renderer,
            fetches: Arc::new(Fetches::new(store.clone(), Arc::clone(&clock))),
            store,
            pass_through: relaying,
            accounting: accounts,
            span_ids: SpanIds::new(),
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
        self.accounting.accuracy_stats()
    }

    /// Waits at most `limit` until all pending records are emitted. Returns true if they are. For the end of
    /// the program.
    pub fn flush(&self, limit: Duration) -> bool {
        self.accounting.flush(limit)
    }

    /// Waits at most `limit` until all snapshots are written to the store. Returns true if they are. For the end
    /// of the program.
    pub fn flush_store(&self, limit: Duration) -> bool {
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
        self.span_ids.next_id()
    }

    /// Answers a call.
    pub async fn answer(&self, call: Call) -> Reply {
        let Call { caller, endpoint, intent } = call;
        let (endpoint, begun) = (endpoint.map(Arc::new), self.now());
        let follow_up = !matches!(intent, Intent::Fresh { .. });
        let failed = matches!(&intent, Intent::Fresh { payload, .. } if payload.is_error);
        let context = RequestContext {
            caller,
            endpoint,
            is_follow_up: follow_up,
            is_upstream_error: failed,
            origin_snapshot: None,
            started_at: begun,
        };
        match intent {
            Intent::Fresh { payload, request, reuse } => {
                let relayed = context.caller.shaping_mode.pass_through.filter(|relayed| {
                    request.is_plain()
                        && relayed.max_bytes.is_none_or(|limit| payload_bytes(&payload) <= limit)
                });
                match relayed {
                    Some(relayed) => {
                        Box::pin(self.pass_through.relay(context.request_info(), relayed, payload)).await
                    }
                    None => Box::pin(self.answer_fresh(context, payload, request, reuse)).await,
                }
            }
            Intent::FollowUp { request } => Box::pin(self.answer_follow_up(context, request)).await,
            Intent::Query { request, query: ask } => Box::pin(self.answer_query(context, request, ask)).await,
        }
    }

    /// Answers a call from the snapshot of an earlier equal call. Returns `None` if that is not possible for
    /// this request, or the snapshot is gone, and the upstream has to be asked.
    ///
    /// A continuation can always be answered from the snapshot. Another selection only if the endpoint is
    /// read-only, or if the configuration allows it.
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
        if !answerable || request.cursor.is_some() {
            return None;
        }
        let begun = self.now();
        let held = self.store.find_reusable(&caller.scope, *reuse, begun).await?;
        if self.has_other_redaction(caller, &held) {
            return None;
        }
        let caller = Caller { read_uri: None, ..self.with_snapshot_rule(caller.clone(), &held) };
        let need = Need::of_follow_up(request, Position::default(), &held, &caller);
        let held = self.with_needed_items(&caller, held, need).await;
        let StoredSnapshot { id, snapshot, origin_snapshot: origin, view, .. } = held;
        let (endpoint, origin) = (Some(Arc::new(endpoint.clone())), Some(origin));
        let context = RequestContext {
            caller,
            endpoint,
            is_follow_up: true,
            is_upstream_error: false,
            origin_snapshot: origin,
            started_at: begun,
        };
        // Page sizes follow the first reply to the earlier call.
        let base = Some((view, Position::default()));
        Some(
            self.answer_from_stored(context, (id, snapshot, base), request.clone(), ReplyForm::Rebuilt).await,
        )
    }

    /// Resolves the cursor of a follow-up. Returns its caller with the result, under the rule of the cursor's
    /// snapshot, against which its controls are parsed.
    pub async fn caller_for_cursor(&self, caller: Caller, cursor: &str) -> Caller {
        let target = self.look_up_cursor(&caller, None, Some(cursor)).await;
        let caller = match &target {
            Ok((held, _)) => self.with_snapshot_rule(caller, held),
            // Reading the cursor later reports the error.
            Err(_) => caller,
        };
        let resolved_cursor = Some(Box::new(ResolvedCursor { token: cursor.to_owned(), target }));
        Caller { resolved_cursor, ..caller }
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
        let (endpoint, begun) = (Some(endpoint), self.now());
        RequestInfo {
            caller,
            endpoint,
            is_follow_up: false,
            is_upstream_error: false,
            origin_snapshot: None,
            started_at: begun,
        }
    }

    /// Returns a fault as the reply to an invalid follow-up. The record names the source of the cursor's
    /// snapshot if it is known, else the called endpoint.
    pub async fn fault_reply_for_cursor(
        &self,
        fault: Fault,
        caller: Caller,
        endpoint: Option<Endpoint>,
        cursor: Option<String>,
    ) -> Reply {
        let (endpoint, begun) = (endpoint.map(Arc::new), self.now());
        let mut context = RequestContext {
            caller,
            endpoint,
            is_follow_up: true,
            is_upstream_error: false,
            origin_snapshot: None,
            started_at: begun,
        };
        let request = Request { cursor, ..Request::default() };
        let context = match self.resolve_cursor(&mut context, None, &request).await {
            Ok((held, _)) => context.with_unresolved_cursor(held.endpoint, Some(held.origin_snapshot)),
            Err(UnresolvedCursor { endpoint, origin_snapshot: origin, .. }) => {
                context.with_unresolved_cursor(endpoint, origin)
            }
        };
        self.fault_reply(fault, &request, context.request_info())
    }

    /// Fits a reworded fault into the budget. The original fault is already recorded.
    pub fn refit_fault(fault: Fault, effective_policy: &EffectivePolicy, request: &Request) -> Reply {
        Reply::Fault(fit_fault(fault, effective_policy, request))
    }

    fn fault_reply(&self, fault: Fault, request: &Request, account: RequestInfo<'_>) -> Reply {
        Reply::Fault(self.fit_and_report_fault(fault, request, account))
    }

    /// Fits a fault into the budget of its request, and records it.
    fn fit_and_report_fault(&self, fault: Fault, request: &Request, account: RequestInfo<'_>) -> Fault {
        let effective_policy = &account.caller.effective_policy;
        let fault = fit_fault(fault, effective_policy, request);
        let tokens = catch_unwind(AssertUnwindSafe(|| effective_policy.counter.count(&fault.to_json())));
        let tokens = tokens.unwrap_or(effective_policy.policy.token_budget_threshold);
        self.accounting.report(account, ReplyOutcome::from_fault(&fault, tokens));
        fault
    }

    async fn answer_fresh(
        &self,
        context: RequestContext,
        payload: Payload,
        request: Request,
        reuse: Option<ReuseKey>,
    ) -> Reply {
        let caller = context.caller.within_session_budget().with_unshaped_byte_limit(payload_bytes(&payload));
        let caller = self.accounting.cap_if_inaccurate(caller, context.endpoint.as_deref());
        let context = RequestContext { caller, ..context };
        let mut fetch = None;
        let mut payload = payload;
        let need = Need::of_first_reply(&request, &context.caller.effective_policy.policy);
        if let Some(call) = context.caller.paged_call.clone().filter(|_| !payload.is_error) {
            (fetch, payload) = self.begin_fetch(&context.caller, &call, payload, need).await;
        }
        let id = random_snapshot_id();
        let made = self.render_fresh(&context, (payload, id), &request, (fetch.as_deref(), need)).await;
        let (job, rendered) = match made {
            Ok(made) => made,
            Err(fault) => return self.fault_reply(fault, &request, context.request_info()),
        };
        let view = match &rendered {
            RenderOutcome::Untouched { .. } => None,
            RenderOutcome::Portion { view, .. } => Some(view.clone()),
            // The fault in its place carries a cursor to the whole payload.
            RenderOutcome::InvalidRequest(_) | RenderOutcome::Panicked => Some(View::root()),
        };
        let stored = match view {
            Some(view) if id.is_some() => {
                let (snapshot, rule) = (Arc::clone(&job.snapshot), Some(Arc::clone(&context.caller.rule)));
                let (endpoint, origin) =
                    (context.endpoint.clone(), context.origin_snapshot.unwrap_or(job.snapshot_id));
                let deposit = NewSnapshot {
                    id: job.snapshot_id,
                    snapshot,
                    view,
                    endpoint,
                    reuse_key: reuse.filter(|_| !context.is_upstream_error),
                    rule,
                    redaction: None,
                    origin_snapshot: origin,
                };
                let kept = fetch.is_some().then(|| deposit.clone());
                let stored = is_stored(&self.store.put(&job.caller.scope, deposit, self.now()).await);
                if let (Some(fetch), Some(snapshot), true) = (&fetch, kept, stored) {
                    let (scope, policy) = (job.caller.scope, Arc::clone(&job.caller.effective_policy));
                    let count = snapshot.snapshot.upstream_list().map_or(0, |list| list.fetched);
                    self.fetches.attach(fetch, Deposit { scope, snapshot, policy }, count).await;
                }
                stored
            }
            _ => false,
        };
        if let Some(fetch) = fetch.filter(|_| !stored) {
            fetch.abandon();
        }
        // An error answers only its own call: an equal call is sent to the upstream again.
        if let Some(reuse) = reuse.filter(|_| !stored || context.is_upstream_error) {
            self.store.forget_reuse(&job.caller.scope, reuse).await;
        }
        let context = RequestContext {
            origin_snapshot: context.origin_snapshot.or(stored.then_some(job.snapshot_id)),
            ..context
        };
        if matches!(rendered, RenderOutcome::Portion { .. }) && is_refused(&context, &job) {
            let handle = stored.then(|| self.renderer.start_cursor(&job));
            let policy = &job.caller.effective_policy.policy;
            let fault = Fault::oversized(
                (job.snapshot.payload_bytes(), policy.token_budget_threshold),
                context.endpoint.as_deref(),
                job.caller.read_call.to_follow_up(),
            );
            return self.fault_reply(fault.with_cursor(handle), &job.request, context.request_info());
        }
        self.finish_reply(&context, job, rendered, stored).await
    }

    /// Captures and renders a payload. If the request does not fit the first items of a list, it is rendered again with
    /// all items.
    async fn render_fresh(
        &self,
        context: &RequestContext,
        (mut payload, id): (Payload, Option<SnapshotId>),
        request: &Request,
        (fetch, mut need): (Option<&Fetch>, Need),
    ) -> Result<(Arc<RenderJob>, RenderOutcome), Fault> {
        loop {
            let effective_policy = Arc::clone(&context.caller.effective_policy);
            let captured =
                offload(payload_bytes(&payload), move || capture(payload, &effective_policy)).await;
            let snapshot = captured.map(Arc::new).map_err(|lost| {
                Fault::capture_failed(lost.payload_bytes, &lost.first_text, context.endpoint.as_deref())
            })?;
            let form = if snapshot.answer().is_some() { ReplyForm::TextOnly } else { ReplyForm::AsReceived };
            let (caller, request, snapshot_id) =
                (context.caller.clone(), request.clone(), id.unwrap_or_default());
            let job = Arc::new(RenderJob { caller, snapshot_id, snapshot, base: None, request, form });
            let rendered = self.render(&job, id.is_some()).await;
            match fetch {
                // What the first page lacks may be on another one.
                Some(fetch) if need != Need::All && matches!(rendered, RenderOutcome::InvalidRequest(_)) => {
                    need = Need::All;
                    payload = self.wait_for(fetch, &context.caller, need).await;
                }
                _ => return Ok((job, rendered)),
            }
        }
    }

    /// Begins to fetch the rest of a list. Returns the fetch, unless the page is the whole list, and the payload to
    /// reply from.
    async fn begin_fetch(
        &self,
        caller: &Caller,
        call: &Arc<PagedCall>,
        page: Payload,
        need: Need,
    ) -> (Option<Arc<Fetch>>, Payload) {
        let Some(fetch) = self.fetches.begin(call, page.clone(), caller.upstream.clone()) else {
            return (None, page);
        };
        let payload = self.wait_for(&fetch, caller, need).await;
        // The upstream's own result is the whole list: it is a payload like any other.
        if fetch.is_complete() && fetch.has_one_page() { (None, page) } else { (Some(fetch), payload) }
    }

    /// Waits until a list meets a need, and returns it.
    async fn wait_for(&self, fetch: &Fetch, caller: &Caller, need: Need) -> Payload {
        fetch.wait(need, Fetches::deadline(caller.rule.config().request_timeout)).await;
        fetch.to_payload(need)
    }

    async fn answer_follow_up(&self, mut context: RequestContext, request: Request) -> Reply {
        let endpoint = context.endpoint.clone();
        let (held, position) = match self.resolve_cursor(&mut context, endpoint.as_deref(), &request).await {
            Ok(found) => found,
            Err(unresolved) => return self.unresolved_cursor_reply(unresolved, context, &request),
        };
        let form = if context.endpoint.is_some() { ReplyForm::Rebuilt } else { ReplyForm::TextOnly };
        let endpoint = held.endpoint.clone().or(context.endpoint);
        let context = RequestContext {
            caller: self.with_snapshot_rule(context.caller, &held),
            endpoint,
            origin_snapshot: Some(held.origin_snapshot),
            ..context
        };
        let need = Need::of_follow_up(&request, position, &held, &context.caller);
        let StoredSnapshot { id, snapshot, view, .. } =
            self.with_needed_items(&context.caller, held, need).await;
        self.answer_from_stored(context, (id, snapshot, Some((view, position))), request, form).await
    }

    /// Answers a query on the content of a cursor. The answer becomes a snapshot of its own.
    async fn answer_query(&self, mut context: RequestContext, request: Request, ask: SnapshotQuery) -> Reply {
        let (held, position) = match self.resolve_cursor(&mut context, None, &request).await {
            Ok(found) => found,
            Err(unresolved) => return self.unresolved_cursor_reply(unresolved, context, &request),
        };
        let (caller, endpoint) = (self.with_snapshot_rule(context.caller, &held), held.endpoint.clone());
        let context =
            RequestContext { caller, endpoint, origin_snapshot: Some(held.origin_snapshot), ..context };
        if !context.caller.effective_policy.policy.render_options.techniques.query {
            let fault =
                Fault::query_disabled(context.endpoint.as_deref(), context.caller.read_call.to_follow_up());
            return self.fault_reply(fault, &request, context.request_info());
        }
        let joined = match self.joined_snapshots(&context.caller, &ask).await {
            Ok(joined) => joined,
            Err(unresolved) => return self.unresolved_cursor_reply(unresolved, context, &request),
        };
        let StoredSnapshot { id, snapshot, view, .. } =
            self.with_needed_items(&context.caller, held, Need::All).await;
        let (caller, base) = (context.caller.clone(), Some((view, position)));
        let about = Arc::new(RenderJob {
            caller,
            snapshot_id: id,
            snapshot,
            base,
            request,
            form: ReplyForm::TextOnly,
        });
        let (query_job, arguments) = (Arc::clone(&about), ask.argument_names());
        let session = Arc::clone(&context.caller.session);
        let Some(place) = session.query_limiter().acquire().await else {
            let fault = Fault::too_many_queries(MAX_CONCURRENT_QUERIES + MAX_WAITING_QUERIES);
            return self.fault_reply(fault, &about.request, context.request_info());
        };
        // If this future is dropped, the query ends.
        let given_up = context.caller.cancel_flag.cancel_on_drop();
        // A query may take long however small the payload is.
        let answer = if context.caller.cancel_flag.is_cancelled() {
            Err(Fault::too_many_queries(0))
        } else {
            offload(usize::MAX, move || query_job.run_query(&ask, &joined)).await
        };
        given_up.disarm();
        drop(place);
        let request = &about.request;
        match answer {
            Ok(mut payload) => {
                note_extent(&about.snapshot, &mut payload);
                let matches = payload
                    .query_answer
                    .as_ref()
                    .map_or(0, |answer| answer.match_count + answer.word_match_count);
                let (bytes, answer_bytes) = (about.snapshot.payload_bytes(), payload_bytes(&payload));
                let (upstream, name) =
                    (context.caller.upstream.as_deref(), Endpoint::log_name(context.endpoint.as_deref()));
                decision_log::log_query(upstream, &name, &arguments, matches, bytes, answer_bytes);
                let shown = if matches > 0 {
                    Request { cursor: None, path: None, section: None, ..request.clone() }
                } else {
                    // An empty answer has no fields, and no order.
                    let Request { limit, max_tokens, .. } = *request;
                    Request { limit, max_tokens, ..Request::default() }
                };
                self.answer_fresh(context, payload, shown, None).await
            }
            Err(fault) => {
                let fault = fault.with_cursor(Some(self.renderer.start_cursor(&about)));
                self.fault_reply(fault, request, context.request_info())
            }
        }
    }

    /// Looks up the other results of a query, by the rules of every cursor.
    async fn joined_snapshots(
        &self,
        caller: &Caller,
        ask: &SnapshotQuery,
    ) -> Result<Vec<JoinedSnapshot>, UnresolvedCursor> {
        let mut joined = Vec::new();
        for (name, cursor) in ask.joined_cursors() {
            let (held, _) = self.look_up_cursor(caller, None, Some(cursor)).await?;
            let own = self.with_snapshot_rule(caller.clone(), &held);
            if !own.effective_policy.policy.render_options.techniques.query {
                let fault = Fault::query_disabled(held.endpoint.as_deref(), own.read_call.to_follow_up());
                let (endpoint, origin_snapshot) = (held.endpoint.clone(), Some(held.origin_snapshot));
                return Err(UnresolvedCursor { fault, endpoint, origin_snapshot });
            }
            let held = self.with_needed_items(caller, held, Need::All).await;
            joined.push(JoinedSnapshot { name: name.clone(), snapshot: held.snapshot, view: held.view });
        }
        Ok(joined)
    }

    /// Returns the target of a request's cursor, which may be resolved already.
    async fn resolve_cursor(
        &self,
        context: &mut RequestContext,
        endpoint: Option<&Endpoint>,
        request: &Request,
    ) -> Result<(StoredSnapshot, Position), UnresolvedCursor> {
        let cursor = request.cursor.as_deref();
        match context.caller.resolved_cursor.take() {
            Some(resolved) if Some(&*resolved.token) == cursor => resolved.target,
            _ => self.look_up_cursor(&context.caller, endpoint, cursor).await,
        }
    }

    /// Verifies a cursor, and looks it up in the store.
    async fn look_up_cursor(
        &self,
        caller: &Caller,
        endpoint: Option<&Endpoint>,
        cursor: Option<&str>,
    ) -> Result<(StoredSnapshot, Position), UnresolvedCursor> {
        let verified = match cursor {
            Some(token) => self.renderer.keyring.verify(token, &caller.scope).map_err(|why| why.to_string()),
            None => Err("the cursor is missing".to_owned()),
        };
        let pointer = verified.map_err(|why| {
            let fault = Fault::cursor_invalid(why, endpoint);
            UnresolvedCursor { fault, endpoint: None, origin_snapshot: None }
        })?;
        let found = self.store.find(&caller.scope, pointer.snapshot, pointer.view, (self.clock)()).await;
        // Of a snapshot that is not even remembered, only the id in the cursor is known. Most snapshots are
        // their own origin; for the answer to a query that is wrong, but then no other record has this
        // origin.
        let by_name =
            |fault| UnresolvedCursor { fault, endpoint: None, origin_snapshot: Some(pointer.snapshot) };
        Err(match found {
            Ok(held) if !self.has_other_redaction(caller, &held) => return Ok((held, pointer.position)),
            Err(StoreLookupError::ViewGone { root }) => {
                let StoredSnapshot { id, snapshot, endpoint, origin_snapshot: origin, .. } = *root;
                let (base, request, form) = (None, Request::default(), ReplyForm::TextOnly);
                let whole =
                    RenderJob { caller: caller.clone(), snapshot_id: id, snapshot, base, request, form };
                let fault = Fault::view_expired(
                    self.renderer.start_cursor(&whole),
                    whole.caller.read_call.to_follow_up(),
                );
                UnresolvedCursor { fault, endpoint, origin_snapshot: Some(origin) }
            }
            Ok(StoredSnapshot { endpoint: source, origin_snapshot: origin, .. })
            | Err(StoreLookupError::SnapshotGone { endpoint: source, origin_snapshot: origin }) => {
                let fault = Fault::cursor_expired(source.as_deref().or(endpoint));
                UnresolvedCursor { fault, endpoint: source, origin_snapshot: Some(origin) }
            }
            Err(StoreLookupError::Unknown) => by_name(Fault::cursor_expired(endpoint)),
            Err(StoreLookupError::Unreachable(why)) => {
                tracing::error!(why, "the snapshot store failed");
                by_name(Fault::store_unavailable(endpoint))
            }
        })
    }

    /// Returns a stored snapshot with the items that a request needs: waits for those of a list that is fetched page by
    /// page, and resumes a fetch that stopped.
    async fn with_needed_items(&self, caller: &Caller, held: StoredSnapshot, need: Need) -> StoredSnapshot {
        let meets = |held: &StoredSnapshot| {
            held.snapshot.upstream_list().is_none_or(|list| need.is_met(list.fetched, !list.is_partial))
        };
        if meets(&held) {
            return held;
        }
        let (id, view, deadline) =
            (held.id, held.view.id(), Fetches::deadline(caller.rule.config().request_timeout));
        let was_in_progress = self.fetches.is_in_progress(id);
        self.fetches.wait_until_stored(id, need, deadline).await;
        let found = self.store.find(&caller.scope, id, view, self.now()).await;
        let held = found.unwrap_or(held);
        // A fetch that stopped during this call is tried again by the next one.
        if meets(&held) || self.fetches.is_in_progress(id) || (was_in_progress && need == Need::All) {
            return held;
        }
        if !self.fetches.resume(&held, caller, need).await {
            return held;
        }
        self.fetches.wait_until_stored(id, need, deadline).await;
        self.store.find(&caller.scope, id, view, self.now()).await.unwrap_or(held)
    }

    /// Returns true if the redaction of the endpoint has changed since the snapshot was captured. Such a snapshot
    /// is no longer served, because it may contain values that are redacted now.
    fn has_other_redaction(&self, caller: &Caller, held: &StoredSnapshot) -> bool {
        match (&held.rule, held.redaction) {
            (None, None) => false,
            (Some(captured_under), _) => {
                self.current_rule(caller, held).config().redact != captured_under.config().redact
            }
            (None, Some(captured_under)) => {
                redaction_id(self.current_rule(caller, held).config().redact.as_deref()) != captured_under
            }
        }
    }

    /// Returns the current rule of the endpoint of a snapshot.
    fn current_rule(&self, caller: &Caller, held: &StoredSnapshot) -> Arc<EndpointRule> {
        let rules = self.rules();
        match held.endpoint.as_deref() {
            Some(Endpoint { kind, name, .. }) => {
                rules.rule_for(EndpointTarget { upstream: caller.upstream.as_deref(), kind: *kind, name })
            }
            None => Arc::clone(rules.default_rule()),
        }
    }

    /// Applies the rule under which the snapshot was captured to a follow-up; the current one if another process
    /// captured it.
    fn with_snapshot_rule(&self, caller: Caller, held: &StoredSnapshot) -> Caller {
        match &held.rule {
            Some(rule) => caller.with_rule(rule),
            None if held.redaction.is_some() => {
                let rule = self.current_rule(&caller, held);
                caller.with_rule(&rule)
            }
            None => caller,
        }
    }

    /// Returns the reply to a request whose cursor cannot be resolved.
    fn unresolved_cursor_reply(
        &self,
        unresolved: UnresolvedCursor,
        context: RequestContext,
        request: &Request,
    ) -> Reply {
        let UnresolvedCursor { fault, endpoint, origin_snapshot: origin } = unresolved;
        self.fault_reply(fault, request, context.with_unresolved_cursor(endpoint, origin).request_info())
    }

    /// Answers from a stored snapshot, from a position in one of its views.
    async fn answer_from_stored(
        &self,
        context: RequestContext,
        (id, snapshot, base): (SnapshotId, Arc<Snapshot>, Option<(View, Position)>),
        request: Request,
        form: ReplyForm,
    ) -> Reply {
        let caller = self
            .accounting
            .cap_if_inaccurate(context.caller.within_session_budget(), context.endpoint.as_deref());
        let context = RequestContext { caller, ..context };
        let job = Arc::new(RenderJob {
            caller: context.caller.clone(),
            snapshot_id: id,
            snapshot,
            base,
            request,
            form,
        });
        let rendered = self.render(&job, true).await;
        if let RenderOutcome::Portion { view, .. } = &rendered {
            self.fetches.record_view(job.snapshot_id, view);
        }
        let stored = match &rendered {
            RenderOutcome::Portion { view, .. } => is_stored(
                &self
                    .store
                    .put_view(&job.caller.scope, job.snapshot_id, (&job.snapshot, view.clone()), self.now())
                    .await,
            ),
            _ => true,
        };
        self.finish_reply(&context, job, rendered, stored).await
    }

    /// Finishes a reply that was rendered with cursors, once it is known if the store accepted it.
    async fn finish_reply(
        &self,
        context: &RequestContext,
        job: Arc<RenderJob>,
        rendered: RenderOutcome,
        stored: bool,
    ) -> Reply {
        let rendered = match rendered {
            RenderOutcome::Portion { .. } if !stored => self.render(&job, false).await,
            rendered => rendered,
        };
        let handle = || stored.then(|| self.renderer.start_cursor(&job));
        let (account, snapshot) = (context.request_info(), &*job.snapshot);
        let fault = match rendered {
            RenderOutcome::Untouched { tokens, capped, audit } => {
                // A payload that was not counted passes because a technique is disabled.
                let (outcome, by) = match tokens {
                    Some(_) => (Outcome::Untouched, estimate_source(capped)),
                    None => (Outcome::Unshaped, EstimateSource::Uncounted),
                };
                let tokens = tokens.unwrap_or_else(|| snapshot.payload_bytes().div_ceil(BYTES_PER_TOKEN));
                let passed = ReplyOutcome::passed_through(outcome, snapshot.payload_bytes(), Some(tokens));
                let texts = ReplyTexts::from_snapshot(snapshot, &account.caller.effective_policy.policy);
                let shown = CountableReply { texts, snapshot: &job.snapshot, audit, estimate_source: by };
                self.accounting.report_rendered(
                    account,
                    ReplyOutcome { payload_shape: PayloadShape::from_snapshot(snapshot), ..passed },
                    shown,
                );
                return Reply::Untouched;
            }
            RenderOutcome::Portion { portion, capped, audit, .. } => {
                let reply_outcome = ReplyOutcome::from_portion(&portion, &job.request, snapshot, capped);
                let texts = ReplyTexts::from_portion(&portion);
                let shown = CountableReply {
                    texts,
                    snapshot: &job.snapshot,
                    audit,
                    estimate_source: estimate_source(capped),
                };
                self.accounting.report_rendered(account, reply_outcome, shown);
                if portion.dropped_count() > 0 {
                    let (upstream, name) =
                        (context.caller.upstream.as_deref(), Endpoint::log_name(context.endpoint.as_deref()));
                    decision_log::log_dropped_results(upstream, &name, portion.dropped_count());
                }
                return Reply::Portion(match context.caller.session_tokens_left() {
                    Some((left, budget)) => portion.with_notice_extras(format!(
                        "\"{SESSION_META_KEY}\":{{\"budget\":{budget},\"left\":{left}}}"
                    )),
                    None => portion,
                });
            }
            RenderOutcome::InvalidRequest(error) => Fault::from(error).with_cursor(handle()),
            RenderOutcome::Panicked => Fault::render_failed(handle(), job.caller.read_call.to_follow_up()),
        };
        self.fault_reply(fault, &job.request, account)
    }

    async fn render(&self, job: &Arc<RenderJob>, stored: bool) -> RenderOutcome {
        let (renderer, job) = (Arc::clone(&self.renderer), Arc::clone(job));
        offload(job.snapshot.payload_bytes(), move || renderer.render(&job, stored)).await
    }
}

/// Fits a fault into the budget of its request.
fn fit_fault(fault: Fault, effective_policy: &EffectivePolicy, request: &Request) -> Fault {
    let EffectivePolicy { policy, counter, .. } = effective_policy;
    let budget = request.max_tokens.unwrap_or(policy.token_budget_threshold);
    let fitted = catch_unwind(AssertUnwindSafe(|| {
        fault.clone().fit_to_budget(*counter, budget, policy.hard_byte_limit)
    }));
    fitted.unwrap_or_else(|_| fault.fit_to_budget(BYTE_COUNTER, budget, policy.fallback_byte_limit))
}

/// Returns true if a result that does not fit is refused: the configuration says so, and the caller asked for all of it.
fn is_refused(context: &RequestContext, job: &RenderJob) -> bool {
    let is_asked_whole = job.request.is_plain() && !context.is_follow_up && !context.is_upstream_error;
    if !context.caller.rule.config().refuses_oversized || !is_asked_whole {
        return false;
    }
    let EffectivePolicy { policy, counter, .. } = &*context.caller.effective_policy;
    let parts = job.snapshot.parts().iter().filter(|part| part.duplicate.is_none());
    let mut left = policy.token_budget_threshold;
    for part in parts.filter(|part| part.indexed_text().is_some()) {
        match catch_unwind(AssertUnwindSafe(|| counter.count_within(part.text(), left))) {
            Ok(Some(tokens)) => left -= tokens,
            _ => return true,
        }
    }
    false
}

/// Reports in an answer that the queried list was not fetched completely, or has changed meanwhile.
fn note_extent(snapshot: &Snapshot, answer: &mut Payload) {
    let (Some(list), Some(facts)) = (snapshot.upstream_list(), &mut answer.query_answer) else { return };
    if let Some(gap) = list.describe_gap() {
        facts.extra_meta.insert("upstream".into(), gap.into());
    }
    if list.has_changed {
        facts.extra_meta.insert("changed".into(), true.into());
    }
}

/// Returns the counter behind an estimate.
fn estimate_source(capped: bool) -> EstimateSource {
    if capped { EstimateSource::Bytes } else { EstimateSource::Counter }
}

/// Returns true if the store accepted it; logs the reason otherwise.
fn is_stored(outcome: &Result<(), StoreWriteError>) -> bool {
    if let Err(refused) = outcome {
        tracing::warn!(%refused, "the reply is served without cursors");
    }
    outcome.is_ok()
}

/// Returns a random snapshot id; `None` if the system has no randomness: then the snapshot cannot be stored.
fn random_snapshot_id() -> Option<SnapshotId> {
    let mut id = SnapshotId::default();
    getrandom::fill(&mut id).ok().map(|()| id)
}
