//! Relays replies without shaping, and records what shaping would have made of them.
//!
//! Redaction still applies. The shaped reply is simulated in the background, after the reply was sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::event::{Outcome, RequestServed, ShadowResult};
use portion_core::payload::{Payload, Redact as _};
use portion_core::render::FirstReply;
use portion_core::view::Request;

use super::Gateway;
use crate::accounting::{self, ReplyOutcome, RequestInfo};
use crate::accuracy::texts::{ReplyTexts, approximate_payload_tokens};
use crate::accuracy::tracker::{AccuracyKey, AccuracyTracker};
use crate::call::{Caller, Fault, Reply};
use crate::deferred_worker::JobPriority;
use crate::effective_policy::EffectivePolicy;
use crate::offload::offload;
use crate::renderer::{RenderJob, RenderOutcome, Renderer, ReplyForm, capture, payload_bytes, render_whole};
use crate::rules::PassThrough;

/// Bytes per token where there is no time to count.
const BYTES_PER_TOKEN: usize = 4;

impl Gateway {
    /// Relays a payload, redacted but not shaped. Its tokens and the simulated shaping are computed in the
    /// background, and do not count into the request's time.
    pub(super) async fn relay(
        &self,
        account: RequestInfo<'_>,
        relayed: PassThrough,
        payload: Payload,
    ) -> Reply {
        let caller = account.caller;
        let hides = match (&payload.redaction_rules, &caller.effective_policy.redact) {
            (Some(redact), _) => !redact.hides_nothing(),
            (None, redact) => redact.as_ref().is_some_and(|redact| !redact.hides_nothing()),
        };
        let reply = if hides { redact_reply(caller, payload.clone()).await } else { Reply::Untouched };
        let bytes = payload_bytes(&payload);
        let served = self
            .accounting
            .build_record(account, ReplyOutcome::passed_through(Outcome::Unshaped, bytes, None));
        let texts = ReplyTexts::from_payload(&payload).bytes();
        let record = PendingRecord {
            is_sampled: self.accounting.is_sampled(account, &served, texts),
            simulates_shaping: relayed.records_shadow,
            served,
            caller: caller.clone(),
            renderer: Arc::clone(&self.renderer),
        };
        let accounts = Arc::clone(&self.accounting);
        self.accounting.deferred_worker.submit(JobPriority::Required, bytes, move |is_thorough| {
            let tracker = &accounts.accuracy_tracker;
            accounts.emit(record.finish(payload, tracker, is_thorough));
        });
        reply
    }
}

/// Record of a reply that was sent, still to be completed.
struct PendingRecord {
    served: RequestServed,
    caller: Caller,
    renderer: Arc<Renderer>,
    /// True if it is counted exactly.
    is_sampled: bool,
    /// True if shaping is simulated.
    simulates_shaping: bool,
}

impl PendingRecord {
    fn finish(self, payload: Payload, tracker: &AccuracyTracker, is_thorough: bool) -> RequestServed {
        let Self { mut served, caller, renderer, is_sampled, simulates_shaping } = self;
        let EffectivePolicy { counter, policy, reference, .. } = &*caller.effective_policy;
        let tokens = if is_thorough {
            approximate_payload_tokens(&payload, policy, *counter)
        } else {
            payload_bytes(&payload).div_ceil(BYTES_PER_TOKEN)
        };
        if let Some(reference) = reference.filter(|_| is_sampled && is_thorough) {
            let sample = ReplyTexts::from_payload(&payload).sample(*counter, reference);
            let others = tokens.saturating_sub(sample.estimated);
            served.actual_tokens = Some((others + sample.actual) as u64);
            tracker.record(&AccuracyKey::for_request(&served, *counter), sample, policy.full_below);
        }
        caller.session.charge(tokens);
        let tokens = tokens as u64;
        (served.estimated_tokens, served.original_tokens) = (Some(tokens), Some(tokens));
        served.shadow = if simulates_shaping && is_thorough {
            simulate_shaping(&renderer, caller, payload, tokens)
        } else {
            None
        };
        served
    }
}

/// Simulates the shaped reply to a payload of `tokens` tokens.
fn simulate_shaping(
    renderer: &Renderer,
    caller: Caller,
    payload: Payload,
    tokens: u64,
) -> Option<ShadowResult> {
    let begun = Instant::now();
    let bytes = payload_bytes(&payload);
    // Its cursors are written as if it were stored.
    let (outcome, tokens, bytes) = match renderer.render(&first_job(caller, payload)?, true) {
        RenderOutcome::Untouched { tokens: counted, .. } => {
            (Outcome::Untouched, counted.map_or(tokens, |counted| counted as u64), bytes)
        }
        RenderOutcome::Portion { portion, capped, .. } => {
            let outcome = accounting::outcome_for(portion.kind(), &Request::default());
            let outcome = if capped { Outcome::Capped } else { outcome };
            (outcome, portion.tokens() as u64, accounting::shown_bytes(&portion))
        }
        RenderOutcome::InvalidRequest(_) | RenderOutcome::Panicked => return None,
    };
    let overhead: Duration = begun.elapsed();
    Some(ShadowResult { outcome, tokens, bytes: bytes as u64, overhead })
}

/// Returns the whole payload with redactions.
async fn redact_reply(caller: &Caller, payload: Payload) -> Reply {
    let caller =
        Caller { effective_policy: Arc::new(caller.effective_policy.without_limits()), ..caller.clone() };
    let bytes = payload_bytes(&payload);
    match offload(bytes, move || render_whole(&first_job(caller, payload)?)).await {
        Some(FirstReply::Portion(portion)) => Reply::Portion(portion),
        Some(FirstReply::Untouched { .. }) => Reply::Untouched,
        // A payload that cannot be redacted is not shown.
        None => Reply::Fault(Fault::capture_failed(bytes, "", None)),
    }
}

/// Returns the job of the first reply to a payload. Returns `None` if it cannot be captured.
fn first_job(caller: Caller, payload: Payload) -> Option<RenderJob> {
    let snapshot = Arc::new(capture(payload, &caller.effective_policy).ok()?);
    let (id, request) = (Default::default(), Request::default());
    Some(RenderJob { caller, snapshot_id: id, snapshot, base: None, request, form: ReplyForm::AsReceived })
}
