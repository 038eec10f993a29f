//! What is found out of a shaped reply when it is on its way: what it really costs, and what its payload would have cost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use portion_core::event::RequestServed;
use portion_core::snapshot::Snapshot;
use portion_core::tokens::BYTE_COUNTER;

use super::CountSample;
use super::texts::{ReplyTexts, approximate_snapshot_tokens};
use super::tracker::{AccuracyKey, AccuracyTracker};
use crate::effective_policy::EffectivePolicy;

/// What a reply shows, as far as it can be counted.
pub(crate) struct CountableReply<'a> {
    pub(crate) texts: ReplyTexts<'a>,
    pub(crate) snapshot: &'a Arc<Snapshot>,
    /// What was found out before it was sent.
    pub(crate) audit: Option<CountSample>,
    pub(crate) estimate_source: EstimateSource,
}

/// By what a reply's cost was estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EstimateSource {
    /// The counter of its terms.
    Counter,
    /// The counter of last resort.
    Bytes,
    /// Nothing: nobody counted.
    Uncounted,
}

/// A reply of which more is to be told.
pub(crate) struct RecountJob {
    /// Its record, as far as it is known.
    pub(crate) served: RequestServed,
    pub(crate) effective_policy: Arc<EffectivePolicy>,
    pub(crate) estimate_source: EstimateSource,
    /// Set where it is to be counted once more.
    pub(crate) texts: Option<ReplyTexts<'static>>,
    /// Set where it is to be told what the payload would have cost.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
}

impl RecountJob {
    /// The record, with what is found out if there is time for it.
    pub(crate) fn finish(mut self, ledger: &AccuracyTracker, is_thorough: bool) -> RequestServed {
        // A counter that fails leaves the record as it is.
        if is_thorough && catch_unwind(AssertUnwindSafe(|| self.count(ledger))).is_err() {
            tracing::error!(counter = self.effective_policy.counter.name(), "counting panicked");
        }
        self.served
    }

    fn count(&mut self, ledger: &AccuracyTracker) {
        let Self { served, effective_policy: terms, estimate_source: by, texts, snapshot } = self;
        let EffectivePolicy { counter, reference, policy, .. } = &**terms;
        let original =
            snapshot.as_ref().map(|snapshot| approximate_snapshot_tokens(snapshot, policy, *counter) as u64);
        served.original_tokens = original.or(served.original_tokens);
        if *by == EstimateSource::Uncounted {
            served.estimated_tokens = original.or(served.estimated_tokens);
        }
        let (Some(texts), Some(reference)) = (texts, reference) else { return };
        let sample = texts.sample(*counter, *reference);
        let counted = if *by == EstimateSource::Bytes { texts.cost(BYTE_COUNTER) } else { sample.estimated };
        if let Some(estimated) = served.estimated_tokens {
            // What is no text costs the same by whoever counts.
            let others = estimated.saturating_sub(counted as u64);
            served.estimated_tokens = Some(others + sample.estimated as u64);
            served.actual_tokens = Some(others + sample.actual as u64);
        }
        ledger.record(&AccuracyKey::for_request(served, *counter), sample, policy.full_below);
    }
}
