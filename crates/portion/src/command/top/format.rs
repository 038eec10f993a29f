//! Short forms of figures and names.

use std::time::Duration;

use portion_telemetry::show::grouped;

/// Formats a number in about five characters.
pub(super) fn short_number(number: u64) -> String {
    let scaled = |by: f64, unit: &str| {
        let scaled = number as f64 / by;
        if scaled < 99.95 { format!("{scaled:.1}{unit}") } else { format!("{scaled:.0}{unit}") }
    };
    match number {
        0..=9_999 => grouped(number),
        10_000..=999_499 => scaled(1e3, "k"),
        999_500..=999_499_999 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    }
}

/// Formats a share in percent; a dash if it is unknown.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Formats a duration: `5m`, `1h`, `24h`.
pub(super) fn duration_text(time: Duration) -> String {
    match time.as_secs() {
        hours if hours >= 3_600 && hours.is_multiple_of(3_600) => format!("{}h", hours / 3_600),
        minutes if minutes >= 60 && minutes.is_multiple_of(60) => format!("{}m", minutes / 60),
        _ => humantime::format_duration(Duration::from_secs(time.as_secs())).to_string(),
    }
}

/// Formats the time of day in UTC.
pub(super) fn time_of_day(micros: u64) -> String {
    let seconds = micros / 1_000_000 % 86_400;
    format!("{:02}:{:02}:{:02}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let check = |number, expect: &str| assert_eq!(short_number(number), expect);
        check(0, "0");
        check(9_999, "9,999");
        check(12_345, "12.3k");
        check(999_499, "999k");
        check(999_500, "1.0M");
        check(123_456_789, "123M");
        check(5_000_000_000, "5.0G");
    }
}
