//! One request: what came, what was served of it, what made it smaller, what was asked afterwards.

use maud::{Markup, html};
use portion_core::event::{Configured, Outcome};
use portion_telemetry::read::Record;
use portion_telemetry::show::grouped;

use super::frame::{Frame, Place};
use super::told::{bytes, counted, maybe, moment, percent, took, waited};
use super::{Failure, Visit, called, changes, endpoint_link, number, requests, words};
use crate::answer::Answer;
use crate::asked::Asked;
use crate::family;
use crate::query::link;
use crate::range::Range;

pub(super) fn page(visit: &Visit<'_>, id: &str) -> Result<Answer, Failure> {
    let reader = &visit.reader;
    let unknown = Failure::Unknown("No request of that number is recorded; old ones are forgotten.");
    let Some(number) = number(id, 32) else { return Err(unknown) };
    let Some((record, mut family)) = family::found(reader, number)? else { return Err(unknown) };
    let record = &record;
    family.reverse();
    let range = &visit.asked.range;
    let configured = reader.configured(record.config, record.at)?;
    let content = html! {
        p.above {
            (endpoint_link(&record.endpoint, range)) " · "
            a href=(visit.asked.link("/requests")) { (listed(&visit.asked)) }
        }
        h1 { "Request of " (moment(record.at)) }
        (what_happened(record))
        (sizes(record, &family))
        div.columns {
            section aria-labelledby="steps" {
                h2 #steps { "What made it smaller" }
                (steps(record))
            }
            section aria-labelledby="facts" {
                h2 #facts { "Facts" }
                (facts(record, &configured))
            }
        }
        section aria-labelledby="followups" {
            h2 #followups { "Requests of the same result" }
            (follow_ups(record, &family, &visit.asked))
        }
    };
    let frame = Frame { title: "Request", place: Place::Within, path: "", range: Some(range), kept: &[] };
    Ok(Answer::page(200, frame.around(&content)))
}

/// The list that one came from, or may go to.
fn listed(asked: &Asked) -> String {
    let of = asked.of.as_ref().map(called).or_else(|| asked.endpoint.clone());
    let [.., (_, outcome), (_, only)] = asked.which();
    let which: Vec<&str> = [of.as_deref(), outcome, only].into_iter().flatten().collect();
    if which.is_empty() { "All requests".to_owned() } else { format!("Requests: {}", which.join(", ")) }
}

fn what_happened(record: &Record) -> Markup {
    html! {
        p.lead { (requests::outcome(&record.outcome)) " " (words::outcome(&record.outcome)) }
        @if let Some(error) = record.error.as_deref().filter(|error| *error != "cursor_expired") {
            p.lead.error { code { (error) } " " (words::error(error)) }
        }
    }
}

/// What came and what was served, drawn to one scale with what a reply could cost. What a follow-up is about was counted
/// when it came.
fn sizes(record: &Record, family: &[Record]) -> Markup {
    let source = family.iter().find(|one| record.follow_up && !one.follow_up).unwrap_or(record);
    let (payload, served) =
        (source.payload_tokens().unwrap_or_default(), record.served_tokens().unwrap_or_default());
    let most = payload.max(served).max(record.budget.unwrap_or_default()).max(1);
    let wide = |tokens: u64| format!("{:.2}%", tokens as f64 / most as f64 * 100.0);
    let came = if record.follow_up { "The result that it is about" } else { "Came from the server" };
    let items = |items: Option<u64>| {
        items.map_or_else(String::new, |items| format!(", {}", counted(items, "item", "items")))
    };
    html! {
        dl.sizes {
            @for (name, class, tokens, size, items) in [
                (came, "came", source.payload_tokens(), source.original_bytes, items(source.total_items)),
                ("Served to the model", "served", record.served_tokens(), record.response_bytes, items(record.items)),
            ] {
                dt { (name) }
                dd {
                    svg.bar.(class) aria-hidden="true" { rect width=(wide(tokens.unwrap_or_default())) height="100%" {} }
                    strong { (maybe(tokens)) } " tokens, " (bytes(size)) (items)
                }
            }
            @if let Some(budget) = record.budget {
                dt { "A reply could cost" }
                dd {
                    svg.bar.budget aria-hidden="true" { rect width=(wide(budget)) height="100%" {} }
                    strong { (grouped(budget)) } " tokens"
                    @if let Some(kept) = requests::kept_out(record).filter(|kept| *kept > 0.0) {
                        " · " (percent(kept)) " kept out, " (counted(payload.saturating_sub(served), "token", "tokens"))
                    }
                }
            }
        }
    }
}

fn steps(record: &Record) -> Markup {
    html! {
        p { (cut(record)) }
        @if !record.stages.is_empty() {
            ol.steps {
                @for step in &record.stages { li { code { (step) } " " (words::step(step)) } }
            }
        }
        @if let Some(tried) = &record.shadow {
            p { "Beside it, shaping was tried: it would have been " (requests::outcome(&tried.outcome)) " with "
                (counted(tried.tokens, "token", "tokens")) ", made in " (took(tried.overhead)) "." }
        }
    }
}

/// What was left out, if anything was, before any step.
fn cut(record: &Record) -> String {
    if record.error.is_some() {
        return "Nothing: what was served is an error.".to_owned();
    }
    let counts = record.items.zip(record.total_items).filter(|(items, total)| items < total);
    match Outcome::named(&record.outcome) {
        Some(Outcome::Untouched) => "Nothing: it was small enough.".to_owned(),
        Some(Outcome::Unshaped) => "Nothing: shaping is off for it.".to_owned(),
        Some(Outcome::Paginated) => match counts {
            Some((items, total)) => {
                format!("{} of {} were served: a page.", grouped(items), counted(total, "item", "items"))
            }
            None => "All items were served.".to_owned(),
        },
        Some(Outcome::Chunked) if record.follow_up => "A part of the text was served.".to_owned(),
        Some(Outcome::Chunked) => "The first chunk of the text was served.".to_owned(),
        Some(Outcome::Summarized) => "A summary was served in its place.".to_owned(),
        Some(Outcome::Queried) => "What the question asked for was served.".to_owned(),
        Some(Outcome::Projected) => "What was named was served: fields, a section or a path.".to_owned(),
        Some(Outcome::Raw) => "The bytes that were asked for were served.".to_owned(),
        Some(Outcome::Capped) => "The byte limit: the reply ends where that is reached.".to_owned(),
        _ => "Nothing that is known here.".to_owned(),
    }
}

fn facts(record: &Record, configured: &[Configured]) -> Markup {
    let around = Range::around(record.at);
    let share =
        (!record.latency.is_zero()).then(|| record.overhead.as_secs_f64() / record.latency.as_secs_f64());
    let session = link(&format!("/sessions/{:016x}", record.session), &around.parameters());
    html! {
        dl.facts {
            dt { "Latency" }
            dd { (took(record.latency)) ", " (took(record.overhead)) " of it Portion’s" @if let Some(share) = share { " (" (percent(share)) ")" } }
            dt { "Form" }
            dd { (record.form.as_deref().unwrap_or("–")) }
            dt { "Arguments" }
            dd { @if record.arguments.is_empty() { "none" } @else { @for name in &record.arguments { code { (name) } " " } } }
            dt { "Session" }
            dd { a href=(session) { code { (format!("{:016x}", record.session)) } } }
            dt { "Configuration" }
            dd {
                @if configured.is_empty() { "version " (record.config) }
                // Which file it was is not recorded where several have such a version.
                @for (at, one) in configured.iter().enumerate() {
                    @if at > 0 { ", or " }
                    a href=(changes::link_to(one)) { "version " (record.config) " of " (one.source) }
                }
            }
            @if !record.counter.is_empty() {
                dt { "Counted by" }
                dd { (record.counter) @if let Some(actual) = record.actual_tokens { ", exactly: " (grouped(actual)) } }
            }
            @if let Some(arm) = &record.arm { dt { "Experiment" } dd { "arm " (arm) } }
            @if let Some(trace) = record.trace { dt { "Trace" } dd { code { (format!("{:032x}", trace.id)) } } }
            dt { "Number" }
            dd { code { (format!("{:032x}", record.request)) } }
        }
    }
}

/// What goes back to the same payload, in the order in which it was asked.
fn follow_ups(record: &Record, family: &[Record], asked: &Asked) -> Markup {
    let failed = family.iter().filter(|one| one.follow_up && one.error.is_some()).count() as u64;
    let made = family.iter().filter(|one| one.follow_up).count() as u64;
    let before = family.iter().take_while(|one| one.request != record.request).last();
    let expired = record.error.as_deref() == Some("cursor_expired");
    html! {
        @if family.len() < 2 {
            p.quiet {
                @if record.follow_up { "What this follow-up goes back to is not recorded, or no longer." }
                @else { "Nothing was asked of this result afterwards." }
            }
        } @else {
            p { (counted(made, "follow-up was", "follow-ups were")) " made"
                @if failed > 0 { ", " strong.alarm { (failed) " failed" } } "."
                @if let Some(before) = before.filter(|_| expired) {
                    " This one came " (waited(record.at.saturating_sub(before.at))) " after the one before it: the result was kept
                    for less (snapshotTtl), or had to make room for others (snapshotMemory)."
                }
                @if family.len() == family::MOST { " Those before the newest " (grouped(family::MOST as u64)) " are not shown." }
            }
            (requests::table(family, asked, Some(record.request)))
        }
    }
}
