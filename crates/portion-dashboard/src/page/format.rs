//! Formats numbers, sizes, times, names of endpoints, and terms with their meanings: a tool tip at each, and a
//! list at the end of a page.

use std::time::Duration;

use maud::{Markup, html};
use portion_core::event::{EndpointKind, Outcome, ServedError};
use portion_core::render::StageName;
use portion_telemetry::read::Endpoint;
use portion_telemetry::show::grouped;
use portion_telemetry::timestamp::rfc3339;

use crate::query::{Range, decoded, encoded, link};

/// Terms in the order of the list.
const TERMS: [(&str, &str); 19] = [
    ("Upstream", "Tokens of the results that the servers returned."),
    (
        "Model",
        "Tokens of the replies that were sent to the client in place of the results, follow-ups included.",
    ),
    ("Kept out", "Share of the upstream tokens that no reply contained. Negative if replies were larger."),
    ("Saved", "Price of the upstream tokens less that of the reply tokens, by tokenPrice, in US dollars."),
    ("Tokens kept out", "Upstream tokens less those of replies: what no model had to read."),
    ("Requests", "Calls of tools, resources and prompts, and follow-ups."),
    ("Tokens to the model", "Tokens of the replies that were sent to the client, follow-ups included."),
    ("First call", "A request that went to a server, other than a follow-up."),
    ("Follow-up", "A request for more of a kept result. It does not go to the server."),
    (
        "Oversized",
        "A first call whose result was above the token budget of a reply. Such a result is served in parts.",
    ),
    ("Outcome", "Form of a reply: the whole payload, a page, a summary, a chunk, or an error."),
    ("Errors", "Replies that are errors: of Portion itself, or passed on from a server."),
    ("Items", "Records of a list that the reply contains."),
    ("Latency", "Time from the request to its reply, the server's own time included."),
    ("Added", "Part of the latency that Portion itself caused."),
    ("p50, p95, p99", "Value that 50, 95 or 99 of 100 requests do not exceed."),
    ("Estimates", "Token counts of replies, compared with exact counts where a reply was sampled."),
    ("Bias", "Mean deviation of the estimates from the exact counts: above 0 if they are too high."),
    ("Client", "Name that the client gave itself when it connected."),
];

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

/// Returns the meaning of the term that a name begins with.
pub(super) fn meaning(name: &str) -> Option<&'static str> {
    let known = TERMS.iter().find(|(term, _)| name.starts_with(term));
    known.map(|(_, meaning)| *meaning)
}

/// Renders a name with its meaning as a tool tip, if it is a term.
pub(super) fn term(name: &str) -> Markup {
    html! {
        @if let Some(meaning) = meaning(name) { abbr title=(meaning) { (name) } } @else { (name) }
    }
}

/// Renders the list of all terms.
pub(super) fn list() -> Markup {
    html! {
        details.terms {
            summary { "Terms" }
            dl {
                @for (term, meaning) in TERMS { div { dt { (term) } dd { (meaning) } } }
            }
        }
    }
}

/// Explains an outcome.
pub(super) fn outcome(name: &str) -> &'static str {
    match Outcome::from_name(name) {
        Some(Outcome::Untouched) => "The payload was small and passed byte for byte.",
        Some(Outcome::Unshaped) => "Shaping is off: the payload passed whole, whatever its size.",
        Some(Outcome::Paginated) => "A page of a list was served; a cursor leads to the rest.",
        Some(Outcome::Summarized) => {
            "A summary with named sections was served; each section can be requested."
        }
        Some(Outcome::Chunked) => {
            "A chunk of a text or the requested lines were served; a cursor leads to the rest."
        }
        Some(Outcome::Queried) => "A query over a stored result was answered.",
        Some(Outcome::Projected) => "Named fields, a section or a path of the result were served.",
        Some(Outcome::Raw) => "Bytes were served as the server wrote them.",
        Some(Outcome::Capped) => {
            "Tokens could not be counted reliably, so the byte limit applied and cut the reply early."
        }
        Some(Outcome::Expired) => {
            "The result behind the cursor had expired. The model could not read on and was told to call again. If this is \
             frequent, raise snapshotTtl or snapshotMemory."
        }
        Some(Outcome::Refused) => {
            "The request could not be served; the model received the reason and the next step."
        }
        None => "Unknown outcome, recorded by a later version of Portion.",
    }
}

/// Explains a stage.
pub(super) fn step(name: &str) -> &'static str {
    match StageName::from_name(name) {
        Some(StageName::Dense) => "Records were written as rows of a table, which names each field once.",
        Some(StageName::Condense) => {
            "The least informative fields were left out of every item; fields=all returns them."
        }
        Some(StageName::Elide) => {
            "Long strings were shortened to their beginnings, with a mark of what is missing."
        }
        Some(StageName::Identify) => "Every item was reduced to the field that identifies it.",
        Some(StageName::Fewer) => "Fewer items than requested were served; a cursor leads to the rest.",
        // Of a reply limited by bytes, the outcome follows the stages.
        None => Outcome::from_name(name).map_or("", |capped| outcome(capped.name())),
    }
}

/// Explains an error code.
pub(super) fn error(code: &str) -> String {
    match ServedError::from_name(code) {
        Some(ServedError::Own(code)) => format!("Cause: {}.", code.info().cause.replace('`', "")),
        Some(ServedError::Upstream) => "Upstream error, passed on.".into(),
        None => "See the message that the model was sent.".into(),
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

    #[test]
    fn columns_and_figures_have_meanings() {
        for name in ["Upstream", "Kept out", "Oversized", "Errors", "Added latency, p95", "Follow-ups a call"]
        {
            assert!(meaning(name).is_some(), "{name}");
        }
        assert_eq!(meaning("Endpoint"), None);
        assert_eq!(meaning("Time"), None);
    }
}
