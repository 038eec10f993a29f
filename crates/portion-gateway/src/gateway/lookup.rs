//! Verifies cursors and looks up their snapshots. Another Portion behind this one gets its own cursors.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use portion_core::cursor::{CursorToken, Scope};
use portion_core::snapshot::Structure;
use portion_core::view::Request;
use portion_policy::endpoint::{Endpoint, EndpointTarget};
use portion_policy::pushdown::PagingStyle;

use super::cursor_call::{CursorTarget, UnresolvedCursor};
use super::{Gateway, RequestContext};
use crate::call::{Caller, Fault, Reply, ReuseKey};
use crate::pushdown::{Fetches, Need, Turn, is_growing, note_pending};
use crate::renderer::{RenderJob, ReplyForm};
use crate::rules::EndpointRule;
use crate::store::{Extent, StoreLookupError, StoredSnapshot, redaction_id};

impl Gateway {
    /// Verifies a cursor, and looks it up in the store.
    pub(super) async fn look_up_cursor(
        &self,
        caller: &Caller,
        endpoint: Option<&Endpoint>,
        cursor: Option<&str>,
        extent: Extent,
    ) -> CursorTarget {
        let invalid = |fault: Fault| UnresolvedCursor { fault, endpoint: None, origin_snapshot: None };
        let Some(token) = cursor else {
            return Err(invalid(Fault::cursor_invalid("the cursor is missing", endpoint)));
        };
        let pointer = match self.renderer.keyring.verify(token, &caller.scope) {
            Ok(pointer) => pointer,
            Err(why) => {
                let fault = match self.mistyped_cursor(caller, token).await {
                    Some(meant) => Fault::cursor_mistyped(meant),
                    None => Fault::cursor_invalid(why.to_string(), endpoint),
                };
                return Err(invalid(fault));
            }
        };
        let view = (pointer.view, extent);
        let found = self.store.find_extent(&caller.scope, pointer.snapshot, view, (self.clock)()).await;
        // Of a snapshot that is not even remembered, only the id in the cursor is known. Most snapshots are
        // their own origin; for the answer to a query that is wrong, but then no other record has this
        // origin.
        let by_name =
            |fault| UnresolvedCursor { fault, endpoint: None, origin_snapshot: Some(pointer.snapshot) };
        Err(match found {
            Ok(stored) if !self.has_other_redaction(caller, &stored) => {
                return Ok((stored, pointer.position));
            }
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
            Ok(StoredSnapshot { endpoint: source, arguments, origin_snapshot: origin, .. })
            | Err(StoreLookupError::SnapshotGone { endpoint: source, arguments, origin_snapshot: origin }) => {
                let fault = Fault::cursor_expired(source.as_deref().or(endpoint), arguments.as_ref());
                UnresolvedCursor { fault, endpoint: source, origin_snapshot: Some(origin) }
            }
            Err(StoreLookupError::Unknown) => by_name(Fault::cursor_expired(endpoint, None)),
            Err(StoreLookupError::Unreachable(why)) => {
                self.log_failed_read(&why);
                by_name(Fault::store_unavailable(endpoint))
            }
        })
    }

    /// Logs that the store has not answered a read. The log has already that a store is not available.
    pub(super) fn log_failed_read(&self, why: &str) {
        if self.backend_status().is_some_and(|status| status.is_available) {
            tracing::warn!(why, "a result cannot be read from the snapshot store");
        } else {
            tracing::debug!(why, "the snapshot store failed");
        }
    }

    /// Returns the live cursor of the same caller that a mistyped one probably means.
    async fn mistyped_cursor(&self, caller: &Caller, given: &str) -> Option<CursorToken> {
        let meant = self.issued_cursors.nearest(caller, given)?;
        let pointer = self.renderer.keyring.verify(meant.as_str(), &caller.scope).ok()?;
        let view = (pointer.view, Extent::Page);
        let found = self.store.find_extent(&caller.scope, pointer.snapshot, view, self.now()).await;
        found.is_ok_and(|stored| !self.has_other_redaction(caller, &stored)).then_some(meant)
    }

    /// Returns a stored snapshot with the items that a request needs: waits for those of a list that is fetched page by
    /// page, here or by another instance, and resumes a fetch that stopped.
    ///
    /// # Errors
    /// If another instance may have these items, and the store does not answer.
    pub(super) async fn with_needed_items(
        &self,
        caller: &Caller,
        stored: StoredSnapshot,
        need: Need,
    ) -> Result<StoredSnapshot, UnresolvedCursor> {
        let (id, view, scope) = (stored.id, stored.view.id(), &caller.scope);
        let was_in_progress = self.fetches.is_in_progress(id);
        let stored =
            if was_in_progress { stored } else { self.store.refresh(scope, stored, self.now()).await };
        if need.is_met_by(&stored) {
            return Ok(stored);
        }
        let deadline = Fetches::deadline(caller.rule.config().request_timeout);
        self.fetches.wait_until_stored(id, need, deadline).await;
        let found = self.store.find(scope, id, view, self.now()).await;
        let stored = found.unwrap_or(stored);
        // A fetch that stopped during this call is tried again by the next one. One that another instance goes on with is
        // not over.
        let is_lost = self.store.is_shared() && is_growing(&stored);
        let has_stopped = was_in_progress && need == Need::All && !is_lost;
        if need.is_met_by(&stored) || self.fetches.is_in_progress(id) || has_stopped {
            return Ok(stored);
        }
        let (stored, turn) = Box::pin(self.fetches.wait_for_turn(scope, stored, need, deadline)).await;
        match turn {
            Turn::Fetch => {}
            Turn::Wait if need.is_met_by(&stored) || !is_growing(&stored) => return Ok(stored),
            Turn::Wait => return Ok(note_pending(stored, &caller.effective_policy).await),
            Turn::StoreLost => {
                let StoredSnapshot { endpoint, origin_snapshot, .. } = stored;
                let fault = Fault::store_unavailable(endpoint.as_deref());
                return Err(UnresolvedCursor { fault, endpoint, origin_snapshot: Some(origin_snapshot) });
            }
        }
        if !self.fetches.resume(&stored, caller, need).await {
            self.fetches.release(scope, id).await;
            return Ok(stored);
        }
        self.fetches.wait_until_stored(id, need, deadline).await;
        Ok(self.store.find(&caller.scope, id, view, self.now()).await.unwrap_or(stored))
    }

    /// Returns true if a call begins after the fetched items of a stored list, so that its page is requested directly.
    pub(super) fn is_beyond_fetch(
        &self,
        caller: &Caller,
        stored: &StoredSnapshot,
        request: &Request,
    ) -> bool {
        let Some(call) = &caller.paged_call else { return false };
        let Some(list) = stored.snapshot.upstream_list().filter(|list| list.is_partial) else { return false };
        let fetched = self.fetches.fetched_count(stored.id).unwrap_or(list.fetched);
        if call.start() > fetched {
            return true;
        }
        let has_places = matches!(call.pushdown.style, PagingStyle::Offset(_) | PagingStyle::Page(..));
        let wanted = Need::wanted_items(request, &caller.effective_policy.policy);
        wanted.filter(|wanted| has_places && wanted.start > fetched).is_some_and(|wanted| {
            let item_bytes = stored.snapshot.payload_bytes() / list.fetched.max(1);
            let page_rows = list.opening_count.unwrap_or(call.pushdown.page_size).min(list.fetched.max(1));
            call.pushdown.is_far(wanted.start - fetched, page_rows)
                || wanted.start - fetched >= call.pushdown.max_fetch
                || wanted.end.saturating_mul(item_bytes) > call.pushdown.max_fetch_bytes
        })
    }

    /// Returns true if what is kept for equal calls is one response of the upstream, which may have the items of a request on
    /// another page.
    pub async fn may_lack_items(&self, caller: &Caller, reuse: &ReuseKey, request: &Request) -> bool {
        let wanted = Need::wanted_items(request, &caller.effective_policy.policy);
        let stored = self.store.find_reusable(&caller.scope, *reuse, self.now()).await;
        let (Some(wanted), Some(stored)) = (wanted, stored) else { return false };
        let snapshot = &stored.snapshot;
        let main = snapshot.main_text().map(|main| (&main.structure, &main.text));
        let Some((Structure::List(list), text)) = main else {
            return false;
        };
        let goes_on = list.upstream_page(text, false).is_some_and(|page| page.has_more != Some(false));
        snapshot.upstream_list().is_none() && (goes_on || wanted.end > list.len())
    }

    /// Returns true if the redaction of the endpoint has changed since the snapshot was captured. Such a snapshot
    /// is no longer served, because it may contain values that are redacted now.
    pub(super) fn has_other_redaction(&self, caller: &Caller, stored: &StoredSnapshot) -> bool {
        match (&stored.rule, stored.redaction) {
            (None, None) => false,
            (Some(captured_under), _) => {
                self.current_rule(caller, stored).config().redact != captured_under.config().redact
            }
            (None, Some(captured_under)) => {
                redaction_id(self.current_rule(caller, stored).config().redact.as_deref()) != captured_under
            }
        }
    }

    /// Returns the current rule of the endpoint of a snapshot.
    pub(super) fn current_rule(&self, caller: &Caller, stored: &StoredSnapshot) -> Arc<EndpointRule> {
        let rules = self.rules();
        match stored.endpoint.as_deref() {
            Some(Endpoint { kind, name, .. }) => {
                rules.rule_for(EndpointTarget { upstream: caller.upstream.as_deref(), kind: *kind, name })
            }
            None => Arc::clone(rules.default_rule()),
        }
    }

    /// Applies the rule under which the snapshot was captured to a follow-up; the current one if another process
    /// captured it.
    pub(super) fn with_snapshot_rule(&self, caller: Caller, stored: &StoredSnapshot) -> Caller {
        match &stored.rule {
            Some(rule) => caller.with_rule(rule),
            None if stored.redaction.is_some() => {
                let rule = self.current_rule(&caller, stored);
                caller.with_rule(&rule)
            }
            None => caller,
        }
    }

    /// Returns the reply to a request whose cursor cannot be resolved.
    pub(super) fn unresolved_cursor_reply(
        &self,
        unresolved: UnresolvedCursor,
        context: RequestContext,
        request: &Request,
    ) -> Reply {
        let UnresolvedCursor { fault, endpoint, origin_snapshot: origin } = unresolved;
        self.fault_reply(fault, request, context.with_source(endpoint, origin).request_info())
    }
}

/// Records if the upstream is another Portion, whose cursors are passed on to it. Clones share the record.
#[derive(Clone, Debug, Default)]
pub struct NestedPortion(Arc<AtomicBool>);

impl NestedPortion {
    /// Records a notice of another Portion in a result.
    pub fn record(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if a cursor probably belongs to the other Portion.
    pub fn owns(&self, gateway: &Gateway, scope: &Scope, cursor: &str) -> bool {
        self.0.load(Ordering::Relaxed) && !gateway.has_issued(scope, cursor)
    }
}
