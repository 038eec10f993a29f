//! Replies from stored snapshots, and the list of these.

use std::sync::Arc;

use portion_core::cursor::{CursorTarget, PartOffset, Position};
use portion_core::view::{Request, View};
use portion_tokens::Tokenizer;
use serde_json::{Value, json};

use crate::call::{Caller, Fault, ReadCall, Reply, SnapshotQuery};
use crate::pushdown::{Need, sized_as_opened};
use crate::renderer::{RenderJob, RenderOutcome, ReplyForm};
use crate::store::{Extent, StoreLookupError, StoredSnapshot};

use super::finish::is_stored;
use super::query::QueriedHandle;
use super::{CursorCall, Gateway, RequestContext};

/// Number of times that missing blocks are read as they are needed. After that, all of them are read.
const MAX_BLOCK_READS: usize = 3;
/// Most tokens of the list of kept results, as `o200k` counts them.
const MAX_LISTED_TOKENS: usize = 300;

/// Base of a rendering of a stored snapshot.
struct RenderBase<'a> {
    position: Position,
    request: &'a Request,
    form: ReplyForm,
}

impl CursorCall<'_> {
    /// Answers a follow-up, or a query on the content of the cursor.
    pub async fn answer(self, mut request: Request) -> Reply {
        let gateway = self.gateway;
        if let Some(query) = SnapshotQuery::take_from(&mut request) {
            return match self.into_target(&request, Extent::Whole).await {
                Ok((context, stored, position)) => {
                    Box::pin(gateway.answer_query(
                        context,
                        (stored, position),
                        request,
                        (query, QueriedHandle::Known),
                    ))
                    .await
                }
                Err(reply) => reply,
            };
        }
        // The result of a built-in tool is text.
        let form = if self.context.endpoint.is_some() { ReplyForm::Rebuilt } else { ReplyForm::TextOnly };
        let extent = if request.is_next_page() { Extent::Page } else { Extent::Whole };
        let (context, stored, position) = match self.into_target(&request, extent).await {
            Ok((context, stored, position)) if request.all => (
                RequestContext { caller: context.caller.with_limit_of_programs(), ..context },
                stored,
                position,
            ),
            Ok(target) => target,
            Err(reply) => return reply,
        };
        let policy = &context.caller.effective_policy.policy;
        let is_sized = stored.view.page_size().is_some_and(|size| (size as usize) < policy.default_page_size);
        let request = if is_sized { request } else { sized_as_opened(request, &stored.snapshot, policy) };
        let need = Need::of_follow_up(&request, position, &stored, &context.caller);
        let stored = match gateway.with_needed_items(&context.caller, stored, need).await {
            Ok(stored) => stored,
            Err(unresolved) => return gateway.unresolved_cursor_reply(unresolved, context, &request),
        };
        if let Some(reason) = failure_at(&stored, position, &context.caller) {
            return gateway.fault_reply(Fault::page_failed(&reason), &request, context.request_info());
        }
        Box::pin(gateway.answer_from_stored(context, (stored, position), request, form)).await
    }
}

impl Gateway {
    /// Returns the results that are kept for a caller, the newest first, as JSON of at most 300 tokens. The oldest ones are
    /// only counted if there are more.
    pub async fn list_kept(&self, caller: &Caller) -> String {
        let counter = Tokenizer::O200k.counter();
        let (mut listed, mut json) = (Vec::new(), written(&[], 0));
        let results = self.kept_results.of_scope(&caller.scope);
        for (at, result) in results.iter().enumerate() {
            let view = View::root();
            let place = (view.id(), Extent::Page);
            let found = self.store.find_extent(&caller.scope, result.id, place, self.now()).await;
            let Some(stored) = found.ok().filter(|stored| !self.has_other_redaction(caller, stored)) else {
                continue;
            };
            let target = CursorTarget { snapshot: result.id, view: view.id(), position: Position::default() };
            let cursor = self.renderer.keyring.sign(&target, &caller.scope);
            listed.push(result.to_json(&stored, &cursor, self.now()));
            let longer = written(&listed, results.len() - at - 1);
            if counter.count(&longer) > MAX_LISTED_TOKENS {
                break;
            }
            self.issued_cursors.record(caller, &Some(cursor));
            json = longer;
        }
        json
    }

    /// Answers from a stored snapshot, from a position in one of its views.
    pub(super) async fn answer_from_stored(
        &self,
        context: RequestContext,
        (mut stored, position): (StoredSnapshot, Position),
        request: Request,
        form: ReplyForm,
    ) -> Reply {
        let caller = self
            .accounting
            .cap_if_inaccurate(context.caller.within_session_budget(), context.endpoint.as_deref());
        let context = RequestContext { caller, ..context };
        let base = RenderBase { position, request: &request, form };
        let (mut job, mut rendered) = match self.render_stored(&context, &mut stored, &base, true).await {
            Ok(rendered) => rendered,
            Err(fault) => return self.fault_reply(fault, &request, context.request_info()),
        };
        if let RenderOutcome::Portion { view, .. } = &rendered {
            self.fetches.record_view(job.snapshot_id, view);
        }
        let is_stored = match &rendered {
            RenderOutcome::Portion { view, .. } => is_stored(
                &self
                    .store
                    .put_view(&job.caller.scope, job.snapshot_id, (&job.snapshot, view.clone()), self.now())
                    .await,
            ),
            _ => true,
        };
        if !is_stored {
            // Without cursors, a page has room for more, which may be in other blocks.
            (job, rendered) = match self.render_stored(&context, &mut stored, &base, false).await {
                Ok(rendered) => rendered,
                Err(fault) => return self.fault_reply(fault, &request, context.request_info()),
            };
        }
        self.finish_reply(&context, job, rendered, is_stored.then_some(&stored)).await
    }

    /// Renders a reply from a stored snapshot. If missing blocks are needed, they are read, and the rendering is
    /// repeated.
    async fn render_stored(
        &self,
        context: &RequestContext,
        stored: &mut StoredSnapshot,
        base: &RenderBase<'_>,
        has_cursors: bool,
    ) -> Result<(Arc<RenderJob>, RenderOutcome), Fault> {
        let mut reads = 0;
        loop {
            let job = Arc::new(RenderJob {
                caller: context.caller.clone(),
                snapshot_id: stored.id,
                snapshot: Arc::clone(&stored.snapshot),
                base: Some((stored.view.clone(), base.position)),
                request: base.request.clone(),
                form: base.form,
            });
            let rendered = self.render(&job, has_cursors).await;
            let needed = stored.snapshot.needed_blocks();
            if needed.is_empty() {
                return Ok((job, rendered));
            }
            reads += 1;
            let blocks = if reads > MAX_BLOCK_READS { stored.snapshot.missing_blocks() } else { needed };
            self.read_blocks(context, stored, blocks).await?;
        }
    }

    /// Reads all missing blocks of a snapshot from the store, if it lacks any.
    pub(super) async fn read_missing_blocks(
        &self,
        context: &RequestContext,
        stored: &mut StoredSnapshot,
    ) -> Result<(), Fault> {
        if !stored.snapshot.is_partial() {
            return Ok(());
        }
        let blocks = stored.snapshot.missing_blocks();
        self.read_blocks(context, stored, blocks).await
    }

    /// Reads missing blocks of a snapshot from the store.
    pub(super) async fn read_blocks(
        &self,
        context: &RequestContext,
        stored: &mut StoredSnapshot,
        blocks: Vec<u32>,
    ) -> Result<(), Fault> {
        let read = self.store.read_blocks(&context.caller.scope, stored, blocks).await;
        stored.snapshot = read.map_err(|error| {
            let endpoint = stored.endpoint.as_deref().or(context.endpoint.as_deref());
            if let StoreLookupError::Unreachable(why) = &error {
                self.log_failed_read(why);
                return Fault::store_unavailable(endpoint);
            }
            Fault::cursor_expired(endpoint, stored.arguments.as_ref())
        })?;
        Ok(())
    }
}

/// Returns why the items from a position on could not be fetched. Programs read a page over HTTP without items as the end of the
/// list, so a failure has the status of one; a model reads what a notice says of it.
fn failure_at(stored: &StoredSnapshot, position: Position, caller: &Caller) -> Option<String> {
    let list = stored.snapshot.upstream_list().filter(|list| list.continuation.is_some())?;
    let is_end = matches!(position.offset, PartOffset::Item(item) if item as usize >= list.fetched);
    let is_read_by_programs = matches!(caller.read_call, ReadCall::Http(_));
    let is_failure = is_end && is_read_by_programs && list.fetched > 0;
    list.stop_reason.as_ref().filter(|_| is_failure).and_then(|_| list.describe_gap())
}

/// Returns listed results, with the number of further ones.
fn written(listed: &[Value], further_count: usize) -> String {
    match further_count {
        0 => json!({ "kept": listed }),
        more => json!({ "kept": listed, "more": more }),
    }
    .to_string()
}
