//! Adds up statistics from requests and from earlier sums.

use std::collections::BTreeMap;

use portion_core::policy::Policy;
use portion_tokens::accuracy::Accuracy;
use rusqlite::Row;

use super::{QuantileHistogram, Quantiles};
use crate::record::{Cost, count, maybe};

/// Values of a request that statistics use.
#[derive(Debug, Default)]
pub(crate) struct RequestSample {
    pub(crate) follow_up: bool,
    pub(crate) error: bool,
    pub(crate) served: Option<u64>,
    pub(crate) original: Option<u64>,
    pub(crate) budget: Option<u64>,
    pub(crate) latency: u64,
    pub(crate) overhead: u64,
    /// Estimated and exact tokens.
    pub(crate) counted: Option<(u64, u64)>,
}

/// Statistics under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(super) stats: TrafficStats,
    pub(super) latency: QuantileHistogram,
    pub(super) overhead: QuantileHistogram,
}

impl RequestSample {
    /// Columns that [`RequestSample::of`] reads, in order; the outcome is first.
    pub(crate) const COLUMNS: &str =
        "outcome, follow_up, error IS NOT NULL, estimated_tokens, original_tokens, budget,
        latency, overhead, response_bytes, actual_tokens";

    /// Reads a sample, starting at column `from`.
    pub(crate) fn of(row: &Row<'_>, from: usize) -> rusqlite::Result<Self> {
        let outcome = row.get_ref(from)?.as_str().unwrap_or_default();
        let estimated = maybe(row, from + 3)?;
        let cost = Cost::of(outcome, estimated, maybe(row, from + 4)?, count(row, from + 8)?);
        Ok(Self {
            follow_up: row.get(from + 1)?,
            error: row.get(from + 2)?,
            served: cost.served,
            original: cost.payload,
            budget: maybe(row, from + 5)?,
            latency: count(row, from + 6)?,
            overhead: count(row, from + 7)?,
            counted: estimated.zip(maybe(row, from + 9)?),
        })
    }
}

impl Tally {
    /// Adds the request in a row, starting at column `from`.
    pub(crate) fn read(&mut self, row: &Row<'_>, from: usize) -> rusqlite::Result<()> {
        self.add(row.get_ref(from)?.as_str().unwrap_or_default(), &RequestSample::of(row, from)?);
        Ok(())
    }

    pub(crate) fn add(&mut self, outcome: &str, sample: &RequestSample) {
        let stats = &mut self.stats;
        stats.requests += 1;
        stats.errors += u64::from(sample.error);
        match (sample.follow_up, sample.original, sample.served) {
            // The payload was counted with its first call.
            (true, _, served) => {
                stats.follow_ups += 1;
                stats.served_tokens = stats.served_tokens.saturating_add(served.unwrap_or_default());
            }
            (false, Some(original), Some(served)) => {
                let budget = sample.budget.unwrap_or(Policy::default().token_budget_threshold as u64);
                stats.sized += 1;
                stats.oversized += u64::from(original > budget);
                stats.original_tokens = stats.original_tokens.saturating_add(original);
                stats.served_tokens = stats.served_tokens.saturating_add(served);
            }
            _ => {}
        }
        if let Some((estimated, actual)) = sample.counted {
            stats.accuracy.add(estimated, actual);
        }
        self.latency.add(sample.latency);
        self.overhead.add(sample.overhead);
        self.count(outcome, 1);
    }

    /// Adds requests of one outcome.
    pub(super) fn count(&mut self, outcome: &str, requests: u64) {
        match self.stats.outcomes.get_mut(outcome) {
            Some(count) => *count = count.saturating_add(requests),
            None => drop(self.stats.outcomes.insert(outcome.to_owned(), requests)),
        }
    }

    pub(crate) fn into_stats(self) -> TrafficStats {
        let (latency, overhead) = (Quantiles::from(&self.latency), Quantiles::from(&self.overhead));
        TrafficStats { latency, overhead, ..self.stats }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(sample: &[RequestSample]) -> TrafficStats {
        let mut tally = Tally::default();
        sample.iter().for_each(|sample| tally.add("paginated", sample));
        tally.into_stats()
    }

    #[test]
    fn follow_ups_count_against_what_is_saved() {
        let first =
            || RequestSample { original: Some(10_000), served: Some(2_000), ..RequestSample::default() };
        let next = || RequestSample { follow_up: true, ..first() };
        let check = |sample: &[RequestSample], reduction, follow_ups| {
            let stats = stats(sample);
            assert_eq!((stats.reduction(), stats.follow_ups_per_first()), (reduction, follow_ups));
        };
        check(&[], None, None);
        check(&[first()], Some(0.8), Some(0.0));
        check(&[first(), next(), next()], Some(0.4), Some(2.0));
        check(&[first(), next(), first(), first()], Some(1.0 - 8.0 / 30.0), Some(1.0 / 3.0));
        check(&[next()], None, None);
        check(&[RequestSample { original: None, ..first() }], None, Some(0.0));
    }

    #[test]
    fn oversized_is_what_the_budget_of_the_time_says() {
        let check = |original, budget, expect| {
            let sample = RequestSample {
                original: Some(original),
                served: Some(1),
                budget,
                ..RequestSample::default()
            };
            assert_eq!(stats(&[sample]).oversized_share(), Some(expect), "{original} of {budget:?}");
        };
        check(4_000, None, 0.0);
        check(4_001, None, 1.0);
        check(4_001, Some(8_000), 0.0);
        check(8_001, Some(8_000), 1.0);
    }
}
