//! Points in time: parses dates and times, computes with them, and writes them in the form in which they were read.
//!
//! ```
//! use portion_text::timestamp::Timestamp;
//!
//! let start = Timestamp::parse("2024-05-01T12:00:00+02:00").expect("a time");
//! assert_eq!(start.write(), "2024-05-01T10:00:00Z");
//! assert!(Timestamp::parse("tomorrow").is_none());
//! ```
//!
//! Times inside a log line have more forms; [`log_entry`](crate::log_entry) finds them without computing with them.

mod civil_date;
mod parse;
mod zone;

pub use civil_date::CivilDate;
pub use parse::{MONTHS, WEEKDAYS, digits, month_number};

const SECONDS_PER_DAY: i64 = 86_400;
/// Years that are accepted.
const YEARS: std::ops::RangeInclusive<i64> = 0..=9_999;

/// A point in time, in UTC if it was written with a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970-01-01.
    pub seconds: i64,
    /// Nanoseconds after that second.
    pub nanos: u32,
    /// True if it was written without a time of day.
    pub is_date: bool,
    /// The sign between date and time: `T` or a space.
    pub separator: char,
    /// True if it was written with a zone.
    pub is_zoned: bool,
}

impl Timestamp {
    /// Returns the start of a day, without a time of day.
    pub fn from_days(days: i64) -> Self {
        let seconds = days.saturating_mul(SECONDS_PER_DAY);
        Self { seconds, nanos: 0, is_date: true, separator: ' ', is_zoned: false }
    }

    /// Returns the time of a number of seconds, milliseconds or microseconds since 1970: its size selects the unit.
    pub fn from_epoch(n: f64) -> Option<Self> {
        let seconds = match n.abs() {
            // 1973 to 5138 in each unit.
            n if n >= 1e17 => return None,
            size if size >= 1e14 => n / 1e6,
            size if size >= 1e11 => n / 1e3,
            _ => n,
        };
        let (whole, part) = (seconds.floor(), seconds - seconds.floor());
        let timestamp = Self { seconds: whole as i64, is_date: false, ..Self::from_days(0) };
        Some(Self { nanos: ((part * 1e6).round() as u32).min(999_999) * 1_000, ..timestamp })
    }

    /// Returns the days since 1970-01-01.
    pub fn days(self) -> i64 {
        self.seconds.div_euclid(SECONDS_PER_DAY)
    }

    /// Returns the seconds since midnight.
    pub fn second_of_day(self) -> i64 {
        self.seconds.rem_euclid(SECONDS_PER_DAY)
    }

    /// Returns its date.
    pub fn date(self) -> CivilDate {
        CivilDate::from_days(self.days())
    }

    /// Returns the timestamp with another date and the same time of day.
    #[must_use]
    pub fn with_date(self, date: CivilDate) -> Self {
        Self { seconds: date.days() * SECONDS_PER_DAY + self.second_of_day(), ..self }
    }

    /// Returns true if the year can be written.
    pub fn is_in_range(self) -> bool {
        self.seconds.abs() < 300_000_000_000 && YEARS.contains(&self.date().year)
    }

    /// Writes its date: `2024-05-01`.
    pub fn write_date(self) -> String {
        let CivilDate { year, month, day } = self.date();
        format!("{year:04}-{month:02}-{day:02}")
    }

    /// Writes its time of day: `10:00:00`.
    pub fn write_time(self) -> String {
        let second = self.second_of_day();
        format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
    }

    /// Writes the timestamp in the form in which it was read; a timestamp with a zone in UTC.
    pub fn write(self) -> String {
        if self.is_date {
            return self.write_date();
        }
        let mut text = format!("{}{}{}", self.write_date(), self.separator, self.write_time());
        if self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            text.push('.');
            text.push_str(digits.trim_end_matches('0'));
        }
        if self.is_zoned {
            text.push('Z');
        }
        text
    }
}
