//! Counters of one endpoint.

use portion_core::event::{Outcome, RequestServed, ServedError};

use super::{Histogram, entry};
use crate::names;

/// Counters of one endpoint since the process started.
#[derive(Clone, Debug, Default)]
pub(super) struct EndpointCounters {
    /// Requests by outcome, in the order of [`Outcome::ALL`].
    pub(super) outcomes: [u64; Outcome::ALL.len()],
    pub(super) follow_ups: u64,
    /// Replies that are errors, from Portion or from the upstream.
    pub(super) errors: u64,
    /// Replies with a known cost, and the sum of their tokens.
    pub(super) counted: (u64, u64),
    /// Tokens of payloads with a known cost, and tokens served of them, follow-ups included.
    pub(super) tokens: (u64, u64),
    /// Bytes of payloads and bytes of replies.
    pub(super) bytes: (u64, u64),
    pub(super) sized: u64,
    pub(super) oversized: u64,
    /// Request durations by error code and follow-up. An endpoint has few different codes, so a list is enough.
    pub(super) durations: Vec<(OutcomeKey, Histogram)>,
}

/// Key of a duration histogram: the error code, and true for a follow-up.
pub(super) type OutcomeKey = (Option<ServedError>, bool);

impl EndpointCounters {
    pub(super) fn add(&mut self, served: &RequestServed) {
        let RequestServed { outcome, error, follow_up, estimated_tokens, .. } = *served;
        self.outcomes[outcome as usize] += 1;
        self.follow_ups += u64::from(follow_up);
        self.errors += u64::from(error.is_some());
        self.bytes.1 += served.response_bytes;
        if let Some(tokens) = estimated_tokens {
            self.counted = (self.counted.0 + 1, self.counted.1 + tokens);
        }
        let (came, went) = served.original_and_served_tokens();
        self.tokens = (self.tokens.0 + came, self.tokens.1 + went);
        if !follow_up {
            self.bytes.0 += served.original_bytes;
        }
        if let Some(is_oversized) = served.is_oversized() {
            self.sized += 1;
            self.oversized += u64::from(is_oversized);
        }
        let durations = || Histogram::of(&names::OPERATION_DURATION);
        let took = served.latency.as_secs_f64();
        entry(&mut self.durations, (error, follow_up), durations).add(took);
    }
}
