//! Dates and times: parsing, calendar arithmetic, and writing them in the form in which they were read.

use rusqlite::types::ValueRef;

const SECONDS_PER_DAY: i64 = 86_400;
/// Years that are accepted.
const YEARS: std::ops::RangeInclusive<i64> = 0..=9_999;

/// A point in time, in UTC if it was written with a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Seconds since 1970-01-01.
    pub(super) seconds: i64,
    pub(super) nanos: u32,
    /// True if it was written without a time of day.
    pub(super) is_date: bool,
    /// The sign between date and time: `T` or a space.
    pub(super) separator: char,
    /// True if it was written with a zone.
    pub(super) is_zoned: bool,
}

/// The parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CivilDate {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
}

impl CivilDate {
    /// Returns the days since 1970-01-01 (Howard Hinnant, `days_from_civil`).
    pub(super) fn days(self) -> i64 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let of_year = (153 * (self.month + if self.month > 2 { -3 } else { 9 }) + 2) / 5 + self.day - 1;
        era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
    }

    /// Returns the date of a day (Howard Hinnant, `civil_from_days`).
    pub(super) fn from_days(days: i64) -> Self {
        let day = days + 719_468;
        let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year + era * 400 + i64::from(month <= 2);
        Self { year, month, day: of_year - (153 * shifted + 2) / 5 + 1 }
    }

    pub(super) fn days_of_month(self) -> i64 {
        let leap = self.year % 4 == 0 && (self.year % 100 != 0 || self.year % 400 == 0);
        match self.month {
            2 => 28 + i64::from(leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Returns the date some months later, on the last day of the month if that is shorter.
    pub(super) fn add_months(self, months: i64) -> Option<Self> {
        let month = self.year.checked_mul(12)?.checked_add(self.month - 1)?.checked_add(months)?;
        let first = Self { year: month.div_euclid(12), month: month.rem_euclid(12) + 1, day: 1 };
        let day = self.day.min(first.days_of_month());
        YEARS.contains(&first.year).then_some(Self { day, ..first })
    }
}

impl Moment {
    pub(super) fn from_days(days: i64) -> Self {
        let seconds = days.saturating_mul(SECONDS_PER_DAY);
        Self { seconds, nanos: 0, is_date: true, separator: ' ', is_zoned: false }
    }

    /// Reads a value: text, or a number of seconds, milliseconds or microseconds since 1970.
    pub(super) fn from_value(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Integer(n) => Self::from_epoch(n as f64),
            ValueRef::Real(n) => Self::from_epoch(n),
            ValueRef::Text(bytes) => Self::parse(std::str::from_utf8(bytes).ok()?.trim()),
            ValueRef::Null | ValueRef::Blob(_) => None,
        }
    }

    pub(super) fn from_epoch(n: f64) -> Option<Self> {
        let seconds = match n.abs() {
            // 1973 to 5138 in each unit.
            n if n >= 1e17 => return None,
            size if size >= 1e14 => n / 1e6,
            size if size >= 1e11 => n / 1e3,
            _ => n,
        };
        let (whole, part) = (seconds.floor(), seconds - seconds.floor());
        let moment = Self { seconds: whole as i64, is_date: false, ..Self::from_days(0) };
        Some(Self { nanos: (part * 1e6).round() as u32 * 1_000, ..moment })
    }

    /// Parses ISO 8601, with a space or `T`; also `2024/05/01`, `01 May 2024`, `May 1, 2024`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > 64 {
            return None;
        }
        let (date, rest) = iso_date(text).or_else(|| named_month(text))?;
        if !(1..=12).contains(&date.month) || !(1..=date.days_of_month()).contains(&date.day) {
            return None;
        }
        let moment = Self::from_days(date.days());
        let time = rest.trim_start_matches(',');
        if time.is_empty() {
            return Some(moment);
        }
        let separator = time.chars().next().filter(|c| matches!(c, 'T' | 't' | ' '))?;
        let (seconds, nanos, zone) = time_of_day(time[1..].trim_start())?;
        let (ahead, is_zoned) = if zone.is_empty() { (0, false) } else { (zone_offset(zone)?, true) };
        let seconds = moment.seconds + seconds - ahead;
        Some(Self { seconds, nanos, is_date: false, separator: separator.to_ascii_uppercase(), is_zoned })
    }

    pub(super) fn days(self) -> i64 {
        self.seconds.div_euclid(SECONDS_PER_DAY)
    }

    pub(super) fn second_of_day(self) -> i64 {
        self.seconds.rem_euclid(SECONDS_PER_DAY)
    }

    pub(super) fn date(self) -> CivilDate {
        CivilDate::from_days(self.days())
    }

    /// Returns the moment with another date and the same time of day.
    pub(super) fn with_date(self, date: CivilDate) -> Self {
        Self { seconds: date.days() * SECONDS_PER_DAY + self.second_of_day(), ..self }
    }

    /// Returns true if the year can be written.
    pub(super) fn is_in_range(self) -> bool {
        self.seconds.abs() < 300_000_000_000 && YEARS.contains(&self.date().year)
    }

    pub(super) fn write_date(self) -> String {
        let CivilDate { year, month, day } = self.date();
        format!("{year:04}-{month:02}-{day:02}")
    }

    pub(super) fn write_time(self) -> String {
        let second = self.second_of_day();
        format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
    }

    /// Writes the moment in the form in which it was read; a moment with a zone in UTC.
    pub(super) fn write(self) -> String {
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

/// Parses `2024-05-01` or `2024/05/01`. Returns the rest of the text.
fn iso_date(text: &str) -> Option<(CivilDate, &str)> {
    let (year, rest) = digits(text, 4)?;
    let sign = rest.chars().next().filter(|c| matches!(c, '-' | '/'))?;
    let (month, rest) = digits(&rest[1..], 2)?;
    if rest.is_empty() && sign == '-' {
        return Some((CivilDate { year, month, day: 1 }, rest));
    }
    let (day, rest) = digits(rest.strip_prefix(sign)?, 2)?;
    Some((CivilDate { year, month, day }, rest))
}

/// Parses `01 May 2024`, `May 1, 2024` or `Wed, 01 May 2024`. Returns the rest of the text.
fn named_month(text: &str) -> Option<(CivilDate, &str)> {
    let (mut day, mut month, mut year, mut rest) = (None, None, None, text);
    for _ in 0..4 {
        rest = rest.trim_start_matches([' ', ',', '-']);
        let end = rest.find([' ', ',', '-']).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        match word.parse::<i64>() {
            Ok(n) if word.len() == 4 => year = Some(n),
            Ok(n) if word.len() <= 2 && day.is_none() => day = Some(n),
            Ok(_) => return None,
            Err(_) => month = month_number(word).or(month),
        }
        if let (Some(day), Some(month), Some(year)) = (day, month, year) {
            return Some((CivilDate { year, month, day }, rest));
        }
    }
    None
}

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
pub(super) const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Returns the number of a month by its English name or the first three letters.
pub(super) fn month_number(word: &str) -> Option<i64> {
    let is_named = |name: &&str| {
        name.eq_ignore_ascii_case(word) || word.len() == 3 && name[..3].eq_ignore_ascii_case(word)
    };
    MONTHS.iter().position(is_named).map(|at| at as i64 + 1)
}

/// Parses `10:20` or `10:20:30.5`. Returns seconds, nanoseconds and the rest.
fn time_of_day(text: &str) -> Option<(i64, u32, &str)> {
    let (hour, rest) = digits(text, 2)?;
    let (minute, mut rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (mut second, mut nanos) = (0, 0);
    if let Some(more) = rest.strip_prefix(':') {
        (second, rest) = digits(more, 2)?;
        if let Some(fraction) = rest.strip_prefix(['.', ',']) {
            let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let kept = length.min(9);
            nanos = fraction.get(..kept)?.parse::<u32>().ok()?.checked_mul(10_u32.pow(9 - kept as u32))?;
            rest = fraction.get(length..)?;
        }
    }
    let is_valid = hour <= 24 && minute < 60 && second <= 60;
    is_valid.then_some((hour * 3_600 + minute * 60 + second, nanos, rest.trim_start()))
}

/// Returns the offset of a zone in seconds.
fn zone_offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z" | "UTC" | "GMT") {
        return Some(0);
    }
    let (sign, rest) = match text.chars().next()? {
        '+' => (1, &text[1..]),
        '-' => (-1, &text[1..]),
        _ => return None,
    };
    let (hours, rest) = digits(rest, 2)?;
    let minutes = match rest.strip_prefix(':').unwrap_or(rest) {
        "" => 0,
        two => digits(two, 2).filter(|(_, rest)| rest.is_empty())?.0,
    };
    Some(sign * (hours * 3_600 + minutes * 60))
}

/// Parses exactly so many digits. Returns the rest of the text.
pub(super) fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let number = text.get(..count).filter(|part| part.bytes().all(|b| b.is_ascii_digit()))?;
    Some((number.parse().ok()?, text.get(count..)?))
}
