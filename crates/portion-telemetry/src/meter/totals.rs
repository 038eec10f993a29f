//! Totals over all endpoints.

use portion_core::event::Outcome;
use portion_tokens::accuracy::Accuracy;

use super::{Counters, Meter};
use crate::rollup::share;

/// Totals over all endpoints since the process started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests by outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Requests answered from a snapshot.
    pub follow_ups: u64,
    /// Replies that are errors, from Portion or from the upstream.
    pub errors: u64,
    /// Replies with a known cost, and the sum of their tokens.
    pub counted: (u64, u64),
    /// Tokens of payloads with a known cost, and tokens served of them, follow-ups included.
    pub tokens: (u64, u64),
    /// Bytes of payloads and bytes of replies.
    pub bytes: (u64, u64),
    /// First calls whose payload has a known cost.
    pub sized: u64,
    /// First calls whose payload exceeded the budget.
    pub oversized: u64,
    /// Accuracy of the token estimates.
    pub accuracy: Accuracy,
}

impl Meter {
    /// Returns the totals since the process started.
    pub fn totals(&self) -> Totals {
        self.counters().totals()
    }
}

impl Counters {
    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for endpoint in &self.endpoints {
            for (total, count) in totals.outcomes.iter_mut().zip(endpoint.outcomes) {
                *total += count;
            }
            totals.follow_ups += endpoint.follow_ups;
            totals.errors += endpoint.errors;
            totals.counted = (totals.counted.0 + endpoint.counted.0, totals.counted.1 + endpoint.counted.1);
            totals.tokens = (totals.tokens.0 + endpoint.tokens.0, totals.tokens.1 + endpoint.tokens.1);
            totals.bytes = (totals.bytes.0 + endpoint.bytes.0, totals.bytes.1 + endpoint.bytes.1);
            totals.sized += endpoint.sized;
            totals.oversized += endpoint.oversized;
        }
        for (_, estimates) in &self.estimates {
            totals.accuracy.merge(&estimates.accuracy);
        }
        totals
    }
}

impl Totals {
    /// Returns the number of requests, follow-ups included.
    pub fn requests(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// Returns the number of requests with that outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Share of the replies that are a portion of a payload, follow-ups included: neither the whole payload nor an
    /// error from Portion. `None` without such replies.
    pub fn adoption(&self) -> Option<f64> {
        let whole = self.of(Outcome::Untouched) + self.of(Outcome::Unshaped);
        let refused = self.of(Outcome::Expired) + self.of(Outcome::Refused);
        let answered = self.requests() - refused;
        share(answered - whole, answered)
    }

    /// Share of the sized first calls whose payload exceeded the budget. `None` if no cost is known.
    pub fn oversized_share(&self) -> Option<f64> {
        share(self.oversized, self.sized)
    }

    /// Share of the payload tokens that was not served, follow-ups counted as served. `None` if no cost is known.
    pub fn reduction(&self) -> Option<f64> {
        share(self.tokens.1, self.tokens.0).map(|served| 1.0 - served)
    }

    /// Follow-ups per first call. `None` without first calls.
    pub fn follow_ups_per_first(&self) -> Option<f64> {
        share(self.follow_ups, self.requests() - self.follow_ups)
    }

    /// Mean tokens of a reply. `None` if none was counted.
    pub fn mean_tokens(&self) -> Option<f64> {
        share(self.counted.1, self.counted.0)
    }

    /// Mean bytes of a reply. `None` without replies.
    pub fn mean_bytes(&self) -> Option<f64> {
        share(self.bytes.1, self.requests())
    }
}
