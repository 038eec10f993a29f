//! Page of one request: sizes, processing steps, facts and follow-ups.

use maud::{Markup, html};
use portion_core::error_code::ErrorCode;
use portion_core::event::{ConfigApplied, Outcome};
use portion_telemetry::read::Record;
use portion_telemetry::show::grouped;

use super::format::{
    self, bytes, count_or_dash, duration, elapsed, endpoint_link, percent, plural, term, timestamp,
};
use super::frame::{Frame, NavItem};
use super::{Failure, PageRequest, changes, display_name, requests};
use crate::answer::Answer;
use crate::query::{Range, hex_number, link};
use crate::selection::{self, Selection};

pub(super) fn page(request: &PageRequest<'_>, id: &str) -> Result<Answer, Failure> {
    let reader = &request.reader;
    let unknown = Failure::NotFound("No request with that id is recorded; old records are deleted.");
    let Some(number) = hex_number(id, 32) else { return Err(unknown) };
    let Some((record, mut related)) = selection::find_request(reader, number)? else { return Err(unknown) };
    let record = &record;
    related.reverse();
    let range = &request.selection.range;
    let configured = reader.configured(record.config, record.at)?;
    let content = html! {
        p.above {
            (endpoint_link(&record.endpoint, range)) " · "
            a href=(request.selection.link("/requests")) { (list_title(&request.selection)) }
        }
        h1 { "Request of " (timestamp(record.at)) }
        (what_happened(record, &request.selection))
        (sizes(record, &related))
        div.columns {
            section aria-labelledby="steps" {
                h2 #steps { "Processing steps" }
                (steps(record))
            }
            section aria-labelledby="facts" {
                h2 #facts { "Facts" }
                (facts(record, &configured))
            }
        }
        section aria-labelledby="followups" {
            h2 #followups { "Requests on the same result" }
            (follow_ups(record, &related, &request.selection))
        }
    };
    let frame = Frame { title: "Request", nav: NavItem::Within, path: "", range: Some(range), extra: &[] };
    Ok(Answer::page(200, frame.render(&content)))
}

/// Returns the text of the link back to the list.
fn list_title(selection: &Selection) -> String {
    let of = selection.of.as_ref().map(display_name).or_else(|| selection.endpoint.clone());
    let [.., (_, outcome), (_, only), (_, error)] = selection.which();
    let which: Vec<&str> = [of.as_deref(), outcome, only, error].into_iter().flatten().collect();
    if which.is_empty() { "All requests".to_owned() } else { format!("Requests: {}", which.join(", ")) }
}

fn what_happened(record: &Record, selection: &Selection) -> Markup {
    html! {
        p.lead { (requests::outcome(&record.outcome)) " " (format::outcome(&record.outcome)) }
        @if let Some(error) = record.error.as_deref().filter(|error| *error != ErrorCode::CursorExpired.name()) {
            p.lead.error { code { (requests::error_link(error, selection)) } " " (format::error(error)) }
        }
    }
}

/// Renders payload, reply and budget as bars on one scale. For a follow-up, the payload is that of its first call.
fn sizes(record: &Record, related: &[Record]) -> Markup {
    let source = related.iter().find(|one| record.follow_up && !one.follow_up).unwrap_or(record);
    let (payload, served) =
        (source.payload_tokens().unwrap_or_default(), record.served_tokens().unwrap_or_default());
    let max = payload.max(served).max(record.budget.unwrap_or_default()).max(1);
    let wide = |tokens: u64| format!("{:.2}%", tokens as f64 / max as f64 * 100.0);
    // A refused request was not sent to the server, or its result was not served.
    let no_result = source.payload_tokens().is_none() && source.original_bytes == 0;
    let came = if record.follow_up { "Result it reads from" } else { "From the server" };
    let items = |items: Option<u64>| {
        items.map_or_else(String::new, |items| format!(", {}", plural(items, "item", "items")))
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
                    @if class == "came" && no_result { "no result" }
                    @else { strong { (count_or_dash(tokens)) } " tokens, " (bytes(size)) (items) }
                }
            }
            @if let Some(budget) = record.budget {
                dt { "Token budget" }
                dd {
                    svg.bar.budget aria-hidden="true" { rect width=(wide(budget)) height="100%" {} }
                    strong { (grouped(budget)) } " tokens"
                    @if let Some(reduced) = requests::reduction(record).filter(|reduced| *reduced > 0.0) {
                        " · " (percent(reduced)) " kept out, " (plural(payload.saturating_sub(served), "token", "tokens"))
                    }
                }
            }
        }
    }
}

fn steps(record: &Record) -> Markup {
    html! {
        p { (reduction_text(record)) }
        @if !record.stages.is_empty() {
            ol.steps {
                @for step in &record.stages { li { code { (step) } " " (format::step(step)) } }
            }
        }
        @if let Some(shadow) = &record.shadow {
            p { "Shadow experiment: shaping would have produced " (requests::outcome(&shadow.outcome)) " with "
                (plural(shadow.tokens, "token", "tokens")) ", in " (duration(shadow.overhead)) "." }
        }
    }
}

/// Describes what the reply leaves out.
fn reduction_text(record: &Record) -> String {
    if record.error.is_some() {
        return "Nothing was cut: the reply is an error.".to_owned();
    }
    let counts = record.items.zip(record.total_items).filter(|(items, total)| items < total);
    match Outcome::from_name(&record.outcome) {
        Some(Outcome::Untouched) => "Nothing was cut: the payload was small enough.".to_owned(),
        Some(Outcome::Unshaped) => "Nothing was cut: shaping is off for this endpoint.".to_owned(),
        Some(Outcome::Paginated) => match counts {
            Some((items, total)) => {
                format!("{} of {} were served: a page.", grouped(items), plural(total, "item", "items"))
            }
            None => "All items were served.".to_owned(),
        },
        Some(Outcome::Chunked) if record.follow_up => "A part of the text was served.".to_owned(),
        Some(Outcome::Chunked) => "The first chunk of the text was served.".to_owned(),
        Some(Outcome::Summarized) => "A summary was served instead.".to_owned(),
        Some(Outcome::Queried) => "The result of the query was served.".to_owned(),
        Some(Outcome::Projected) => "The requested fields, section or path were served.".to_owned(),
        Some(Outcome::Raw) => "The requested bytes were served.".to_owned(),
        Some(Outcome::Capped) => "The reply was cut at the byte limit.".to_owned(),
        _ => "Not known.".to_owned(),
    }
}

fn facts(record: &Record, configured: &[ConfigApplied]) -> Markup {
    let around = Range::around(record.at);
    let share =
        (!record.latency.is_zero()).then(|| record.overhead.as_secs_f64() / record.latency.as_secs_f64());
    let session = link(&format!("/sessions/{:016x}", record.session), &around.parameters());
    html! {
        dl.facts {
            dt { (term("Latency")) }
            dd { (duration(record.latency)) ", " (duration(record.overhead)) " of it added by Portion" @if let Some(share) = share { " (" (percent(share)) ")" } }
            dt { "Form" }
            dd { (record.form.as_deref().unwrap_or("–")) }
            dt { "Arguments" }
            dd { @if record.arguments.is_empty() { "none" } @else { @for name in &record.arguments { code { (name) } " " } } }
            dt { "Session" }
            dd { a href=(session) { code { (format!("{:016x}", record.session)) } } }
            @if let Some(client) = &record.client { dt { (term("Client")) } dd { (client) } }
            dt { "Configuration" }
            dd {
                @if configured.is_empty() { "version " (record.config) }
                // The record does not name the file, so all files with that version are listed.
                @for (at, one) in configured.iter().enumerate() {
                    @if at > 0 { ", or " }
                    a href=(changes::link_to(one)) { "version " (record.config) " of " (one.source) }
                }
            }
            @if !record.counter.is_empty() {
                dt { "Counter" }
                dd { (record.counter) @if let Some(actual) = record.actual_tokens { ", exactly: " (grouped(actual)) } }
            }
            @if let Some(arm) = &record.arm { dt { "Experiment" } dd { "arm " (arm) } }
            @if let Some(trace) = record.trace { dt { "Trace" } dd { code { (format!("{:032x}", trace.id)) } } }
            dt { "Request id" }
            dd { code { (format!("{:032x}", record.request)) } }
        }
    }
}

/// Renders the requests on the same payload, the oldest first.
fn follow_ups(record: &Record, related: &[Record], selection: &Selection) -> Markup {
    let failed = related.iter().filter(|one| one.follow_up && one.error.is_some()).count() as u64;
    let made = related.iter().filter(|one| one.follow_up).count() as u64;
    let before = related.iter().take_while(|one| one.request != record.request).last();
    let expired = record.error.as_deref() == Some(ErrorCode::CursorExpired.name());
    html! {
        @if related.len() < 2 {
            p.quiet {
                @if record.follow_up { "The first request of this follow-up is not recorded, or was deleted." }
                @else { "No follow-ups." }
            }
        } @else {
            p { (plural(made, "follow-up was", "follow-ups were")) " made"
                @if failed > 0 { ", " strong.alarm { (failed) " failed" } } "."
                @if let Some(before) = before.filter(|_| expired) {
                    " This one came " (elapsed(record.at.saturating_sub(before.at))) " after the previous one. The result was no longer kept: its time was
                    over (snapshotTtl), it made room for others (snapshotMemory), or Portion had been restarted."
                }
                @if related.len() == selection::MAX_RELATED { " Only the newest " (grouped(selection::MAX_RELATED as u64)) " are shown." }
            }
            (requests::table(related, selection, Some(record.request)))
        }
    }
}
