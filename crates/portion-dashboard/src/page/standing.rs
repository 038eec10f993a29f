//! What stands out in some time: what went wrong, or is unlike what it should be, by endpoint.

use maud::{Markup, html};
use portion_core::event::Alerted;
use portion_core::event::Outcome;
use portion_telemetry::alert::USUAL;
use portion_telemetry::read::{Noted, ReadError, Reader, Traffic, exactly};

use super::told::{counted, moment, percent, took};
use super::words;
use crate::asked::Asked;
use crate::query::link;
use crate::range::Range;

/// Lines that are shown.
const MOST: usize = 5;

/// Something that stands out.
struct Finding<'a> {
    traffic: &'a Traffic,
    /// What it is.
    what: String,
    why: &'static str,
    /// The requests behind it.
    which: (&'static str, &'static str),
    /// How many: the more, the further up.
    weight: u64,
}

/// An alert stands.
pub(super) fn banner(alerts: &[Alerted], range: &Range) -> Markup {
    html! {
        @for alert in alerts {
            div.banner role="alert" {
                strong { "Oversized attempts: " (percent(alert.share)) }
                " of " (counted(alert.requests, "request", "requests")) " in " (took_minutes(alert))
                " were above their budget; the line is " (percent(alert.threshold)) ". Raised " (moment(alert.at)) ". "
                a href=(link("/requests", &with(range, &[("only", Some(Noted::Oversized.name()))]))) { "The requests" }
            }
        }
    }
}

pub(super) fn took_minutes(alert: &Alerted) -> String {
    match alert.window.as_secs() {
        seconds if seconds >= 60 => counted(seconds / 60, "minute", "minutes"),
        _ => took(alert.window),
    }
}

/// What stands out of this traffic, the most frequent first, each with when it was so last.
pub(super) fn list(reader: &Reader, traffic: &[Traffic], asked: &Asked) -> Result<Markup, ReadError> {
    let range = &asked.range;
    let mut findings: Vec<Finding<'_>> = traffic.iter().flat_map(of).collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.weight));
    let more = findings.len().saturating_sub(MOST);
    findings.truncate(MOST);
    let lines = findings.iter().map(|finding| Ok(line(finding, last(reader, finding, asked)?, range)));
    let lines = lines.collect::<Result<Vec<_>, ReadError>>()?;
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

/// When it was so last, in microseconds since 1970.
fn last(reader: &Reader, finding: &Finding<'_>, asked: &Asked) -> Result<Option<u64>, ReadError> {
    let (name, value) = finding.which;
    let asked = Asked {
        endpoint: Some(exactly(&finding.traffic.endpoint.to_string())),
        outcome: Outcome::named(value).filter(|_| name == "outcome"),
        noted: Noted::named(value).filter(|_| name == "only"),
        limit: 1,
        ..asked.clone()
    };
    Ok(asked.list(reader)?.records.first().map(|record| record.at))
}

fn line(finding: &Finding<'_>, last: Option<u64>, range: &Range) -> Markup {
    let endpoint = exactly(&finding.traffic.endpoint.to_string());
    let href = link(
        "/requests",
        &with(range, &[("endpoint", Some(&endpoint)), (finding.which.0, Some(finding.which.1))]),
    );
    html! {
        li {
            a href=(href) { (finding.traffic.endpoint) }
            span.what { (finding.what) }
            span.quiet { @if let Some(last) = last { "last " (moment(last)) } }
            span.why { (finding.why) }
        }
    }
}

fn of(traffic: &Traffic) -> Vec<Finding<'_>> {
    let figures = &traffic.figures;
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
            found.push(finding(
                counted(count, one, several),
                brief(outcome),
                ("outcome", outcome.name()),
                count,
            ));
        }
    }
    let ours = figures.of(Outcome::Expired) + figures.of(Outcome::Refused);
    let theirs = figures.errors.saturating_sub(ours);
    if theirs > 0 {
        let what = counted(theirs, "error of the server", "errors of the server");
        found.push(finding(
            what,
            "It answered so itself; Portion passed it on.",
            ("only", Noted::Errors.name()),
            theirs,
        ));
    }
    let oversized =
        figures.oversized_share().filter(|share| *share > USUAL && figures.of(Outcome::Unshaped) > 0);
    if let Some(share) = oversized {
        let what = format!("{} oversized, not shaped", percent(share));
        let why = "Shaping is off for some of it: the model got that whole.";
        found.push(finding(what, why, ("only", Noted::Oversized.name()), figures.oversized));
    }
    found
}

/// The first sentence of what it means.
fn brief(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Expired => "What they led to was no longer kept: the model could not read on.",
        _ => words::outcome(outcome.name()),
    }
}

fn with<'a>(
    range: &'a Range,
    more: &[(&'static str, Option<&'a str>)],
) -> Vec<(&'static str, Option<&'a str>)> {
    let mut parameters = range.parameters().to_vec();
    parameters.extend(more);
    parameters
}
