//! Parses dates and times: ISO 8601, also with a space between date and time.

use std::cmp::Ordering;

use portion_json::span::Span;

/// A parsed timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timestamp {
    /// Seconds since 1970, in local time if it has no zone.
    seconds: i64,
    nanos: u32,
    precision: Precision,
}

/// Precision of a timestamp. Only timestamps of the same precision are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// `2024-05-01`
    Day,
    /// `2024-05-01 10:00:00`
    Local,
    /// `2024-05-01T10:00:00Z`
    Zoned,
}

/// Longest timestamp, in bytes: nine decimals and a zone.
const MAX_TIMESTAMP_BYTES: usize = 40;
const SECONDS_PER_DAY: i64 = 86_400;

impl Timestamp {
    /// Parses a timestamp, or returns `None` if the text is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() < 10 || bytes.len() > MAX_TIMESTAMP_BYTES || bytes[4] != b'-' || bytes[7] != b'-' {
            return None;
        }
        let (year, month, day) = (
            parse_digits(bytes.get(..4)?)?,
            parse_digits(bytes.get(5..7)?)?,
            parse_digits(bytes.get(8..10)?)?,
        );
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let date = days_since_epoch(year, month, day) * SECONDS_PER_DAY;
        let Some(time) = bytes.get(10..).filter(|rest| !rest.is_empty()) else {
            return Some(Self { seconds: date, nanos: 0, precision: Precision::Day });
        };
        let (seconds, nanos, rest) = parse_time_of_day(time)?;
        let (precision, ahead) =
            if rest.is_empty() { (Precision::Local, 0) } else { (Precision::Zoned, parse_zone(rest)?) };
        Some(Self { seconds: date + seconds - ahead, nanos, precision })
    }

    fn compare(self, other: Self) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

/// Parses ` 10:20` or `T10:20:30.5` into seconds and nanoseconds, and returns the rest of the text.
fn parse_time_of_day(text: &[u8]) -> Option<(i64, u32, &[u8])> {
    let (b'T' | b't' | b' ', b':') = (*text.first()?, *text.get(3)?) else { return None };
    let (hour, minute) = (parse_digits(text.get(1..3)?)?, parse_digits(text.get(4..6)?)?);
    let mut rest = text.get(6..)?;
    let mut second = 0;
    let mut nanos = 0;
    if let Some(more) = rest.strip_prefix(b":") {
        second = parse_digits(more.get(..2)?)?;
        rest = more.get(2..)?;
        if let Some(fraction) = rest.strip_prefix(b".").or_else(|| rest.strip_prefix(b",")) {
            let length = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
            if !(1..=9).contains(&length) {
                return None;
            }
            nanos = parse_digits(fraction.get(..length)?)? as u32 * 10_u32.pow(9 - length as u32);
            rest = fraction.get(length..)?;
        }
    }
    // 24:00 is the end of a day, second 60 a leap second.
    (hour <= 24 && minute < 60 && second <= 60).then_some((hour * 3_600 + minute * 60 + second, nanos, rest))
}

/// Returns the offset of a zone in seconds.
fn parse_zone(text: &[u8]) -> Option<i64> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    match text {
        b"Z" | b"z" | b"UTC" | b"GMT" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, rest @ ..] => {
            let minutes = match rest.strip_prefix(b":").unwrap_or(rest) {
                b"" => 0,
                two @ [_, _] => parse_digits(two)?,
                _ => return None,
            };
            let ahead = parse_digits(&[*h1, *h2])? * 3_600 + minutes * 60;
            Some(if *sign == b'-' { -ahead } else { ahead })
        }
        _ => None,
    }
}

fn parse_digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |number, b| b.is_ascii_digit().then(|| number * 10 + i64::from(b - b'0')))
}

/// Returns the days since 1970-01-01 of the Gregorian calendar (Howard Hinnant, `days_from_civil`).
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Formats seconds since 1970 as `2024-05-01T10:00:00Z` (Howard Hinnant, `civil_from_days`).
pub(super) fn format_timestamp(seconds: i64) -> String {
    let (day, rest) = (seconds.div_euclid(SECONDS_PER_DAY) + 719_468, seconds.rem_euclid(SECONDS_PER_DAY));
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (date, month) =
        (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Range of the timestamps of a field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum TimestampRange {
    /// No text yet.
    #[default]
    None,
    /// All texts are timestamps of the same precision: the earliest and the latest.
    Range([(Timestamp, Span); 2]),
    /// Some text is not such a timestamp.
    Mixed,
}

impl TimestampRange {
    /// Adds a text without its quotes.
    #[inline]
    pub(super) fn add(&mut self, text: &str, at: Span) {
        if matches!(self, Self::Mixed) {
            return;
        }
        *self = match (Timestamp::parse(text), *self) {
            (Some(timestamp), Self::None) => Self::Range([(timestamp, at); 2]),
            (Some(timestamp), Self::Range([earliest, latest]))
                if timestamp.precision == latest.0.precision =>
            {
                Self::Range([
                    if timestamp.compare(earliest.0).is_lt() { (timestamp, at) } else { earliest },
                    if timestamp.compare(latest.0).is_gt() { (timestamp, at) } else { latest },
                ])
            }
            _ => Self::Mixed,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Timestamp, format_timestamp};

    fn check(text: &str, seconds: Option<i64>) {
        assert_eq!(Timestamp::parse(text).map(|timestamp| timestamp.seconds), seconds, "{text}");
    }

    #[test]
    fn timestamps_are_read_as_written() {
        check("1970-01-01", Some(0));
        check("1969-12-31", Some(-86_400));
        check("2024-05-01T10:20:30Z", Some(1_714_558_830));
        check("2024-05-01 10:20:30", Some(1_714_558_830));
        check("2024-05-01 10:20:30 UTC", Some(1_714_558_830));
        check("2024-05-01T12:20:30.123456+02:00", Some(1_714_558_830));
        check("2024-05-01T03:20:30-0700", Some(1_714_558_830));
        check("2024-05-01T10:20", Some(1_714_558_800));
        for other in [
            "2024-13-01",
            "2024-00-00",
            "2022-2023",
            "2024-05-01x",
            "2024-05-01T",
            "12345-67-8",
            "",
            "ä2024-1-1",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn seconds_are_written_as_they_are_read() {
        for seconds in [0, -1, 951_782_400, 1_714_558_830, 4_102_444_799, -2_208_988_800] {
            check(&format_timestamp(seconds), Some(seconds));
        }
    }
}
