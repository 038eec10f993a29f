//! The types of columns for the values that are compared with them.

use portion_text::column_form::{CellNumber, ColumnForm, DateOrder};
use portion_text::timestamp::{CivilDate, Timestamp};

/// The type of a column for the values that are compared with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComparedType {
    /// Texts, some of which are codes; `is_numbered`: people write numbers for them.
    Codes {
        is_numbered: bool,
    },
    Boolean,
    /// A column of numbers, as which SQLite reads what is compared with it.
    Number,
    /// Numbers that are times.
    TimeNumbers(TimeUnit),
    /// Amounts, decimal commas, or times; also computed numbers, which equal no text in SQLite.
    Form(ColumnForm),
    Other,
}

/// The types as which `read_as` reads a text, by their names there.
const READ_AS: [(&str, ComparedType); 13] = [
    ("boolean", ComparedType::Boolean),
    ("code", ComparedType::Codes { is_numbered: true }),
    ("amount", ComparedType::Form(ColumnForm::Amount)),
    ("decimal comma", ComparedType::Form(ColumnForm::DecimalComma)),
    ("time", ComparedType::Form(ColumnForm::Time(DateOrder::Unknown))),
    ("day first", ComparedType::Form(ColumnForm::Time(DateOrder::DayFirst))),
    ("month first", ComparedType::Form(ColumnForm::Time(DateOrder::MonthFirst))),
    ("seconds", ComparedType::TimeNumbers(TimeUnit::SinceEpoch(1))),
    ("milliseconds", ComparedType::TimeNumbers(TimeUnit::SinceEpoch(1_000))),
    ("microseconds", ComparedType::TimeNumbers(TimeUnit::SinceEpoch(1_000_000))),
    ("nanoseconds", ComparedType::TimeNumbers(TimeUnit::SinceEpoch(1_000_000_000))),
    ("date digits", ComparedType::TimeNumbers(TimeUnit::DateDigits)),
    ("time digits", ComparedType::TimeNumbers(TimeUnit::TimeDigits)),
];

impl ComparedType {
    /// Returns the type by its name in a call of `read_as`.
    pub(crate) fn by_name(name: &str) -> Option<Self> {
        READ_AS.iter().find(|(known, _)| *known == name).map(|(_, of)| *of)
    }

    /// Returns its name in a call of `read_as`; `None` if texts are not read as it.
    pub(super) fn read_as_name(self) -> Option<&'static str> {
        READ_AS.iter().find(|(_, of)| *of == self).map(|(name, _)| *name)
    }

    /// Returns the number that a text is in a column of this type.
    pub(crate) fn number(self, text: &str) -> Option<CellNumber> {
        match self {
            Self::Boolean => ColumnForm::Boolean.number(text),
            Self::Form(form) => form.number(text),
            Self::TimeNumbers(unit) => {
                let year = || Timestamp::parse_digits(text).filter(|_| text.len() == 4);
                Some(unit.number(Timestamp::parse(text).or_else(year)?))
            }
            Self::Codes { .. } | Self::Number | Self::Other => None,
        }
    }

    /// Returns the type of a value that is computed from one of this type.
    pub(super) fn computed(self) -> Self {
        if self == Self::Number { Self::Form(ColumnForm::Number) } else { self }
    }
}

/// Unit of the numbers of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    /// Parts of a second since 1970; how many are in a second.
    SinceEpoch(i64),
    /// Digits of dates: 20240131.
    DateDigits,
    /// Digits of dates and times of day: 20240131235959.
    TimeDigits,
}

/// Smallest number of seconds that is taken for a time: in 1973.
const MIN_EPOCH: i64 = 100_000_000;

impl TimeUnit {
    /// Returns the unit by the size of a number, as [`Timestamp::from_epoch`] reads it; `None` for a number that is too small.
    pub(crate) fn of(number: i64) -> Option<Self> {
        let is_date =
            |digits: i64| (1..=12).contains(&(digits / 100 % 100)) && (1..=31).contains(&(digits % 100));
        match number {
            19_000_101..=21_001_231 if is_date(number) => Some(Self::DateDigits),
            19_000_101_000_000..=21_001_231_235_959 if is_date(number / 1_000_000) => Some(Self::TimeDigits),
            MIN_EPOCH.. => Timestamp::epoch_parts(number as f64).map(Self::SinceEpoch),
            _ => None,
        }
    }

    /// Returns the number of a time, with a fraction for what is shorter than the unit.
    fn number(self, time: Timestamp) -> CellNumber {
        let (whole, rest, of) = match self {
            Self::SinceEpoch(parts) => {
                let nanos = i64::from(time.nanos) * parts;
                let whole = time.seconds.saturating_mul(parts).saturating_add(nanos / 1_000_000_000);
                (whole, nanos % 1_000_000_000, 1e9)
            }
            Self::DateDigits => {
                let CivilDate { year, month, day } = time.date();
                (year * 10_000 + month * 100 + day, time.second_of_day(), 86_400.0)
            }
            Self::TimeDigits => {
                let (CivilDate { year, month, day }, second) = (time.date(), time.second_of_day());
                let date = year * 10_000 + month * 100 + day;
                let clock = second / 3_600 * 10_000 + second / 60 % 60 * 100 + second % 60;
                (date * 1_000_000 + clock, i64::from(time.nanos), 1e9)
            }
        };
        if rest == 0 { CellNumber::Integer(whole) } else { CellNumber::Real(whole as f64 + rest as f64 / of) }
    }
}

/// Finds a fact about a column by its table, which is empty for any table of the statement, and its name; `None` if there is none.
pub(crate) type Find<'a, T> = dyn Fn(&str, &str) -> Option<T> + 'a;
