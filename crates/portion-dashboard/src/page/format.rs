//! Formats numbers, sizes, times and names of endpoints for people.

use std::time::Duration;

use maud::{Markup, html};
use portion_core::event::EndpointKind;
use portion_telemetry::read::Endpoint;
use portion_telemetry::show::grouped;
use portion_telemetry::timestamp::rfc3339;

use crate::query::{Range, decoded, encoded, link};

/// Formats a number with at most four digits: `1,234`, `56.7k`, `8.90M`.
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

/// Formats a share, 0 to 1, in per cent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats an amount in US dollars.
pub(super) fn dollars(amount: f64) -> String {
    let digits = if amount.abs() < 1.0 { 4 } else { 2 };
    let sign = if amount < 0.0 { "−" } else { "" };
    format!("{sign}${:.digits$}", amount.abs())
}

/// Formats a share, or `–` without one.
pub(super) fn share_or_dash(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), percent)
}

pub(super) fn count_or_dash(number: Option<u64>) -> String {
    number.map_or_else(|| "–".to_owned(), grouped)
}

pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{} B", grouped(bytes)),
        10_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Formats a duration.
pub(super) fn duration(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match millis {
        below if below < 9.995 => format!("{below:.2} ms"),
        below if below < 999.5 => format!("{below:.0} ms"),
        more => format!("{:.1} s", more / 1e3),
    }
}

/// Formats an interval in microseconds, rounded down to seconds, minutes or hours.
pub(super) fn elapsed(micros: u64) -> String {
    match micros / 1_000_000 {
        0 => "less than a second".to_owned(),
        seconds @ 1..120 => plural(seconds, "second", "seconds"),
        seconds @ 120..7_200 => plural(seconds / 60, "minute", "minutes"),
        seconds => plural(seconds / 3_600, "hour", "hours"),
    }
}

/// Formats a count with its noun: `1 request`, `2 requests`.
pub(super) fn plural(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

/// Renders a time in UTC, to the second. The script shows it in the viewer's time zone.
pub(super) fn timestamp(at: u64) -> Markup {
    let whole = rfc3339(at);
    let seconds = whole.split('.').next().unwrap_or_default().replace('T', " ");
    html! { time datetime=(whole) title=(format!("{seconds} UTC")) { (seconds) "Z" } }
}

/// Returns the display name of an endpoint. An unresolved cursor has no endpoint name, only a server.
pub(super) fn display_name(endpoint: &Endpoint) -> String {
    match (&endpoint.upstream, endpoint.name.is_empty()) {
        (_, false) => endpoint.to_string(),
        (Some(upstream), true) => format!("unknown endpoint of {upstream}"),
        (None, true) => "unknown endpoint".to_owned(),
    }
}

/// Renders a link to an endpoint's page, with its kind unless it is a tool.
pub(super) fn endpoint_link(endpoint: &Endpoint, range: &Range) -> Markup {
    let href = link(&format!("/endpoints/{}", path_of(endpoint)), &range.parameters());
    html! {
        a href=(href) { (display_name(endpoint)) }
        @if endpoint.kind != EndpointKind::Tool.name() { " " span.quiet { (endpoint.kind) } }
    }
}

/// Returns `KIND/NAME` or `KIND/UPSTREAM/NAME`, so endpoints of the same name have different pages.
pub(super) fn path_of(endpoint: &Endpoint) -> String {
    let Endpoint { upstream, kind, name } = endpoint;
    let parts = [Some(kind), upstream.as_ref(), Some(name)];
    parts.into_iter().flatten().map(|part| encoded(part)).collect::<Vec<_>>().join("/")
}

/// Parses the path of an endpoint's page.
pub(super) fn endpoint_at(path: &str) -> Option<Endpoint> {
    let parts: Vec<String> = path.split('/').map(decoded).collect();
    match &parts[..] {
        [kind, name] => Some(Endpoint { upstream: None, kind: kind.clone(), name: name.clone() }),
        [kind, upstream, name] => {
            Some(Endpoint { upstream: Some(upstream.clone()), kind: kind.clone(), name: name.clone() })
        }
        _ => None,
    }
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
        let check = |micros, expect: &str| assert_eq!(duration(Duration::from_micros(micros)), expect);
        check(900, "0.90 ms");
        check(20_400, "20 ms");
        check(1_540_000, "1.5 s");
        let check = |seconds: u64, expect: &str| assert_eq!(elapsed(seconds * 1_000_000), expect);
        check(0, "less than a second");
        check(1, "1 second");
        check(119, "119 seconds");
        check(120, "2 minutes");
        check(7_200, "2 hours");
        assert_eq!([bytes(512), bytes(40_000), bytes(1_940_000)], ["512 B", "40.0 kB", "1.9 MB"]);
        assert_eq!([dollars(0.0123), dollars(12.346), dollars(-2.0)], ["$0.0123", "$12.35", "−$2.00"]);
        assert_eq!([share_or_dash(None), share_or_dash(Some(0.825))], ["–", "82.5 %"]);
    }

    #[test]
    fn endpoints_are_found_where_their_pages_are() {
        let endpoint = |upstream: Option<&str>, kind: &str, name: &str| Endpoint {
            upstream: upstream.map(str::to_owned),
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        for (endpoint, path) in [
            (endpoint(None, "tool", "list_*"), "tool/list_%2A"),
            (endpoint(Some("a"), "resource", "file:///b"), "resource/a/file%3A%2F%2F%2Fb"),
            (endpoint(None, "tool", "a/file:///b"), "tool/a%2Ffile%3A%2F%2F%2Fb"),
            (endpoint(None, "tool", ""), "tool/"),
        ] {
            assert_eq!(path_of(&endpoint), path);
            assert_eq!(endpoint_at(path), Some(endpoint));
        }
        for none in ["", "tool", "tool/a/b/c"] {
            assert_eq!(endpoint_at(none), None, "{none}");
        }
    }
}
