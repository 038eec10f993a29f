//! What stands out in some time: what went wrong, or is unlike what it should be, by endpoint.

use maud::{Markup, html};
use portion_core::event::Alerted;
use portion_core::event::Outcome;
use portion_telemetry::alert::DEFAULT_SHARE;
use portion_telemetry::read::{Filter, Notable, ReadError, Reader, Traffic};
use portion_telemetry::timestamp::rfc3339;

use super::told::{counted, moment, percent, took};
use super::{called, words};
use crate::asked::Asked;
use crate::query::link;

/// Lines that are shown.
const MOST: usize = 5;
/// Requests of an endpoint that were not shaped, of which those that are too large are counted: the newest.
const COUNTED: usize = 100;

/// Something that stands out.
struct Finding<'a> {
    traffic: &'a Traffic,
    /// What it is.
    what: String,
    why: &'static str,
    /// The requests behind it.
    which: Which,
    /// How many: the more, the further up.
    weight: u64,
}

/// What became of requests, and how they stand out.
type Which = (Option<Outcome>, Option<Notable>);

/// An alert stands.
pub(super) fn banner(alerts: &[Alerted]) -> Markup {
    html! {
        @for alert in alerts {
            div.banner role="alert" {
                strong { "Oversized attempts: " (percent(alert.share)) }
                " of " (counted(alert.requests, "request", "requests")) " in " (took_minutes(alert))
                " were above their budget; the line is " (percent(alert.threshold)) ". Raised " (moment(alert.at)) ". "
                a href=(link("/requests", &[("since", Some(&since(alert))), ("only", Some(Notable::Oversized.name()))])) { "The requests" }
            }
        }
    }
}

/// Since when requests raised it.
fn since(alert: &Alerted) -> String {
    rfc3339(alert.at.saturating_sub(alert.window.as_micros() as u64))
}

pub(super) fn took_minutes(alert: &Alerted) -> String {
    match alert.window.as_secs() {
        seconds if seconds >= 60 => counted(seconds / 60, "minute", "minutes"),
        _ => took(alert.window),
    }
}

/// What stands out of this traffic, the most frequent first, each with when it was so last.
pub(super) fn list(reader: &Reader, traffic: &[Traffic], asked: &Asked) -> Result<Markup, ReadError> {
    let mut findings: Vec<Finding<'_>> = traffic.iter().flat_map(of).collect();
    for traffic in traffic {
        findings.extend(unshaped(reader, traffic, asked)?);
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    let more = findings.len().saturating_sub(MOST);
    findings.truncate(MOST);
    let mut lines = Vec::new();
    for finding in &findings {
        let asked = behind(finding.traffic, finding.which, asked);
        let last = asked.list(reader)?.records.first().map(|record| record.at);
        lines.push(line(finding, last, &asked.link("/requests")));
    }
    Ok(html! {
        section.standing aria-labelledby="standing" {
            h2 #standing { "What stands out" }
            @if lines.is_empty() {
                p.quiet { "Nothing: no errors, no cursors that led nowhere, nothing oversized that was not shaped." }
            } @else {
                ul {
                    @for line in &lines { (line) }
                }
                @if more > 0 { p.quiet { "And " (more) " more; the table of endpoints has them." } }
            }
        }
    })
}

/// `last`: when it was so last, in microseconds since 1970.
fn line(finding: &Finding<'_>, last: Option<u64>, href: &str) -> Markup {
    html! {
        li {
            a href=(href) { (called(&finding.traffic.endpoint)) }
            span.what { (finding.what) }
            span.quiet { @if let Some(last) = last { "last " (moment(last)) } }
            span.why { (finding.why) }
        }
    }
}

fn of(traffic: &Traffic) -> Vec<Finding<'_>> {
    let figures = &traffic.stats;
    let finding = |what, why, which, weight| Finding { traffic, what, why, which, weight };
    let mut found = Vec::new();
    for (outcome, what) in [
        (Outcome::Expired, "cursor that led nowhere|cursors that led nowhere"),
        (Outcome::Refused, "request refused|requests refused"),
        (Outcome::Capped, "reply cut by bytes alone|replies cut by bytes alone"),
    ] {
        let count = figures.of(outcome);
        if count > 0 {
            let (one, several) = what.split_once('|').unwrap_or_default();
            found.push(finding(counted(count, one, several), brief(outcome), (Some(outcome), None), count));
        }
    }
    let ours = figures.of(Outcome::Expired) + figures.of(Outcome::Refused);
    let theirs = figures.errors.saturating_sub(ours);
    if theirs > 0 {
        let what = counted(theirs, "error of the server", "errors of the server");
        found.push(finding(
            what,
            "It answered so itself; Portion passed it on.",
            (None, Some(Notable::Errors)),
            theirs,
        ));
    }
    found
}

/// What was oversized and not shaped, where that is more than there should be.
fn unshaped<'a>(
    reader: &Reader,
    traffic: &'a Traffic,
    asked: &Asked,
) -> Result<Option<Finding<'a>>, ReadError> {
    let figures = &traffic.stats;
    let above = |count: u64| count as f64 > DEFAULT_SHARE * figures.sized as f64;
    if !above(figures.oversized.min(figures.of(Outcome::Unshaped))) {
        return Ok(None);
    }
    let which = (Some(Outcome::Unshaped), Some(Notable::Oversized));
    let filter = Filter { limit: Some(COUNTED), ..behind(traffic, which, asked).filter() };
    let (of, oversized) = reader.count_notable(&filter, Notable::Oversized)?;
    let (what, weight) = if of < COUNTED as u64 {
        let payloads = counted(oversized, "oversized payload", "oversized payloads");
        (format!("{payloads}, not shaped"), oversized)
    } else {
        let likely = (oversized as f64 / of as f64 * figures.of(Outcome::Unshaped) as f64) as u64;
        (format!("{oversized} of the last {of} not shaped were oversized"), likely)
    };
    let why = "Shaping is off for them: the model got them whole.";
    Ok(above(weight).then_some(Finding { traffic, what, why, which, weight }))
}

/// What leads to those requests of an endpoint, and to the last of them.
fn behind(traffic: &Traffic, (outcome, noted): Which, asked: &Asked) -> Asked {
    let of = Some(traffic.endpoint.clone());
    Asked { endpoint: None, of, outcome, noted, limit: 1, ..asked.clone() }
}

/// The first sentence of what it means.
fn brief(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Expired => "What they led to was no longer kept: the model could not read on.",
        _ => words::outcome(outcome.name()),
    }
}
