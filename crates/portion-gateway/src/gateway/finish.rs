//! Renders a reply and accounts for it.

use std::sync::Arc;

use portion_core::event::Outcome;
use portion_policy::endpoint::Endpoint;

use crate::accounting::{PayloadShape, ReplyOutcome};
use crate::accuracy::recount::{CountableReply, EstimateSource};
use crate::accuracy::texts::ReplyTexts;
use crate::call::{Fault, Reply};
use crate::decision_log;
use crate::offload::offload;
use crate::renderer::{RenderJob, RenderOutcome};
use crate::store::{StoredSnapshot, WriteResult};

use super::{Gateway, RequestContext};

/// Bytes per token where tokens are not counted.
const BYTES_PER_TOKEN: usize = 4;
/// `_meta` key with the remaining budget of a session.
const SESSION_META_KEY: &str = "io.portion/session";

impl Gateway {
    /// Finishes a reply that was rendered with cursors, once it is known if the store accepted it. `stored`: the snapshot of
    /// the job, if it is stored.
    pub(super) async fn finish_reply(
        &self,
        context: &RequestContext,
        job: Arc<RenderJob>,
        rendered: RenderOutcome,
        stored: Option<&StoredSnapshot>,
    ) -> Reply {
        let is_stored = stored.is_some();
        let rendered = match rendered {
            RenderOutcome::Portion { .. } if !is_stored => self.render(&job, false).await,
            rendered => rendered,
        };
        let handle = || is_stored.then(|| self.renderer.start_cursor(&job));
        let (account, snapshot) =
            (context.request_info(), context.queried_snapshot.as_ref().unwrap_or(&job.snapshot));
        let follow_up = job.caller.read_call.to_follow_up();
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
                let shown = CountableReply { texts, snapshot, audit, estimate_source: by };
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
                let shown =
                    CountableReply { texts, snapshot, audit, estimate_source: estimate_source(capped) };
                self.accounting.report_rendered(account, reply_outcome, shown);
                self.kept_results.record_reply(
                    &context.caller.scope,
                    job.snapshot_id,
                    &job.snapshot,
                    &portion,
                );
                let cursors = [portion.start_cursor(), portion.next_cursor()];
                self.issued_cursors.record(&context.caller, cursors.into_iter().flatten());
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
            RenderOutcome::InvalidRequest(error) => match stored {
                None => Fault::invalid_view(error, follow_up),
                Some(stored) => match Box::pin(self.answer_as_query(context, &job, stored, error)).await {
                    Ok(reply) => return reply,
                    Err(error) => Fault::invalid_view(error, follow_up).with_cursor(handle()),
                },
            },
            RenderOutcome::Panicked => Fault::render_failed(handle(), follow_up),
        };
        self.fault_reply(fault, &job.request, account)
    }

    pub(super) async fn render(&self, job: &Arc<RenderJob>, is_stored: bool) -> RenderOutcome {
        let (renderer, job) = (Arc::clone(&self.renderer), Arc::clone(job));
        offload(job.snapshot.payload_bytes(), move || renderer.render(&job, is_stored)).await
    }
}

/// Returns true if a result that does not fit is refused: the configuration says so, and the caller asked for all of it.
pub(super) fn is_refused(context: &RequestContext, job: &RenderJob) -> bool {
    let is_asked_whole = job.request.is_plain() && !context.is_follow_up && !context.is_upstream_error;
    let is_answer = job.snapshot.answer().is_some();
    if !context.caller.rule.config().refuses_oversized || !is_asked_whole || is_answer {
        return false;
    }
    context.caller.effective_policy.exceeds_threshold(job.snapshot.distinct_texts())
}

/// Returns true if the store accepted it; logs the reason otherwise.
pub(super) fn is_stored(outcome: &WriteResult) -> bool {
    if let Err(refused) = outcome {
        tracing::warn!(%refused, "the reply is served without cursors");
    }
    outcome.is_ok()
}

/// Returns the counter behind an estimate.
fn estimate_source(capped: bool) -> EstimateSource {
    if capped { EstimateSource::Bytes } else { EstimateSource::Counter }
}
