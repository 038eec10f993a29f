//! Replies to queries on stored snapshots.

use std::sync::Arc;

use portion_core::cursor::Position;
use portion_core::payload::Payload;
use portion_core::render::{UpstreamRest, upstream_rest, words_beside};
use portion_core::snapshot::Snapshot;
use portion_core::view::{Request, ViewError};
use portion_policy::endpoint::Endpoint;
use serde_json::Value;

use crate::call::{Caller, Fault, Reply, SnapshotQuery};
use crate::decision_log;
use crate::offload::offload;
use crate::pushdown::Need;
use crate::query_limiter::{MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};
use crate::renderer::{RenderJob, ReplyForm, payload_bytes};
use crate::snapshot_query::JoinedSnapshot;
use crate::store::{Extent, StoredSnapshot};

use super::{Gateway, RequestContext};

/// Most addresses of blocks that an answer names because no query reads them.
const MAX_BLOCKS: usize = 4;

/// Cursor of a queried result, as its caller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueriedHandle {
    /// The caller has it.
    Known,
    /// The answer shows it.
    New,
    /// The result is not stored.
    None,
}

impl Gateway {
    /// Answers a query on a snapshot. The answer becomes a snapshot of its own.
    pub(super) async fn answer_query(
        &self,
        context: RequestContext,
        (stored, position): (StoredSnapshot, Position),
        request: Request,
        (ask, handle): (SnapshotQuery, QueriedHandle),
    ) -> Reply {
        let caller = Caller { repeatable_arguments: stored.arguments.clone(), ..context.caller };
        let context = RequestContext { caller, ..context };
        if !context.caller.effective_policy.policy.render_options.techniques.query {
            let fault =
                Fault::query_disabled(context.endpoint.as_deref(), context.caller.read_call.to_follow_up());
            return self.fault_reply(fault, &request, context.request_info());
        }
        let stored = match handle {
            QueriedHandle::None => stored,
            _ => match self.with_needed_items(&context.caller, stored, Need::All).await {
                Ok(stored) => stored,
                Err(unresolved) => return self.unresolved_cursor_reply(unresolved, context, &request),
            },
        };
        let StoredSnapshot { id, snapshot, view, .. } = stored;
        let queried_snapshot = (!context.is_follow_up).then(|| Arc::clone(&snapshot));
        let context = RequestContext { queried_snapshot, ..context };
        let (caller, base) = (context.caller.clone(), Some((view, position)));
        let about = Arc::new(RenderJob {
            caller,
            snapshot_id: id,
            snapshot,
            base,
            request,
            form: ReplyForm::TextOnly,
        });
        let with_cursor = |fault: Fault| {
            let is_stored = handle != QueriedHandle::None;
            fault.with_cursor(is_stored.then(|| self.renderer.start_cursor(&about)))
        };
        let joined = match self.joined_snapshots(&context.caller, &ask).await {
            Ok(joined) => joined,
            Err(fault) => {
                return self.fault_reply(with_cursor(fault), &about.request, context.request_info());
            }
        };
        let (query_job, arguments) = (Arc::clone(&about), ask.argument_names());
        let extents: Vec<_> =
            joined.iter().map(|other| (other.name.clone(), Arc::clone(&other.snapshot))).collect();
        let session = Arc::clone(&context.caller.session);
        let Some(place) = session.query_limiter.acquire().await else {
            let fault = Fault::too_many_queries(MAX_CONCURRENT_QUERIES + MAX_WAITING_QUERIES);
            return self.fault_reply(fault, &about.request, context.request_info());
        };
        // If this future is dropped, the query ends.
        let given_up = context.caller.cancel_flag.cancel_on_drop();
        // A query may take long however small the payload is.
        let answer = if context.caller.cancel_flag.is_cancelled() {
            Err(Fault::query_cancelled())
        } else {
            offload(usize::MAX, move || query_job.run_query(&ask, &joined)).await
        };
        given_up.disarm();
        drop(place);
        let request = &about.request;
        match answer {
            Ok(mut payload) => {
                note_extent(None, &about.snapshot, &mut payload);
                if let Some(facts) = payload.query_answer.as_mut().filter(|_| handle == QueriedHandle::New) {
                    let cursor = self.renderer.start_cursor(&about);
                    self.issued_cursors.record(&context.caller, &Some(cursor.clone()));
                    facts.extra_meta.insert("originalCursor".to_owned(), cursor.as_str().into());
                    let unread = unqueried_blocks(&about.snapshot);
                    facts.extra_meta.extend(unread.map(|blocks| ("notQueried".to_owned(), blocks)));
                    let words = words_beside(&about.snapshot);
                    facts.extra_meta.extend(words.map(|words| ("beside".to_owned(), words.into())));
                }
                for (name, snapshot) in &extents {
                    note_extent(Some(name), snapshot, &mut payload);
                }
                let matches = log_answer(&context, &arguments, &about.snapshot, &payload);
                let shown = shown_request(request, matches);
                self.answer_fresh(context, payload, shown, None).await
            }
            Err(fault) => self.fault_reply(with_cursor(fault), request, context.request_info()),
        }
    }

    /// Answers a request for fields or an order of a text that has a table, as a query on the table. `stored`: the snapshot
    /// of the job.
    ///
    /// # Errors
    /// The given error if a query cannot answer it, or that of an unknown column.
    pub(super) async fn answer_as_query(
        &self,
        context: &RequestContext,
        job: &Arc<RenderJob>,
        stored: &StoredSnapshot,
        error: ViewError,
    ) -> Result<Reply, ViewError> {
        if !job.caller.effective_policy.policy.render_options.techniques.query {
            return Err(error);
        }
        let query_job = Arc::clone(job);
        let written = offload(job.snapshot.payload_bytes(), move || query_job.query_for_text(error)).await?;
        let mut stored = stored.clone();
        let context = context.clone().with_source(stored.endpoint.clone(), Some(stored.origin_snapshot));
        let request = Request { fields: None, sort: None, ..job.request.clone() };
        if let Err(fault) = self.read_missing_blocks(&context, &mut stored).await {
            return Ok(self.fault_reply(fault, &request, context.request_info()));
        }
        let position = job.base.as_ref().map(|(_, position)| *position).unwrap_or_default();
        let handle = if request.cursor.is_none() { QueriedHandle::New } else { QueriedHandle::Known };
        Ok(self.answer_query(context, (stored, position), request, (written, handle)).await)
    }

    /// Looks up the other results of a query, by the rules of every cursor. An error names the result.
    async fn joined_snapshots(
        &self,
        caller: &Caller,
        ask: &SnapshotQuery,
    ) -> Result<Vec<JoinedSnapshot>, Fault> {
        let mut joined = Vec::new();
        for (name, cursor) in ask.joined_cursors() {
            let found = self.joined_snapshot(caller, cursor).await;
            let StoredSnapshot { snapshot, view, .. } = found
                .map_err(|fault| Fault { message: format!("with {name}: {}", fault.message), ..fault })?;
            joined.push(JoinedSnapshot { name: name.clone(), snapshot, view });
        }
        Ok(joined)
    }

    async fn joined_snapshot(&self, caller: &Caller, cursor: &str) -> Result<StoredSnapshot, Fault> {
        let found = self.look_up_cursor(caller, None, Some(cursor), Extent::Whole).await;
        let (stored, _) = found.map_err(|unresolved| unresolved.fault)?;
        let own = self.with_snapshot_rule(caller.clone(), &stored);
        if !own.effective_policy.policy.render_options.techniques.query {
            return Err(Fault::query_disabled(stored.endpoint.as_deref(), own.read_call.to_follow_up()));
        }
        self.with_needed_items(&own, stored, Need::All).await.map_err(|unresolved| unresolved.fault)
    }
}

/// Logs the answer to a query. Returns the number of matches.
fn log_answer(context: &RequestContext, arguments: &[&str], snapshot: &Snapshot, answer: &Payload) -> usize {
    let matches =
        answer.query_answer.as_ref().map_or(0, |answer| answer.match_count + answer.word_match_count);
    let (upstream, name) =
        (context.caller.upstream.as_deref(), Endpoint::log_name(context.endpoint.as_deref()));
    let (bytes, answer_bytes) = (snapshot.payload_bytes(), payload_bytes(answer));
    decision_log::log_query(upstream, &name, arguments, matches, bytes, answer_bytes);
    matches
}

/// Returns the request for the answer to a query.
fn shown_request(request: &Request, matches: usize) -> Request {
    if matches > 0 {
        return Request { cursor: None, path: None, section: None, ..request.clone() };
    }
    // An empty answer has no fields, and no order.
    let Request { limit, max_tokens, .. } = *request;
    Request { limit, max_tokens, ..Request::default() }
}

/// Returns the addresses of the first blocks that no query reads: images, audio, links.
fn unqueried_blocks(snapshot: &Snapshot) -> Option<Value> {
    let unread = snapshot.parts().iter().filter(|part| part.indexed_text().is_none());
    let addresses: Vec<Value> = unread.take(MAX_BLOCKS).map(|part| part.address.as_str().into()).collect();
    (!addresses.is_empty()).then(|| addresses.into())
}

/// Reports in an answer that a queried list is one page of the upstream, was not fetched completely, or has changed
/// meanwhile. `name`: that of another result of the query.
fn note_extent(name: Option<&str>, snapshot: &Snapshot, answer: &mut Payload) {
    let Some(facts) = &mut answer.query_answer else { return };
    if name.is_none() && facts.reads_other_lists {
        return;
    }
    let key = |fact: &str| name.map_or_else(|| fact.to_owned(), |name| format!("{fact} of {name}"));
    let rest = upstream_rest(snapshot);
    let said = rest.map(|rest| match rest {
        UpstreamRest::Total(_) => "this is one page",
        UpstreamRest::More => "this is one page; the upstream has more",
        UpstreamRest::Unknown => "this is a full page; the upstream may have more",
    });
    facts.extra_meta.extend(said.map(|said| (key("upstream"), said.into())));
    if let Some(UpstreamRest::Total(total)) = rest {
        facts.extra_meta.insert(key("upstreamTotal"), total.into());
    }
    let Some(list) = snapshot.upstream_list() else { return };
    if let Some(gap) = list.describe_gap() {
        facts.extra_meta.insert(key("upstream"), gap.into());
    }
    if list.has_changed {
        facts.extra_meta.insert(key("changed"), true.into());
    }
}
