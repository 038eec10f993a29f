//! Roll-ups: statistics of minutes and hours, so a week is answered as fast as an hour.
//!
//! A roll-up holds exactly the sum of its requests. Both become a [`Tally`], and tallies can be added.

mod quantile_histogram;
mod tally;

use rusqlite::{Result, Row, Statement, params};

pub(crate) use quantile_histogram::QuantileHistogram;
pub use quantile_histogram::Quantiles;
pub use tally::TrafficStats;
pub(crate) use tally::{RequestSample, Tally, share};

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
}
