//! Totals over all endpoints.

use portion_core::event::{Outcome, RequestServed};
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
        self.counters.lock().totals()
    }
}

impl Counters {
    pub(super) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for endpoint in &self.endpoints {
            totals.merge(&endpoint.totals);
        }
        for (_, estimates) in &self.estimates {
            totals.accuracy.merge(&estimates.accuracy);
        }
        totals
    }
}

impl Totals {
    pub(super) fn add(&mut self, served: &RequestServed) {
        let RequestServed { outcome, error, follow_up, estimated_tokens, .. } = *served;
        self.outcomes[outcome as usize] += 1;
        self.follow_ups += u64::from(follow_up);
        self.errors += u64::from(error.is_some());
        let counted = estimated_tokens.map_or((0, 0), |tokens| (1, tokens));
        self.counted = sum(self.counted, counted);
        self.tokens = sum(self.tokens, served.original_and_served_tokens());
        let original_bytes = if follow_up { 0 } else { served.original_bytes };
        self.bytes = sum(self.bytes, (original_bytes, served.response_bytes));
        if let Some(is_oversized) = served.is_oversized() {
            self.sized += 1;
            self.oversized += u64::from(is_oversized);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (total, count) in self.outcomes.iter_mut().zip(other.outcomes) {
            *total += count;
        }
        self.follow_ups += other.follow_ups;
        self.errors += other.errors;
        self.counted = sum(self.counted, other.counted);
        self.tokens = sum(self.tokens, other.tokens);
        self.bytes = sum(self.bytes, other.bytes);
        self.sized += other.sized;
        self.oversized += other.oversized;
    }

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

fn sum(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1 + other.1)
}
