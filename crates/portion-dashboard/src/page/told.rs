//! Figures, sizes and times as people read them.

use std::time::Duration;

use maud::{Markup, html};
use portion_telemetry::show::grouped;
use portion_telemetry::timestamp::rfc3339;

/// A number that is read at a glance: `1,234`, `56.7k`, `8.90M`.
pub(super) fn short(number: u64) -> String {
    let three = |number: f64, unit: &str| {
        let digits = if number < 9.995 { 2 } else { usize::from(number < 99.95) };
        format!("{number:.digits$}{unit}")
    };
    match number {
        0..10_000 => grouped(number),
        10_000..999_950 => three(number as f64 / 1e3, "k"),
        999_950..999_950_000 => three(number as f64 / 1e6, "M"),
        _ => three(number as f64 / 1e9, "G"),
    }
}

/// A share, 0 to 1.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A part of a whole, `–` of nothing.
pub(super) fn part(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), percent)
}

pub(super) fn maybe(number: Option<u64>) -> String {
    number.map_or_else(|| "–".to_owned(), grouped)
}

pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{} B", grouped(bytes)),
        10_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// How long something took.
pub(super) fn took(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match millis {
        below if below < 9.995 => format!("{below:.2} ms"),
        below if below < 999.5 => format!("{below:.0} ms"),
        more => format!("{:.1} s", more / 1e3),
    }
}

/// How long was waited, in microseconds: seconds do.
pub(super) fn waited(micros: u64) -> String {
    match micros / 1_000_000 {
        seconds @ 0..120 => counted(seconds, "second", "seconds"),
        seconds @ 120..7_200 => counted(seconds / 60, "minute", "minutes"),
        seconds => counted(seconds / 3_600, "hour", "hours"),
    }
}

/// One of it, or several: `1 request`, `2 requests`.
pub(super) fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

/// A moment in UTC, to the second; the script says it in the viewer's zone.
pub(super) fn moment(at: u64) -> Markup {
    let whole = rfc3339(at);
    let seconds = whole.split('.').next().unwrap_or_default().replace('T', " ");
    html! { time datetime=(whole) title=(format!("{seconds} UTC")) { (seconds) "Z" } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_figures_or_so() {
        let check = |number, expect: &str| assert_eq!(short(number), expect);
        check(0, "0");
        check(9_999, "9,999");
        check(10_000, "10.0k");
        check(56_749, "56.7k");
        check(999_949, "1000k");
        check(1_234_567, "1.23M");
        check(99_960_000, "100M");
        check(2_000_000_000, "2.00G");
    }

    #[test]
    fn times_and_sizes_have_units() {
        let check = |micros, expect: &str| assert_eq!(took(Duration::from_micros(micros)), expect);
        check(900, "0.90 ms");
        check(20_400, "20 ms");
        check(1_540_000, "1.5 s");
        let check = |seconds: u64, expect: &str| assert_eq!(waited(seconds * 1_000_000), expect);
        check(1, "1 second");
        check(119, "119 seconds");
        check(120, "2 minutes");
        check(7_200, "2 hours");
        assert_eq!([bytes(512), bytes(40_000), bytes(1_940_000)], ["512 B", "40.0 kB", "1.9 MB"]);
        assert_eq!([part(None), part(Some(0.825))], ["–", "82.5 %"]);
    }
}
