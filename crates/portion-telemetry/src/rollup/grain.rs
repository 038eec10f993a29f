//! What a roll-up is of.

/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;

/// What a roll-up is of: how long, and whether of one endpoint or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Grain {
    /// A minute of an endpoint.
    Minute,
    /// An hour of an endpoint.
    Hour,
    /// A minute of all endpoints.
    MinuteOfAll,
    /// An hour of all endpoints.
    HourOfAll,
}

impl Grain {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Minute, Self::Hour, Self::MinuteOfAll, Self::HourOfAll];

    /// Its length, in microseconds.
    pub(crate) fn length(self) -> i64 {
        match self {
            Self::Minute | Self::MinuteOfAll => MINUTE,
            Self::Hour | Self::HourOfAll => 60 * MINUTE,
        }
    }

    /// Whether it is of all endpoints.
    pub(crate) fn is_of_all(self) -> bool {
        matches!(self, Self::MinuteOfAll | Self::HourOfAll)
    }

    /// The beginning of the one that a moment is in.
    pub(crate) fn floor(self, at: i64) -> i64 {
        at - at.rem_euclid(self.length())
    }

    /// The beginning of the first one that is not before a moment.
    pub(crate) fn ceiling(self, at: i64) -> i64 {
        self.floor(at.saturating_add(self.length() - 1))
    }

    /// How the file has it.
    pub(crate) fn code(self) -> i64 {
        self as i64
    }
}
