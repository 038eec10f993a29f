//! Parses and formats points in time for people.
//!
//! ```
//! use std::time::SystemTime;
//!
//! use portion_telemetry::timestamp::{parse_timestamp, rfc3339};
//!
//! let micros = parse_timestamp("2026-11-22T08:00+01:00", SystemTime::now()).unwrap();
//! assert_eq!(rfc3339(micros), "2026-11-22T07:00:00.000000Z");
//! ```

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portion_text::timestamp::Timestamp;

/// Parses a point in time and returns microseconds since 1970. Accepts an age relative to `now` (`90s`, `2h`, `7d`), a
/// date with or without a time in UTC (`2026-11-22`, `2026-11-22T08:00`, `2026-11-22T08:00:00Z`), or a time with an
/// offset (`2026-11-22T08:00+01:00`).
///
/// # Errors
/// `text` is neither an age nor a date. The message lists the accepted forms.
pub fn parse_timestamp(text: &str, now: SystemTime) -> Result<u64, String> {
    let time = match humantime::parse_duration(text) {
        Ok(ago) => now.checked_sub(ago),
        Err(_) => date(text),
    };
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map(|since| since.as_micros() as u64).ok_or_else(|| {
        "expected an age such as 90s, 2h or 7d, or a date such as 2026-11-22, with a time such as \
         2026-11-22T08:00:00Z or 2026-11-22T08:00+01:00"
            .into()
    })
}

/// Parses a date, with or without a time and an offset.
fn date(text: &str) -> Option<SystemTime> {
    // An offset may also follow a date without a time.
    let with_midnight = || {
        let (date, offset) =
            text.split_at_checked(10).filter(|(_, offset)| offset.starts_with(['+', '-']))?;
        Timestamp::parse_iso(&format!("{date}T00:00{offset}"))
    };
    let time = Timestamp::parse_iso(text).or_else(with_midnight)?;
    let seconds = u64::try_from(time.seconds).ok()?;
    UNIX_EPOCH.checked_add(Duration::new(seconds, time.nanos))
}

/// Formats microseconds since 1970 for people: UTC, to the second.
pub fn readable(micros: u64) -> String {
    rfc3339(micros).split('.').next().unwrap_or_default().replacen('T', " ", 1) + "Z"
}

/// Formats microseconds since 1970 as RFC 3339 in UTC.
pub fn rfc3339(micros: u64) -> String {
    // humantime panics above the year 9999.
    let micros = micros.min(253_402_300_799_999_999);
    humantime::format_rfc3339_micros(UNIX_EPOCH + Duration::from_micros(micros)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_ages_and_dates() {
        let now = UNIX_EPOCH + Duration::from_hours(24 * 20_000);
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(parse_timestamp(text, now).ok().map(rfc3339).as_deref(), expect, "{text}");
        };
        check("0s", Some("2024-10-04T00:00:00.000000Z"));
        check("90m", Some("2024-10-03T22:30:00.000000Z"));
        check("7d", Some("2024-09-27T00:00:00.000000Z"));
        check("2026-11-22", Some("2026-11-22T00:00:00.000000Z"));
        check("2026-11-22T08:01", Some("2026-11-22T08:01:00.000000Z"));
        check("2026-11-22 08:01:02.5", Some("2026-11-22T08:01:02.500000Z"));
        check("2026-11-22T08:01:02Z", Some("2026-11-22T08:01:02.000000Z"));
        check("2026-11-22T08:01:02+01:00", Some("2026-11-22T07:01:02.000000Z"));
        check("2026-11-22T08:01-03:30", Some("2026-11-22T11:31:00.000000Z"));
        check("2026-11-22+01:00", Some("2026-11-21T23:00:00.000000Z"));
        check("2026-11-22T08:01+25", None);
        check("+01:00", None);
        check("äöü", None);
        check("1900-01-01", None);
        check("600y", None);
        check("yesterday", None);
        check("", None);
    }
}
