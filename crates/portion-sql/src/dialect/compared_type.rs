//! The types of columns for the values that are compared with them.

use portion_text::column_form::ColumnForm;
use portion_text::timestamp::{CivilDate, Timestamp};

/// The type of a column for the values that are compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparedType {
    /// Texts, some of which are codes; `is_numbered`: people write numbers for them.
    Codes {
        is_numbered: bool,
    },
    Boolean,
    Number,
    /// Numbers that are times.
    TimeNumbers(TimeUnit),
    /// Amounts, decimal commas, or times.
    Form(ColumnForm),
    Other,
}

/// Unit of the numbers of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// Parts of a second since 1970; how many are in a second.
    SinceEpoch(i64),
    /// Digits of dates: 20240131.
    DateDigits,
}

/// Smallest number of seconds that is taken for a time: in 1973.
const MIN_EPOCH: i64 = 100_000_000;

impl TimeUnit {
    /// Returns the unit by the size of a number, as [`Timestamp::from_epoch`] reads it; `None` for a number that is too small.
    pub(crate) fn of(number: i64) -> Option<Self> {
        match number {
            19_000_101..=21_001_231 => Some(Self::DateDigits),
            MIN_EPOCH.. => Timestamp::epoch_parts(number as f64).map(Self::SinceEpoch),
            _ => None,
        }
    }

    /// Returns the number of a time.
    pub(super) fn number(self, time: Timestamp) -> i64 {
        match self {
            Self::SinceEpoch(parts) => {
                time.seconds.saturating_mul(parts) + i64::from(time.nanos) * parts / 1_000_000_000
            }
            Self::DateDigits => {
                let CivilDate { year, month, day } = time.date();
                year * 10_000 + month * 100 + day
            }
        }
    }
}

/// Finds a fact about a column by the alias of its table, which is empty for any table, and its name; `None` if there is none.
pub(crate) type Find<'a, T> = dyn Fn(&str, &str) -> Option<T> + 'a;
