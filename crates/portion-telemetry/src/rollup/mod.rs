//! Roll-ups: statistics of minutes and hours, so a week is answered as fast as an hour.
//!
//! A roll-up holds exactly the sum of its requests. Both become a [`Tally`], and tallies can be added.

mod quantile_histogram;

use std::collections::BTreeMap;

use portion_core::policy::Policy;
use portion_tokens::accuracy::Accuracy;
use rusqlite::{Result, Row, Statement, params};

use crate::record::{Cost, count, maybe};

pub(crate) use quantile_histogram::QuantileHistogram;
pub use quantile_histogram::Quantiles;

/// Endpoint id of roll-ups over all endpoints. Ids of real endpoints begin at one.
pub(crate) const ALL: i64 = 0;

/// Kind and name of the endpoint that collects roll-ups too small to keep.
pub(crate) const OTHER: &str = "other";

/// Microseconds per minute.
const MINUTE: i64 = 60_000_000;

/// Granularity of a roll-up: its length, and one endpoint or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Grain {
    /// A minute of one endpoint.
    Minute,
    /// An hour of one endpoint.
    Hour,
    /// A minute of all endpoints.
    MinuteOfAll,
    /// An hour of all endpoints.
    HourOfAll,
}

impl Grain {
    /// All grains.
    pub(crate) const ALL: [Self; 4] = [Self::Minute, Self::Hour, Self::MinuteOfAll, Self::HourOfAll];

    /// Returns the length in microseconds.
    pub(crate) fn length(self) -> i64 {
        match self {
            Self::Minute | Self::MinuteOfAll => MINUTE,
            Self::Hour | Self::HourOfAll => 60 * MINUTE,
        }
    }

    /// Returns true for roll-ups over all endpoints.
    pub(crate) fn is_of_all(self) -> bool {
        matches!(self, Self::MinuteOfAll | Self::HourOfAll)
    }

    /// Returns the start of the interval that contains `at`.
    pub(crate) fn floor(self, at: i64) -> i64 {
        at - at.rem_euclid(self.length())
    }

    /// Returns the start of the first interval that does not begin before `at`.
    pub(crate) fn ceiling(self, at: i64) -> i64 {
        self.floor(at.saturating_add(self.length() - 1))
    }

    /// Returns the code stored in the file.
    pub(crate) fn code(self) -> i64 {
        self as i64
    }
}

impl Tally {
    /// Columns that [`Tally::take`] reads, in order.
    pub(crate) const COLUMNS: &str = "requests, follow_ups, errors, outcomes, sized, oversized,
        original_tokens, served_tokens, sampled, near, far, deviation, latency, overhead";

    /// Statement that replaces a roll-up; [`Tally::put`] binds its values.
    pub(crate) const PUT: &str = "INSERT OR REPLACE INTO rollups
        (grain, at, endpoint, requests, follow_ups, errors, outcomes, sized, oversized,
        original_tokens, served_tokens, sampled, near, far, deviation, latency, overhead)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    /// Adds a roll-up, starting at column `from`.
    pub(crate) fn take(&mut self, row: &Row<'_>, from: usize) -> Result<()> {
        let stats = &mut self.stats;
        let add = |sum: &mut u64, column| -> Result<()> {
            let more: i64 = row.get(from + column)?;
            *sum = sum.saturating_add(u64::try_from(more).unwrap_or_default());
            Ok(())
        };
        add(&mut stats.requests, 0)?;
        add(&mut stats.follow_ups, 1)?;
        add(&mut stats.errors, 2)?;
        add(&mut stats.sized, 4)?;
        add(&mut stats.oversized, 5)?;
        add(&mut stats.original_tokens, 6)?;
        add(&mut stats.served_tokens, 7)?;
        add(&mut stats.accuracy.sample_count, 8)?;
        add(&mut stats.accuracy.accurate_count, 9)?;
        add(&mut stats.accuracy.inaccurate_count, 10)?;
        stats.accuracy.error_sum += row.get::<_, f64>(from + 11)?;
        let mut words = row.get_ref(from + 3)?.as_str().unwrap_or_default().split(' ');
        while let Some((outcome, count)) = words.next().zip(words.next()) {
            self.count(outcome, count.parse().unwrap_or_default());
        }
        self.latency.take(row.get_ref(from + 12)?.as_blob().unwrap_or_default());
        self.overhead.take(row.get_ref(from + 13)?.as_blob().unwrap_or_default());
        Ok(())
    }

    /// Writes the tally with a statement prepared from [`Tally::PUT`].
    pub(crate) fn put(
        &self,
        statement: &mut Statement<'_>,
        grain: Grain,
        at: i64,
        endpoint: i64,
    ) -> Result<()> {
        let (stats, stored) = (&self.stats, |number: u64| i64::try_from(number).unwrap_or(i64::MAX));
        // As text: `paginated 5 untouched 12`.
        let outcomes: Vec<String> =
            stats.outcomes.iter().map(|(outcome, count)| format!("{outcome} {count}")).collect();
        statement.execute(params![
            grain.code(),
            at,
            endpoint,
            stored(stats.requests),
            stored(stats.follow_ups),
            stored(stats.errors),
            outcomes.join(" "),
            stored(stats.sized),
            stored(stats.oversized),
            stored(stats.original_tokens),
            stored(stats.served_tokens),
            stored(stats.accuracy.sample_count),
            stored(stats.accuracy.accurate_count),
            stored(stats.accuracy.inaccurate_count),
            stats.accuracy.error_sum,
            self.latency.encode(),
            self.overhead.encode(),
        ])?;
        Ok(())
    }

    /// Adds the request in a row, starting at column `from`.
    pub(crate) fn read(&mut self, row: &Row<'_>, from: usize) -> Result<()> {
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
    fn count(&mut self, outcome: &str, requests: u64) {
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
    stats: TrafficStats,
    latency: QuantileHistogram,
    overhead: QuantileHistogram,
}

impl RequestSample {
    /// Columns that [`RequestSample::of`] reads, in order; the outcome is first.
    pub(crate) const COLUMNS: &str =
        "outcome, follow_up, error IS NOT NULL, estimated_tokens, original_tokens, budget,
        latency, overhead, response_bytes, actual_tokens";

    /// Reads a sample, starting at column `from`.
    pub(crate) fn of(row: &Row<'_>, from: usize) -> Result<Self> {
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
