//! What was asked in some time, and what was answered.

use std::collections::BTreeMap;

use portion_core::tokens::accuracy::Accuracy;

use super::Quantiles;

/// What was asked in some time, and what was answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Requests, follow-ups among them.
    pub requests: u64,
    /// Those that were answered from a snapshot.
    pub follow_ups: u64,
    /// How many had which outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Those that were answered by an error, ours or the upstream's.
    pub errors: u64,
    /// First calls whose payload has a known cost.
    pub sized: u64,
    /// Those of them that were above what a reply could cost then.
    pub oversized: u64,
    /// What those payloads would have cost, in tokens.
    pub original_tokens: u64,
    /// What was served of them instead, in tokens, follow-ups included.
    pub served_tokens: u64,
    /// From requests to replies.
    pub latency: Quantiles,
    /// What of that was ours.
    pub overhead: Quantiles,
    /// How near estimates come to exact counts.
    pub accuracy: Accuracy,
}

impl Figures {
    /// Share of the tokens that were kept out, follow-ups counted against it; negative where they cost more than was
    /// saved. `None` where nothing is known.
    pub fn reduction(&self) -> Option<f64> {
        (self.original_tokens > 0).then(|| 1.0 - self.served_tokens as f64 / self.original_tokens as f64)
    }

    /// Share of the first calls whose payload was above what a reply could cost.
    pub fn oversized_share(&self) -> Option<f64> {
        share(self.oversized, self.sized)
    }

    /// Follow-ups for each first call.
    pub fn follow_ups_per_first(&self) -> Option<f64> {
        share(self.follow_ups, self.requests.saturating_sub(self.follow_ups))
    }

    /// Requests of that outcome.
    pub fn of(&self, outcome: portion_core::event::Outcome) -> u64 {
        self.outcomes.get(outcome.name()).copied().unwrap_or_default()
    }
}

/// `None` of nothing.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
