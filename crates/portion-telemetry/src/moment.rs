//! Moments as people write them: how long ago, or a date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment in microseconds since 1970: how long before `now` (`90s`, `2h`, `7d`), or a date with or without a time, in
/// UTC (`2026-11-22`, `2026-11-22T08:00`, `2026-11-22T08:00:00Z`).
///
/// # Errors
/// It is neither; the text says what it may be.
pub fn moment(text: &str, now: SystemTime) -> Result<u64, String> {
    let date = |text: &str| humantime::parse_rfc3339_weak(text).ok();
    let time = match humantime::parse_duration(text) {
        Ok(ago) => now.checked_sub(ago),
        Err(_) => {
            date(text).or_else(|| date(&format!("{text}:00"))).or_else(|| date(&format!("{text} 00:00:00")))
        }
    };
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since
        .map(|since| since.as_micros() as u64)
        .ok_or_else(|| "it is how long ago, such as 90s, 2h or 7d, or a date such as 2026-11-22".into())
}

/// A moment in microseconds since 1970 as RFC 3339 has it, in UTC.
pub fn written(micros: u64) -> String {
    // What formats panics above the year 9999.
    let micros = micros.min(253_402_300_799_999_999);
    humantime::format_rfc3339_micros(UNIX_EPOCH + Duration::from_micros(micros)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_ages_and_dates() {
        let now = UNIX_EPOCH + Duration::from_hours(24 * 20_000);
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(moment(text, now).ok().map(written).as_deref(), expect, "{text}");
        };
        check("0s", Some("2024-10-04T00:00:00.000000Z"));
        check("90m", Some("2024-10-03T22:30:00.000000Z"));
        check("7d", Some("2024-09-27T00:00:00.000000Z"));
        check("2026-11-22", Some("2026-11-22T00:00:00.000000Z"));
        check("2026-11-22T08:01", Some("2026-11-22T08:01:00.000000Z"));
        check("2026-11-22 08:01:02.5", Some("2026-11-22T08:01:02.500000Z"));
        check("2026-11-22T08:01:02Z", Some("2026-11-22T08:01:02.000000Z"));
        check("1900-01-01", None);
        check("600y", None);
        check("yesterday", None);
        check("", None);
    }
}
