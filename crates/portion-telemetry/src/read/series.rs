//! Time series of request statistics.

use std::iter::successors;
use std::time::Duration;

use rusqlite::Connection;

use super::aggregate::{self, GroupBy};
use super::{Filter, ReadError, TrafficStats};
use crate::rollup::Tally;

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
}
