//! Granularity of roll-ups.

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
