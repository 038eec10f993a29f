//! Roll-ups: statistics of minutes and hours, so a week is answered as fast as an hour.
//!
//! A roll-up holds exactly the sum of its requests. Both become a [`Tally`], and tallies can be added.

mod quantile_histogram;
mod row;
mod stats;
mod tally;

pub(crate) use quantile_histogram::QuantileHistogram;
pub use quantile_histogram::Quantiles;
pub use stats::TrafficStats;
pub(crate) use stats::share;
pub(crate) use tally::{RequestSample, Tally};

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
