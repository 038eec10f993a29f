//! Replies to payloads that just arrived from the upstream.

use std::sync::Arc;

use portion_core::cursor::{Position, SnapshotId};
use portion_core::payload::Payload;
use portion_core::policy::MetadataMode;
use portion_core::snapshot::{Snapshot, Structure};
use portion_core::view::{Request, View};

use crate::call::{Caller, Fault, ReadCall, Reply, ReuseKey, SnapshotQuery};
use crate::effective_policy::EffectivePolicy;
use crate::offload::offload;
use crate::paged_call::{FirstPage, PagedCall};
use crate::pushdown::{Deposit, Fetch, Fetches, Need, error_text};
use crate::renderer::{RenderJob, RenderOutcome, ReplyForm, capture, payload_bytes, payload_texts};
use crate::served_pages::ServedPage;
use crate::store::StoredSnapshot;

use super::counted_page::{CountedPage, counted_page};
use super::finish::{is_refused, is_stored};
use super::query::QueriedHandle;
use super::{Gateway, RequestContext};

/// Sources of a first reply.
struct ReplySource {
    payload: Payload,
    /// The request, as it applies to the payload.
    request: Request,
    /// Fetch of the list, unless the payload is all of it.
    fetch: Option<Arc<Fetch>>,
    need: Need,
    /// Key under which equal calls are answered from the payload.
    reuse: Option<ReuseKey>,
}

impl Gateway {
    pub(super) async fn answer_fresh(
        &self,
        context: RequestContext,
        payload: Payload,
        request: Request,
        reuse: Option<ReuseKey>,
    ) -> Reply {
        let context = self.within_limits(context, &payload);
        let is_page = context.caller.paged_call.is_none() && !request.is_continuation();
        let page_key = reuse.filter(|_| is_page && !payload.paging_arguments.is_empty());
        let source = self.reply_source(&context, payload, request.clone(), reuse).await;
        let (context, source) = match self.own_page_beyond(&context, &source).await {
            Ok(None) => (context, source),
            Ok(Some((own, page))) => {
                let caller = Caller { paged_call: Some(own), ..context.caller };
                let context = RequestContext { caller, ..context };
                let source = self.reply_source(&context, page, request, None).await;
                (context, source)
            }
            Err(fault) => return self.fault_reply(fault, &Request::default(), context.request_info()),
        };
        let ReplySource { payload, request, fetch, need, reuse } = source;
        let request = without_fields_past_end(request, &payload);
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
            Some(view) if id.is_some() => self.store_fresh(&context, &job, view, reuse, fetch.as_ref()).await,
            _ => None,
        };
        let is_stored = stored.is_some();
        self.settle(&context, fetch, reuse, is_stored).await;
        let context = RequestContext {
            origin_snapshot: context.origin_snapshot.or(is_stored.then_some(job.snapshot_id)),
            ..context
        };
        if matches!(rendered, RenderOutcome::Portion { .. }) && is_refused(&context, &job) {
            let fault = self.oversized_fault(&context, &job, is_stored);
            return self.fault_reply(fault, &job.request, context.request_info());
        }
        let snapshot = Arc::clone(&job.snapshot);
        let reply = self.finish_reply(&context, job, rendered, stored.as_ref()).await;
        if let Some(key) = page_key.filter(|_| !context.is_upstream_error)
            && let Some(page) = ServedPage::from_reply(&reply, &snapshot)
        {
            self.served_pages.record(context.caller.scope, key, page);
        }
        reply
    }

    /// Answers a query on a payload: stores the payload as the result of a plain call, and answers the query on what is stored.
    pub(super) async fn answer_first_query(
        &self,
        context: RequestContext,
        payload: Payload,
        (request, query): (Request, SnapshotQuery),
        reuse: Option<ReuseKey>,
    ) -> Reply {
        let context = self.within_limits(context, &payload);
        let plain = Request::default();
        // The first record of a call whose list is fetched is that of the tool's own list.
        let request = match context.caller.paged_call {
            Some(_) => Request { limit: request.limit, ..request.without_paging() },
            None => request,
        };
        let ReplySource { payload, fetch, reuse, .. } =
            self.reply_source(&context, payload, plain.clone(), reuse).await;
        let snapshot = match self.capture_fresh(&context, payload).await {
            Ok(snapshot) => snapshot,
            Err(fault) => return self.fault_reply(fault, &request, context.request_info()),
        };
        let id = random_snapshot_id();
        let job = RenderJob {
            caller: context.caller.clone(),
            snapshot_id: id.unwrap_or_default(),
            snapshot: Arc::clone(&snapshot),
            base: None,
            request: plain,
            form: ReplyForm::AsReceived,
        };
        let stored = match id {
            Some(_) => self.store_fresh(&context, &job, View::root(), reuse, fetch.as_ref()).await,
            None => None,
        };
        let is_stored = stored.is_some();
        self.settle(&context, fetch, reuse, is_stored).await;
        let stored = stored.unwrap_or_else(|| StoredSnapshot::new(job.snapshot_id, snapshot));
        let context = RequestContext {
            caller: Caller { paged_call: None, unshown: None, ..context.caller },
            origin_snapshot: is_stored.then_some(job.snapshot_id),
            ..context
        };
        let handle = if is_stored { QueriedHandle::New } else { QueriedHandle::None };
        Box::pin(self.answer_query(context, (stored, Position::default()), request, (query, handle))).await
    }

    /// Narrows the policy of a caller for a reply from a payload.
    fn within_limits(&self, context: RequestContext, payload: &Payload) -> RequestContext {
        let mut caller = context.caller.within_session_budget().within_upstream_page();
        if context.is_upstream_error {
            caller.effective_policy = Arc::new(caller.effective_policy.for_errors());
        }
        let caller = caller.with_unshaped_byte_limit(payload_bytes(payload));
        let caller = self.accounting.cap_if_inaccurate(caller, context.endpoint.as_deref());
        RequestContext { caller, ..context }
    }

    /// Ends what depends on a payload that is not stored: its fetch, and its use for equal calls.
    async fn settle(
        &self,
        context: &RequestContext,
        fetch: Option<Arc<Fetch>>,
        reuse: Option<ReuseKey>,
        is_stored: bool,
    ) {
        if let Some(fetch) = fetch.filter(|_| !is_stored) {
            fetch.abandon();
        }
        // An error answers only its own call: an equal call is sent to the upstream again.
        if let Some(reuse) = reuse.filter(|_| !is_stored || context.is_upstream_error) {
            self.store.forget_reuse(&context.caller.scope, reuse).await;
        }
    }

    /// Begins to fetch the list that the payload is the first page of, if it is one, and waits for what the reply needs.
    async fn reply_source(
        &self,
        context: &RequestContext,
        page: Payload,
        request: Request,
        reuse: Option<ReuseKey>,
    ) -> ReplySource {
        let RequestContext { caller, .. } = context;
        let (policy, upstream) = (&caller.effective_policy.policy, caller.upstream.clone());
        let need = Need::of_first_reply(&request, 0, policy, None);
        // What an equal call would be answered from begins with the first item.
        let reuse = reuse.filter(|_| caller.paged_call.as_ref().is_none_or(|call| call.start() == 0));
        let Some(call) = caller.paged_call.as_ref().filter(|_| !page.is_error) else {
            return ReplySource { payload: page, request, fetch: None, need, reuse };
        };
        let begun = self.fetches.begin(call, (page.clone(), request.clone()), policy, upstream.clone());
        let Some((begun, request)) = begun else {
            let has_list = call.finds_list(&page);
            if !has_list {
                call.warn_without_list(&caller.rule);
            }
            let has_pages = has_list || request.is_continuation() && self.has_pages(context, &page).await;
            let request = call.request_of_own(request, has_list, has_pages);
            // A call for another page is equal, but what was stored does not have it.
            return ReplySource { payload: page, request, fetch: None, need, reuse: None };
        };
        if matches!(call.first, FirstPage::Plain { .. })
            && passes_as_received(&page, begun.len(), &request, &caller.effective_policy)
        {
            // Its own members say how the list goes on.
            begun.abandon();
            let payload = Payload { list_path: begun.list_path(), ..page };
            return ReplySource { payload, request, fetch: None, need, reuse };
        }
        let skipped = begun.skipped();
        let need = Need::of_first_reply(&request, skipped, policy, Some(call));
        let reuse = reuse.filter(|_| skipped == 0);
        let (fetch, payload) = self.begin_fetch(begun, caller, page, need).await;
        ReplySource { payload, request, fetch, need, reuse }
    }

    /// Asks for the requested page by the caller's own arguments if the list does not reach it, as where a page in between fails.
    /// Returns the own call and its page.
    ///
    /// # Errors
    /// Returns the fault in place of a page that could not be asked for. A response over HTTP has a status of its own, so that it is
    /// for the transport to ask.
    async fn own_page_beyond(
        &self,
        context: &RequestContext,
        source: &ReplySource,
    ) -> Result<Option<(Arc<PagedCall>, Payload)>, Fault> {
        let RequestContext { caller, .. } = context;
        let wanted = Need::wanted_items(&source.request, &caller.effective_policy.policy);
        let is_beyond = |fetch: &Arc<Fetch>| wanted.is_some_and(|wanted| fetch.lacks(wanted.start));
        let call = caller.paged_call.as_ref().filter(|call| !call.is_own_page());
        let Some(call) = call.filter(|_| source.fetch.as_ref().is_some_and(is_beyond)) else {
            return Ok(None);
        };
        if matches!(caller.read_call, ReadCall::Http(_)) {
            return Err(Fault::page_not_reached());
        }
        let Some(own) = call.own.clone() else { return Ok(None) };
        let page = own.source.fetch_page(&own.tool, &own.first_arguments()).await;
        let page = page.map_err(|error| Fault::page_failed(&error.to_string()))?;
        if call.begins_like(&source.payload, &page) {
            // The upstream ignores what selects a page.
            return Ok(None);
        }
        if page.is_error {
            let said = error_text(&page);
            let redacted = caller.rule.config().redact.as_deref().and_then(|rules| rules.redact(&said));
            return Err(Fault::page_failed(&redacted.map_or(said, |(redacted, _)| redacted)));
        }
        Ok(Some((own, page)))
    }

    /// Returns true if a result in which the paging finds no list is a list beside words, which has pages by number.
    async fn has_pages(&self, context: &RequestContext, page: &Payload) -> bool {
        let Ok(snapshot) = self.capture_fresh(context, page.clone()).await else { return false };
        snapshot.main_text().is_some_and(|main| matches!(main.structure, Structure::List(_)))
    }

    /// Stores a snapshot with the view of its first reply, and again as the fetch adds items. Returns it with the root view;
    /// `None` if it is not stored.
    async fn store_fresh(
        &self,
        context: &RequestContext,
        job: &RenderJob,
        view: View,
        reuse: Option<ReuseKey>,
        fetch: Option<&Arc<Fetch>>,
    ) -> Option<StoredSnapshot> {
        let new = StoredSnapshot {
            id: job.snapshot_id,
            snapshot: Arc::clone(&job.snapshot),
            view,
            endpoint: context.endpoint.clone(),
            arguments: context.caller.repeatable_arguments.clone(),
            reuse_key: reuse.filter(|_| !context.is_upstream_error),
            rule: Some(Arc::clone(&context.caller.rule)),
            redaction: None,
            origin_snapshot: context.origin_snapshot.unwrap_or(job.snapshot_id),
        };
        // An equal, later call may have taken over the reuse key when the fetch ends.
        let kept = fetch.is_some().then(|| StoredSnapshot { reuse_key: None, ..new.clone() });
        let stored = StoredSnapshot { view: View::root(), reuse_key: None, ..new.clone() };
        if fetch.is_some() {
            self.fetches.claim_later(&job.caller.scope, new.id);
        }
        if !is_stored(&self.store.put(&job.caller.scope, new, self.now()).await) {
            return None;
        }
        if job.snapshot.answer().is_none() {
            self.kept_results.record(&job.caller, job.snapshot_id, self.now());
        }
        if let (Some(fetch), Some(snapshot)) = (fetch, kept) {
            let (scope, policy) = (job.caller.scope, Arc::clone(&job.caller.effective_policy));
            let count = snapshot.snapshot.upstream_list().map_or(0, |list| list.fetched);
            self.fetches.attach(fetch, Deposit { scope, snapshot, policy }, count).await;
        }
        Some(stored)
    }

    /// Returns the fault in place of a result that is refused for its size.
    fn oversized_fault(&self, context: &RequestContext, job: &RenderJob, is_stored: bool) -> Fault {
        let cursor = is_stored.then(|| self.renderer.start_cursor(job));
        let policy = &job.caller.effective_policy.policy;
        let mut endpoint = context.endpoint.as_deref().cloned();
        if let Some(endpoint) = endpoint.as_mut().filter(|_| context.caller.rule.config().read) {
            endpoint.read_only = true;
        }
        Fault::oversized(
            (job.snapshot.payload_bytes(), policy.token_budget_threshold),
            endpoint.as_ref(),
            cursor,
            job.caller.read_call.to_follow_up(),
        )
    }

    /// Captures and renders a payload. If the request does not fit the first items of a list, it is rendered again with
    /// all items.
    pub(super) async fn render_fresh(
        &self,
        context: &RequestContext,
        (mut payload, id): (Payload, Option<SnapshotId>),
        request: &Request,
        (fetch, mut need): (Option<&Fetch>, Need),
    ) -> Result<(Arc<RenderJob>, RenderOutcome), Fault> {
        let may_be_page =
            fetch.is_none() && matches!(context.caller.read_call, ReadCall::Http(_)) && request.is_plain();
        loop {
            let snapshot = self.capture_fresh(context, payload).await?;
            let form = if snapshot.answer().is_some() { ReplyForm::TextOnly } else { ReplyForm::AsReceived };
            let caller = context.caller.clone();
            let counted = if may_be_page { counted_page(context, &snapshot) } else { None };
            let (caller, limit) = match counted {
                // A page that fits passes as received. Of a long one, the reply holds all items.
                Some(CountedPage { items, is_long: false }) => (caller.with_page_size(items), None),
                Some(CountedPage { items, is_long: true }) => (caller, u32::try_from(items).ok()),
                None => (caller, None),
            };
            let request = Request { limit: request.limit.or(limit), ..request.clone() };
            let snapshot_id = id.unwrap_or_default();
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

    /// Captures a payload under the policy of its caller.
    async fn capture_fresh(
        &self,
        context: &RequestContext,
        payload: Payload,
    ) -> Result<Arc<Snapshot>, Fault> {
        let effective_policy = Arc::clone(&context.caller.effective_policy);
        let captured = offload(payload_bytes(&payload), move || capture(payload, &effective_policy)).await;
        captured.map(Arc::new).map_err(|lost| {
            Fault::capture_failed(lost.payload_bytes, &lost.first_text, context.endpoint.as_deref())
        })
    }

    /// Waits for what a reply needs of a list. Returns the fetch, unless the page is the whole list, and the payload to
    /// reply from.
    async fn begin_fetch(
        &self,
        fetch: Arc<Fetch>,
        caller: &Caller,
        page: Payload,
        need: Need,
    ) -> (Option<Arc<Fetch>>, Payload) {
        let payload = self.wait_for(&fetch, caller, need).await;
        // The upstream's own result is the whole list: it is a payload like any other.
        // Numbers of pages, and that of all, are rewritten where it is served in parts.
        let policy = &caller.effective_policy;
        let is_cut = || {
            caller.paged_call.as_ref().is_some_and(|call| call.numbers_pages())
                && fetch.len() > policy.policy.default_page_size
                && policy.exceeds(policy.policy.full_below, payload_texts(&page))
        };
        if fetch.is_one_page() && !is_cut() {
            // A short list is not recognized as one by itself.
            (None, Payload { list_path: payload.list_path, ..page })
        } else {
            (Some(fetch), payload)
        }
    }

    /// Waits until a list meets a need, and returns it.
    pub(super) async fn wait_for(&self, fetch: &Fetch, caller: &Caller, need: Need) -> Payload {
        fetch.wait(need, Fetches::deadline(caller.rule.config().request_timeout)).await;
        fetch.to_payload(need)
    }
}

/// Returns true if a page of `items` items is so small that it passes as received.
fn passes_as_received(
    page: &Payload,
    items: usize,
    request: &Request,
    effective_policy: &EffectivePolicy,
) -> bool {
    let policy = &effective_policy.policy;
    request.is_plain()
        && policy.render_options.metadata != MetadataMode::Always
        && items <= policy.default_page_size
        && !effective_policy.exceeds_threshold(payload_texts(page))
}

/// Removes the fields of a request if the list has no items because it ends before the requested ones: no item can tell
/// whether they exist.
fn without_fields_past_end(request: Request, payload: &Payload) -> Request {
    let is_past_end =
        payload.upstream_list.as_ref().is_some_and(|list| list.fetched == 0 && list.skipped > 0);
    Request { fields: request.fields.filter(|_| !is_past_end), ..request }
}

/// Returns a random snapshot id; `None` if the system has no randomness: then the snapshot cannot be stored.
fn random_snapshot_id() -> Option<SnapshotId> {
    let mut id = SnapshotId::default();
    getrandom::fill(&mut id).ok().map(|()| id)
}
