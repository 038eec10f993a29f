//! Statistics of the requests in a time range.

use std::collections::BTreeMap;

use portion_tokens::accuracy::Accuracy;

use super::Quantiles;

/// Statistics of the requests in a time range.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrafficStats {
    /// Requests, follow-ups included.
    pub requests: u64,
    /// Requests answered from a snapshot.
    pub follow_ups: u64,
    /// Requests by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Requests answered by an error, from Portion or from the upstream.
    pub errors: u64,
    /// First calls whose payload has a known cost.
    pub sized: u64,
    /// Sized first calls whose payload exceeded the budget in force then.
    pub oversized: u64,
    /// Tokens of the payloads of sized calls.
    pub original_tokens: u64,
    /// Tokens served of these payloads, follow-ups included.
    pub served_tokens: u64,
    /// Time from request to reply.
    pub latency: Quantiles,
    /// Time added by Portion.
    pub overhead: Quantiles,
    /// Accuracy of the token estimates.
    pub accuracy: Accuracy,
}

impl TrafficStats {
    /// Share of the payload tokens that was not served, follow-ups counted as served. Negative if follow-ups cost more
    /// than was saved. `None` if no cost is known.
    pub fn reduction(&self) -> Option<f64> {
        (self.original_tokens > 0).then(|| 1.0 - self.served_tokens as f64 / self.original_tokens as f64)
    }

    /// Share of the sized first calls whose payload exceeded the budget. `None` if no cost is known.
    pub fn oversized_share(&self) -> Option<f64> {
        share(self.oversized, self.sized)
    }

    /// Follow-ups per first call. `None` without first calls.
    pub fn follow_ups_per_first(&self) -> Option<f64> {
        share(self.follow_ups, self.requests.saturating_sub(self.follow_ups))
    }

    /// Returns the number of requests with that outcome.
    pub fn of(&self, outcome: portion_core::event::Outcome) -> u64 {
        self.outcomes.get(outcome.name()).copied().unwrap_or_default()
    }
}

/// Returns `part / whole`, or `None` if `whole` is 0.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
