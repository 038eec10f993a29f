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

mod parse;

pub use parse::{MONTHS, WEEKDAYS, digits, month_number};
pub(crate) use parse::{one_or_two_digits, year_of_two_digits};

use std::sync::LazyLock;

use jiff::civil::DateTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

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

    /// Returns how many parts of a second a number since 1970 counts: its size selects seconds, milliseconds, microseconds or
    /// nanoseconds.
    pub fn epoch_parts(n: f64) -> Option<i64> {
        match n.abs() {
            // 1973 to 5138 in each unit.
            size if size >= 1e20 => None,
            size if size >= 1e17 => Some(1_000_000_000),
            size if size >= 1e14 => Some(1_000_000),
            size if size >= 1e11 => Some(1_000),
            _ => Some(1),
        }
    }

    /// Returns the time of a number of seconds or smaller units since 1970: its size selects the unit.
    pub fn from_epoch(n: f64) -> Option<Self> {
        let seconds = n / Self::epoch_parts(n)? as f64;
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

    /// Returns the time in UTC of a local time in a zone, and the local time of a time with a zone. The zone is an offset, an
    /// abbreviation, or a name of IANA; `None` if it is not known.
    ///
    /// ```
    /// use portion_text::timestamp::Timestamp;
    ///
    /// let local = Timestamp::parse("2024-07-05 12:00:00").and_then(|time| time.in_zone("Europe/Paris"));
    /// assert_eq!(local.map(Timestamp::write).as_deref(), Some("2024-07-05 10:00:00Z"));
    /// ```
    pub fn in_zone(self, zone: &str) -> Option<Self> {
        let seconds = match fixed_offset(zone) {
            Some(ahead) if self.is_zoned => self.seconds + ahead,
            Some(ahead) => self.seconds - ahead,
            None => self.in_named_zone(zone)?,
        };
        Some(Self { seconds, is_date: false, is_zoned: !self.is_zoned, ..self })
    }

    /// Returns the seconds of the time in a zone of IANA: `Europe/Paris`, `[Europe/Paris]`.
    fn in_named_zone(self, zone: &str) -> Option<i64> {
        let name = zone.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(zone);
        let is_name = name.contains('/') || name.len() < zone.len();
        let zone: TimeZone = is_name.then(|| DATABASE.get(name).ok()).flatten()?;
        if self.is_zoned {
            let time = jiff::Timestamp::from_second(self.seconds).ok()?;
            return Some(self.seconds + i64::from(zone.to_offset(time).seconds()));
        }
        let date = self.date();
        let second = self.second_of_day().min(SECONDS_PER_DAY - 1);
        let part = |n: i64| i8::try_from(n).ok();
        let time = DateTime::new(
            i16::try_from(date.year).ok()?,
            part(date.month)?,
            part(date.day)?,
            part(second / 3_600)?,
            part(second / 60 % 60)?,
            part(second % 60)?,
            0,
        );
        Some(zone.to_ambiguous_timestamp(time.ok()?).compatible().ok()?.as_second())
    }
}

/// The parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilDate {
    /// Year.
    pub year: i64,
    /// Month, from 1.
    pub month: i64,
    /// Day of the month, from 1.
    pub day: i64,
}

impl CivilDate {
    /// Returns the days since 1970-01-01 (Howard Hinnant, `days_from_civil`).
    pub fn days(self) -> i64 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * (self.month + if self.month > 2 { -3 } else { 9 }) + 2) / 5 + self.day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// Returns the date of a day (Howard Hinnant, `civil_from_days`).
    pub fn from_days(days: i64) -> Self {
        let day = days + 719_468;
        let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year + era * 400 + i64::from(month <= 2);
        Self { year, month, day: of_year - (153 * shifted + 2) / 5 + 1 }
    }

    /// Returns the number of days of its month.
    pub fn days_of_month(self) -> i64 {
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        match self.month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Returns the date some months later, on the last day of the month if that is shorter.
    pub fn add_months(self, months: i64) -> Option<Self> {
        let month = self.year.checked_mul(12)?.checked_add(self.month - 1)?.checked_add(months)?;
        let first = Self { year: month.div_euclid(12), month: month.rem_euclid(12) + 1, day: 1 };
        let day = self.day.min(first.days_of_month());
        YEARS.contains(&first.year).then_some(Self { day, ..first })
    }
}

/// Names of zones, and their hours ahead of UTC.
const ZONES: [(&str, i64); 12] = [
    ("Z z UTC GMT WET", 0),
    ("CET BST WEST", 1),
    ("CEST EET", 2),
    ("EEST MSK", 3),
    ("JST KST", 9),
    ("AEST", 10),
    ("AEDT", 11),
    ("EDT", -4),
    ("EST CDT", -5),
    ("CST MDT", -6),
    ("MST PDT", -7),
    ("PST", -8),
];

/// The zones of IANA, whose data are part of the binary.
static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// Returns the seconds ahead of UTC of an offset, which may have the name of a zone after it, or of an abbreviation.
fn fixed_offset(text: &str) -> Option<i64> {
    if let Some((_, hours)) = ZONES.iter().find(|(names, _)| names.split(' ').any(|name| name == text)) {
        return Some(hours * 3_600);
    }
    let text =
        text.strip_suffix(']').and_then(|rest| rest.split_once('[')).map_or(text, |(offset, _)| offset);
    let text =
        text.strip_suffix(')').and_then(|rest| rest.split_once(" (")).map_or(text, |(offset, _)| offset);
    let text = text.strip_prefix("GMT").or_else(|| text.strip_prefix("UTC")).unwrap_or(text);
    let (sign, rest) = match text.chars().next()? {
        '+' => (1, &text[1..]),
        '-' => (-1, &text[1..]),
        _ => return text.eq_ignore_ascii_case("z").then_some(0),
    };
    let (hours, rest) = digits(rest, 2)?;
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => 0,
        two => digits(two, 2).filter(|(_, rest)| rest.is_empty())?.0,
    };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}
