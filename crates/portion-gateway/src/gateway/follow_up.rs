//! Replies from stored snapshots.

use std::sync::Arc;

use portion_core::cursor::{Position, SnapshotId};
use portion_core::snapshot::Snapshot;
use portion_core::view::{Request, View};

use crate::call::Reply;
use crate::pushdown::Need;
use crate::renderer::{RenderJob, RenderOutcome, ReplyForm};
use crate::store::StoredSnapshot;

use super::finish::is_stored;
use super::{Gateway, RequestContext};

impl Gateway {
    pub(super) async fn answer_follow_up(&self, mut context: RequestContext, request: Request) -> Reply {
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

    /// Answers from a stored snapshot, from a position in one of its views.
    pub(super) async fn answer_from_stored(
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
}
