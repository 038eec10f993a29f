//! Findings of a time range: errors and unusual values, by endpoint.

use maud::{Markup, html};
use portion_core::event::{AlertChanged, Outcome};
use portion_telemetry::alert::DEFAULT_SHARE;
use portion_telemetry::read::{Filter, Notable, ReadError, Reader, Traffic};
use portion_telemetry::timestamp::rfc3339;

use super::display_name;
use super::format::{self, duration, percent, plural, timestamp};
use crate::query::link;
use crate::selection::Selection;

/// Maximum number of findings shown.
const MAX_FINDINGS: usize = 5;
/// Number of unshaped requests of an endpoint that are checked for size, the newest first.
const MAX_CHECKED: usize = 100;

/// A finding about one endpoint.
struct Finding<'a> {
    traffic: &'a Traffic,
    /// Description.
    what: String,
    why: &'static str,
    /// Condition of the requests behind it.
    condition: Condition,
    /// Number of requests; findings are sorted by it.
    weight: u64,
}

/// Outcome and notable condition of requests.
type Condition = (Option<Outcome>, Option<Notable>);

/// Renders active alerts.
pub(super) fn banner(alerts: &[AlertChanged]) -> Markup {
    html! {
        @for alert in alerts {
            div.banner role="alert" {
                strong { "Oversized attempts: " (percent(alert.share)) }
                " of " (plural(alert.requests, "request", "requests")) " in " (window_length(alert))
                " asked for more than fits the budget; the threshold is " (percent(alert.threshold)) ". Raised " (timestamp(alert.at)) ". "
                a href=(link("/requests", &[("since", Some(&since(alert))), ("only", Some(Notable::Oversized.name()))])) { "Show requests" }
            }
        }
    }
}

/// Returns the start of the window that raised the alert.
fn since(alert: &AlertChanged) -> String {
    rfc3339(alert.at.saturating_sub(alert.window.as_micros() as u64))
}

pub(super) fn window_length(alert: &AlertChanged) -> String {
    match alert.window.as_secs() {
        seconds if seconds >= 60 => plural(seconds / 60, "minute", "minutes"),
        _ => duration(alert.window),
    }
}

/// Renders the findings, the most frequent first, each with the time of its last request.
pub(super) fn list(reader: &Reader, traffic: &[Traffic], selection: &Selection) -> Result<Markup, ReadError> {
    let mut findings: Vec<Finding<'_>> = traffic.iter().flat_map(findings_of).collect();
    for traffic in traffic {
        findings.extend(unshaped(reader, traffic, selection)?);
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    let more = findings.len().saturating_sub(MAX_FINDINGS);
    findings.truncate(MAX_FINDINGS);
    let mut lines = Vec::new();
    for finding in &findings {
        let selection = requests_behind(finding.traffic, finding.condition, selection);
        let last = selection.list(reader)?.records.first().map(|record| record.at);
        lines.push(line(finding, last, &selection.link("/requests")));
    }
    Ok(html! {
        section.standing aria-labelledby="standing" {
            h2 #standing { "Findings" }
            @if lines.is_empty() {
                p.quiet { "None: no errors, no expired cursors, no oversized payloads without shaping." }
            } @else {
                ul {
                    @for line in &lines { (line) }
                }
                @if more > 0 { p.quiet { (more) " more are in the table of endpoints." } }
            }
        }
    })
}

/// Renders a finding. `last` is the time of its last request, in microseconds since 1970.
fn line(finding: &Finding<'_>, last: Option<u64>, href: &str) -> Markup {
    html! {
        li {
            a href=(href) { (display_name(&finding.traffic.endpoint)) }
            span.what { (finding.what) }
            span.quiet { @if let Some(last) = last { "last " (timestamp(last)) } }
            span.why { (finding.why) }
        }
    }
}

fn findings_of(traffic: &Traffic) -> Vec<Finding<'_>> {
    let stats = &traffic.stats;
    let finding = |what, why, condition, weight| Finding { traffic, what, why, condition, weight };
    let mut found = Vec::new();
    for (outcome, what) in [
        (Outcome::Expired, "expired cursor|expired cursors"),
        (Outcome::Refused, "refused request|refused requests"),
        (Outcome::Capped, "reply cut at the byte limit|replies cut at the byte limit"),
    ] {
        let count = stats.of(outcome);
        if count > 0 {
            let (one, several) = what.split_once('|').unwrap_or_default();
            found.push(finding(plural(count, one, several), brief(outcome), (Some(outcome), None), count));
        }
    }
    let own_errors = stats.of(Outcome::Expired) + stats.of(Outcome::Refused);
    let upstream_errors = stats.errors.saturating_sub(own_errors);
    if upstream_errors > 0 {
        let what = plural(upstream_errors, "upstream error", "upstream errors");
        found.push(finding(
            what,
            "Upstream error, passed on.",
            (None, Some(Notable::Errors)),
            upstream_errors,
        ));
    }
    found
}

/// Finds oversized payloads that were not shaped, if their share exceeds the default alert threshold.
fn unshaped<'a>(
    reader: &Reader,
    traffic: &'a Traffic,
    selection: &Selection,
) -> Result<Option<Finding<'a>>, ReadError> {
    let stats = &traffic.stats;
    let above = |count: u64| count as f64 > DEFAULT_SHARE * stats.sized as f64;
    if !above(stats.oversized.min(stats.of(Outcome::Unshaped))) {
        return Ok(None);
    }
    let condition = (Some(Outcome::Unshaped), Some(Notable::Oversized));
    let filter =
        Filter { limit: Some(MAX_CHECKED), ..requests_behind(traffic, condition, selection).filter() };
    let (of, oversized) = reader.count_notable(&filter, Notable::Oversized)?;
    let (what, weight) = if of < MAX_CHECKED as u64 {
        let payloads = plural(oversized, "oversized payload", "oversized payloads");
        (format!("{payloads}, not shaped"), oversized)
    } else {
        let likely = (oversized as f64 / of as f64 * stats.of(Outcome::Unshaped) as f64) as u64;
        (format!("{oversized} of the last {of} unshaped payloads were oversized"), likely)
    };
    let why = "Shaping is off: the model received the whole payloads.";
    Ok(above(weight).then_some(Finding { traffic, what, why, condition, weight }))
}

/// Selects the last request behind a finding.
fn requests_behind(traffic: &Traffic, (outcome, notable): Condition, selection: &Selection) -> Selection {
    let of = Some(traffic.endpoint.clone());
    Selection { endpoint: None, of, outcome, notable, error: None, limit: 1, ..selection.clone() }
}

/// Returns a one-sentence explanation.
fn brief(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Expired => "Their results had expired, so the model could not read on.",
        _ => format::outcome(outcome.name()),
    }
}
