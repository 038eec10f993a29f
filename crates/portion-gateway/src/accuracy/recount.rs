//! What is found out of a shaped reply when it is on its way: what it really costs, and what its payload would have cost.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use portion_core::event::Served;
use portion_core::snapshot::Snapshot;
use portion_core::tokens::BYTES;

use super::Sample;
use super::ledger::{Ledger, Subject};
use super::texts::{Texts, approximate_payload};
use crate::terms::Terms;

/// What a reply shows, as far as it can be counted.
pub(crate) struct Shown<'a> {
    pub(crate) texts: Texts<'a>,
    pub(crate) snapshot: &'a Arc<Snapshot>,
    /// What was found out before it was sent.
    pub(crate) audit: Option<Sample>,
    pub(crate) by: By,
}

/// By what a reply's cost was estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The counter of its terms.
    Counter,
    /// The counter of last resort.
    Bytes,
    /// Nothing: nobody counted.
    Nobody,
}

/// A reply of which more is to be told.
pub(crate) struct Recount {
    /// Its record, as far as it is known.
    pub(crate) served: Served,
    pub(crate) terms: Arc<Terms>,
    pub(crate) by: By,
    /// Set where it is to be counted once more.
    pub(crate) texts: Option<Texts<'static>>,
    /// Set where it is to be told what the payload would have cost.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
}

impl Recount {
    /// The record, with what is found out if there is time for it.
    pub(crate) fn done(mut self, ledger: &Ledger, is_thorough: bool) -> Served {
        // A counter that fails leaves the record as it is.
        if is_thorough && catch_unwind(AssertUnwindSafe(|| self.count(ledger))).is_err() {
            tracing::error!(counter = self.terms.counter.name(), "counting panicked");
        }
        self.served
    }

    fn count(&mut self, ledger: &Ledger) {
        let Self { served, terms, by, texts, snapshot } = self;
        let Terms { counter, reference, policy, .. } = &**terms;
        let original =
            snapshot.as_ref().map(|snapshot| approximate_payload(snapshot, policy, *counter) as u64);
        served.original_tokens = original.or(served.original_tokens);
        if *by == By::Nobody {
            served.estimated_tokens = original.or(served.estimated_tokens);
        }
        let (Some(texts), Some(reference)) = (texts, reference) else { return };
        let sample = texts.sample(*counter, *reference);
        let counted = if *by == By::Bytes { texts.cost(BYTES) } else { sample.estimated };
        if let Some(estimated) = served.estimated_tokens {
            // What is no text costs the same by whoever counts.
            let others = estimated.saturating_sub(counted as u64);
            served.estimated_tokens = Some(others + sample.estimated as u64);
            served.actual_tokens = Some(others + sample.actual as u64);
        }
        ledger.note(&Subject::of(served, *counter), sample, policy.full_below);
    }
}
