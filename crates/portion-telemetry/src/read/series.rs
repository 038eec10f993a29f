//! Figures along the axis of time.

use std::time::Duration;

use rusqlite::Connection;

use super::rolled::{self, By};
use super::{Figures, Filter, ReadError};
use crate::rollup::Tally;

/// Lengths that a slot can have: those that a clock is divided into.
const STEPS: [Duration; 10] = [
    Duration::from_mins(1),
    Duration::from_mins(2),
    Duration::from_mins(5),
    Duration::from_mins(10),
    Duration::from_mins(30),
    Duration::from_hours(1),
    Duration::from_hours(2),
    Duration::from_hours(6),
    Duration::from_hours(12),
    Duration::from_hours(24),
];

/// Figures along the axis of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// How long a slot is.
    pub step: Duration,
    /// The slots in which anything was asked, the earliest first.
    pub slots: Vec<Slot>,
}

/// What was asked from a moment on, and answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slot {
    /// Its beginning, in microseconds since 1970: a multiple of the step.
    pub at: u64,
    /// The figures.
    pub figures: Figures,
}

impl Series {
    /// The shortest slot of which no more than so many lie between two moments in microseconds.
    pub fn step(since: u64, until: u64, most: usize) -> Duration {
        let fits = |step: &Duration| {
            until.saturating_sub(since) / (step.as_micros() as u64) < u64::try_from(most).unwrap_or(u64::MAX)
        };
        STEPS.into_iter().find(fits).unwrap_or(STEPS[STEPS.len() - 1])
    }
}

/// The figures of the requests that pass, slot by slot.
pub(super) fn read(connection: &Connection, filter: &Filter, step: Duration) -> Result<Series, ReadError> {
    // All of it is read as it is at one moment.
    let moment = connection.unchecked_transaction()?;
    let tallies = rolled::tallies(&moment, filter, By::Time(step))?;
    let slot = |(at, tally): (i64, Tally)| Slot { at: at.unsigned_abs(), figures: tally.into_figures() };
    Ok(Series { step, slots: tallies.into_iter().map(slot).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_as_short_as_slots_allow() {
        let check = |span: Duration, most, expect| {
            assert_eq!(Series::step(0, span.as_micros() as u64, most), expect, "{span:?}");
        };
        check(Duration::ZERO, 120, Duration::from_mins(1));
        check(Duration::from_hours(1), 120, Duration::from_mins(1));
        check(Duration::from_hours(24), 120, Duration::from_mins(30));
        check(Duration::from_hours(24 * 7), 200, Duration::from_hours(1));
        check(Duration::from_hours(24 * 365), 100, Duration::from_hours(24));
    }
}
