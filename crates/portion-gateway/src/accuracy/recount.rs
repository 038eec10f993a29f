//! Completes the record of a shaped reply in the background: its actual cost, and the cost of its payload.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use portion_core::event::RequestServed;
use portion_core::snapshot::Snapshot;
use portion_tokens::BYTE_COUNTER;

use super::CountSample;
use super::texts::{ReplyTexts, approximate_snapshot_tokens};
use super::tracker::{AccuracyKey, AccuracyTracker};
use crate::effective_policy::EffectivePolicy;

/// Countable content of a reply.
pub(crate) struct CountableReply<'a> {
    pub(crate) texts: ReplyTexts<'a>,
    pub(crate) snapshot: &'a Arc<Snapshot>,
    /// Sample that was taken before the reply was sent.
    pub(crate) audit: Option<CountSample>,
    pub(crate) estimate_source: EstimateSource,
}

/// Source of a reply's estimated cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EstimateSource {
    /// The counter of its policy.
    Counter,
    /// The byte counter of the fallback.
    Bytes,
    /// Not counted.
    Uncounted,
}

/// A reply whose record is completed in the background.
pub(crate) struct RecountJob {
    /// The record so far.
    pub(crate) served: RequestServed,
    pub(crate) effective_policy: Arc<EffectivePolicy>,
    pub(crate) estimate_source: EstimateSource,
    /// Texts to recount, if the reply is sampled.
    pub(crate) texts: Option<ReplyTexts<'static>>,
    /// Snapshot whose total cost is computed, if needed.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
}

impl RecountJob {
    /// Returns the record, completed if there is time.
    pub(crate) fn finish(mut self, tracker: &AccuracyTracker, is_thorough: bool) -> RequestServed {
        // A panic of the counter leaves the record as it is.
        if is_thorough && catch_unwind(AssertUnwindSafe(|| self.count(tracker))).is_err() {
            tracing::error!(counter = self.effective_policy.counter.name(), "token counting panicked");
        }
        self.served
    }

    fn count(&mut self, tracker: &AccuracyTracker) {
        let Self { served, effective_policy, estimate_source: by, texts, snapshot } = self;
        let EffectivePolicy { counter, reference, policy, .. } = &**effective_policy;
        let original =
            snapshot.as_ref().map(|snapshot| approximate_snapshot_tokens(snapshot, policy, *counter) as u64);
        served.original_tokens = original.or(served.original_tokens);
        if *by == EstimateSource::Uncounted {
            served.estimated_tokens = original.or(served.estimated_tokens);
        }
        let (Some(texts), Some(reference)) = (texts, reference) else { return };
        let sample = texts.sample(*counter, *reference);
        let charged_by = if *by == EstimateSource::Bytes { BYTE_COUNTER } else { *counter };
        let counted = texts.charged_cost(charged_by);
        if let Some(estimated) = served.estimated_tokens {
            // Content other than text costs the same with any counter.
            let others = estimated.saturating_sub(counted as u64);
            served.estimated_tokens = Some(others + sample.estimated as u64);
            served.actual_tokens = Some(others + sample.actual as u64);
        }
        tracker.record(&AccuracyKey::for_request(served, *counter), sample, policy.full_below);
    }
}
