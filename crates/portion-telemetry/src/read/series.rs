//! Time series of request statistics, and the time ranges for which records and roll-ups are kept.

use std::iter::successors;
use std::ops::RangeInclusive;
use std::time::Duration;

use rusqlite::Connection;

use super::aggregate::{self, GroupBy};
use super::{Filter, ReadError, Reader, TrafficStats};
use crate::rollup::{Grain, Tally};

/// Slot of a day; longer slots double it.
const DAY: Duration = Duration::from_hours(24);
/// Slot lengths below a day.
const STEPS: [Duration; 9] = [
    Duration::from_mins(1),
    Duration::from_mins(2),
    Duration::from_mins(5),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
    Duration::from_hours(2),
    Duration::from_hours(6),
    Duration::from_hours(12),
];

/// Time series of request statistics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Length of a slot.
    pub step: Duration,
    /// Slots with at least one request, the earliest first.
    pub slots: Vec<Slot>,
}

/// Statistics of one slot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    /// Start of the slot, in microseconds since 1970: a multiple of the step.
    pub at: u64,
    /// Statistics of its requests.
    pub stats: TrafficStats,
}

impl Series {
    /// Returns the shortest slot length for which at most `max` slots (at least one) cover a range in microseconds.
    pub fn step(since: u64, until: u64, max: usize) -> Duration {
        let fits = |step: &Duration| {
            let slot = |at: u64| u128::from(at) / step.as_micros();
            slot(until.saturating_sub(1)).saturating_sub(slot(since)) < max.max(1) as u128
        };
        let days = successors(Some(DAY), |days| days.checked_mul(2));
        STEPS.into_iter().chain(days).find(fits).unwrap_or(Duration::MAX)
    }
}

/// Reads the statistics of the requests that match, slot by slot.
pub(super) fn read(connection: &Connection, filter: &Filter, step: Duration) -> Result<Series, ReadError> {
    // One transaction gives a consistent view.
    let transaction = connection.unchecked_transaction()?;
    let tallies = aggregate::tallies(&transaction, filter, GroupBy::Time(step))?;
    let slot = |(at, tally): (i64, Tally)| Slot { at: at.unsigned_abs(), stats: tally.into_stats() };
    Ok(Series { step, slots: tallies.into_iter().map(slot).collect() })
}

/// Time ranges for which records and roll-ups are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Times of the oldest and newest request, in microseconds since 1970.
    requests: Option<(i64, i64)>,
    /// First hour with a roll-up.
    hours: Option<i64>,
    /// Start of the minute roll-ups of single endpoints.
    minutes: i64,
}

impl Reader {
    /// Reads the time ranges that are kept.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn retention(&self) -> Result<Retention, ReadError> {
        let sql = "SELECT (SELECT min(at) FROM requests), (SELECT max(at) FROM requests),
                   (SELECT min(at) FROM rollups WHERE grain = ?), (SELECT minutes FROM rolled)";
        Ok(self.connection.query_row(sql, [Grain::HourOfAll.code()], |row| {
            let ends: (Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(Retention { requests: ends.0.zip(ends.1), hours: row.get(2)?, minutes: row.get(3)? })
        })?)
    }
}

impl Retention {
    /// Returns the range of all data, in microseconds since 1970. `None` if nothing is recorded.
    pub fn span(&self) -> Option<RangeInclusive<u64>> {
        let (first, last) = self.requests?;
        Some(first.min(self.hours.unwrap_or(first)).unsigned_abs()..=last.unsigned_abs())
    }

    /// Returns the start of single records, if older ones are kept only as hourly roll-ups. Microseconds since 1970.
    pub fn records_since(&self) -> Option<u64> {
        let (first, _) = self.requests?;
        self.hours.filter(|hour| *hour < Grain::Hour.floor(first)).map(|_| first.unsigned_abs())
    }

    /// Widens a filter to the time range that roll-ups can answer. Where only roll-ups are kept, it begins and ends
    /// with a full hour or minute.
    pub fn rounded(&self, filter: &Filter) -> Filter {
        let Filter { since, until, .. } = *filter;
        let Some(single) = self.records_since().filter(|single| since.is_none_or(|since| since < *single))
        else {
            return filter.clone();
        };
        let grain = |at: i64| if at < self.minutes { Grain::Hour } else { Grain::Minute };
        let stored = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        let whole = Grain::Hour.ceiling(stored(single));
        let floor = |at| grain(stored(at)).floor(stored(at)).unsigned_abs();
        let ceiling = |at| match stored(at) {
            early if early < whole => grain(early).ceiling(early).unsigned_abs(),
            _ => at,
        };
        Filter { since: since.map(floor), until: until.map(ceiling), ..filter.clone() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_are_as_short_as_slots_allow() {
        let check = |span: Duration, max, expect| {
            assert_eq!(Series::step(0, span.as_micros() as u64, max), expect, "{span:?}");
        };
        check(Duration::ZERO, 120, Duration::from_mins(1));
        check(Duration::from_hours(1), 120, Duration::from_mins(1));
        check(Duration::from_hours(24), 120, Duration::from_mins(30));
        check(Duration::from_hours(24 * 7), 200, Duration::from_hours(1));
        check(Duration::from_hours(24 * 100), 100, DAY);
        check(Duration::from_hours(24 * 365), 100, 4 * DAY);
    }

    proptest! {
        #[test]
        fn an_axis_has_no_more_slots_than_it_may(since: u64, span: u64, max in 1_usize..500) {
            let until = since.saturating_add(span);
            let step = Series::step(since, until, max).as_micros();
            let slots = u128::from(until).div_ceil(step).saturating_sub(u128::from(since) / step);
            prop_assert!(slots <= max as u128, "{slots} of {step}");
        }
    }

    const MINUTE: u64 = 60_000_000;
    const HOUR: u64 = 60 * MINUTE;

    fn retention(first: u64, hours: Option<u64>, minutes: u64) -> Retention {
        let [first, minutes] = [first, minutes].map(u64::cast_signed);
        Retention { requests: Some((first, first)), hours: hours.map(u64::cast_signed), minutes }
    }

    #[test]
    fn single_requests_are_missing_where_hours_reach_further_back() {
        assert_eq!(Retention::default().records_since(), None);
        assert_eq!(retention(9 * HOUR + 1, None, 0).records_since(), None);
        assert_eq!(
            retention(9 * HOUR + 1, Some(9 * HOUR), 0).records_since(),
            None,
            "all may be of that hour"
        );
        assert_eq!(retention(9 * HOUR + 1, Some(8 * HOUR), 0).records_since(), Some(9 * HOUR + 1));
        assert_eq!(retention(9 * HOUR + 1, Some(8 * HOUR), 0).span(), Some(8 * HOUR..=9 * HOUR + 1));
        assert_eq!(retention(9 * HOUR + 1, None, 0).span(), Some(9 * HOUR + 1..=9 * HOUR + 1));
    }

    #[test]
    fn times_are_rounded_outwards_where_nothing_finer_is_kept() {
        let retention = retention(9 * HOUR + 20 * MINUTE, Some(HOUR), 7 * HOUR);
        let check = |since: Option<u64>, until: Option<u64>, expect: (Option<u64>, Option<u64>)| {
            let of = |since, until| Filter { since, until, ..Filter::default() };
            let rounded = retention.rounded(&of(since, until));
            assert_eq!((rounded.since, rounded.until), expect, "{since:?} to {until:?}");
            assert_eq!(retention.rounded(&rounded), rounded, "once is enough");
        };
        let half = |hour| Some(hour * HOUR + 30 * MINUTE + 1);
        check(None, None, (None, None));
        check(half(2), half(4), (Some(2 * HOUR), Some(5 * HOUR)));
        check(Some(2 * HOUR), Some(5 * HOUR), (Some(2 * HOUR), Some(5 * HOUR)));
        check(None, half(4), (None, Some(5 * HOUR)));
        check(half(2), None, (Some(2 * HOUR), None));
        // Range with minute roll-ups.
        check(half(7), half(8), (Some(7 * HOUR + 30 * MINUTE), Some(8 * HOUR + 31 * MINUTE)));
        // Some records of the hour are deleted.
        check(Some(9 * HOUR + 1), half(9), (Some(9 * HOUR), Some(9 * HOUR + 31 * MINUTE)));
        check(half(2), half(10), (Some(2 * HOUR), half(10)));
        // All records of the hour are there.
        check(half(9), Some(9 * HOUR + 40 * MINUTE), (half(9), Some(9 * HOUR + 40 * MINUTE)));
    }
}
