//! Pages of the sessions in a time range, and of one session, request by request.

use maud::{Markup, html};
use portion_core::event::Outcome;
use portion_telemetry::read::{Filter, Record, Session, TrafficStats};
use portion_telemetry::show::grouped;

use super::format::{elapsed, endpoint_link, plural, short, term, timestamp};
use super::frame::{self, Frame, NavItem};
use super::{Failure, PageRequest, requests};
use crate::answer::Answer;
use crate::query::{InvalidParameter, Range, hex_number, link};

/// Sessions per page.
const MAX_SHOWN: usize = 25;
/// Maximum page number.
const PAGES: usize = 1_000;
/// Number of endpoints named per session, the busiest first.
const MAX_NAMED: usize = 3;

pub(super) fn page(request: &PageRequest<'_>) -> Result<Answer, Failure> {
    let range = &request.selection.range;
    let number = match request.query.get("page") {
        None => 1,
        Some(text) => {
            text.parse().ok().filter(|number| (1..=PAGES).contains(number)).ok_or_else(|| {
                InvalidParameter::new("page", format!("expected a number from 1 to {PAGES}"))
            })?
        }
    };
    // One extra session tells whether there are more.
    let filter = Filter { limit: Some(MAX_SHOWN + 1), ..range.filter() };
    let mut sessions = request.reader.sessions(&filter, (number - 1) * MAX_SHOWN)?;
    let more = sessions.len() > MAX_SHOWN;
    sessions.truncate(MAX_SHOWN);
    let to = |number: usize| {
        let [since, until] = range.parameters();
        link("/sessions", &[since, until, ("page", Some(&number.to_string()))])
    };
    let content = html! {
        h1 { "Sessions" }
        @if sessions.is_empty() { (frame::no_requests()) } @else { (table(&sessions, range)) }
        p {
            @if number > 1 { a href=(to(number - 1)) { "Newer" } " " }
            @if more { a href=(to(number + 1)) { "Older" } }
        }
    };
    let frame = Frame {
        title: "Sessions",
        nav: NavItem::Sessions,
        path: "/sessions",
        range: Some(range),
        extra: &[],
    };
    Ok(Answer::page(200, frame.render(&content)))
}

fn table(sessions: &[Session], range: &Range) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Sessions" {
            table.sessions {
                thead { tr {
                    th scope="col" { "Session" }
                    th scope="col" { (term("Client")) }
                    th scope="col" { "From" }
                    th scope="col" { "Endpoints" }
                    th scope="col" { (term("Errors")) }
                    th.n scope="col" { "Lasted" }
                    th.n scope="col" { (term("Requests")) }
                    th.n scope="col" { (term("Model")) }
                } }
                tbody { @for session in sessions { (row(session, range)) } }
            }
        }
    }
}

fn row(session: &Session, range: &Range) -> Markup {
    let id = format!("{:016x}", session.session);
    let of = |count: fn(&TrafficStats) -> u64| {
        session.traffic.iter().map(|traffic| count(&traffic.stats)).sum::<u64>()
    };
    let more = session.traffic.len().saturating_sub(MAX_NAMED);
    html! {
        tr {
            th scope="row" { a href=(link(&format!("/sessions/{id}"), &range.parameters())) { code { (id) } } }
            td data-title="Client" { @if let Some(client) = &session.client { (client) } }
            td data-title="From" { (timestamp(session.first)) }
            td data-title="Endpoints" {
                ul {
                    @for traffic in session.traffic.iter().take(MAX_NAMED) { li { (endpoint_link(&traffic.endpoint, range)) } }
                    @if more > 0 { li.quiet { "and " (grouped(more as u64)) " more" } }
                }
            }
            td data-title="Errors" { (errors(&of)) }
            td.n data-title="Lasted" { @if session.requests > 1 { (elapsed(session.last - session.first)) } @else { "–" } }
            td.n data-title="Requests" {
                (grouped(session.requests))
                @let counted = of(|stats| stats.requests);
                @if counted < session.requests { div.quiet { "details of the newest " (grouped(counted)) } }
            }
            td.n data-title="Model" { (short(of(|stats| stats.served_tokens))) }
        }
    }
}

/// Renders expired cursors, refused requests and upstream errors separately, because their remedies differ.
fn errors(of: &dyn Fn(fn(&TrafficStats) -> u64) -> u64) -> Markup {
    let (expired, refused) = (of(|stats| stats.of(Outcome::Expired)), of(|stats| stats.of(Outcome::Refused)));
    let others = of(|stats| stats.errors).saturating_sub(expired + refused);
    let counted = [(expired, "expired"), (refused, "refused")];
    html! {
        @for (count, what) in counted {
            @if count > 0 { div.alarm { (grouped(count)) " " (what) } }
        }
        @if others > 0 { div.alarm { (plural(others, "upstream error", "upstream errors")) } }
    }
}

/// Maximum number of requests shown of a session.
const MAX_REQUESTS: usize = 500;

/// Renders the page of one session.
pub(super) fn session_page(request: &PageRequest<'_>, id: &str) -> Result<Answer, Failure> {
    let unknown = Failure::NotFound("There is no session with that id.");
    let Some(session) = hex_number(id, 16) else { return Err(unknown) };
    let range = &request.selection.range;
    let filter = Filter { session: Some(session as u64), limit: Some(MAX_REQUESTS), ..range.filter() };
    let mut records = request.reader.requests(&filter)?;
    records.reverse();
    let tokens: u64 = records.iter().filter_map(Record::served_tokens).sum();
    let failed = records.iter().filter(|record| record.error.is_some()).count() as u64;
    let content = html! {
        p.above { a href=(link("/sessions", &range.parameters())) { "Sessions" } }
        h1 { code { (id) } }
        @if let (Some(first), Some(last)) = (records.first(), records.last()) {
            p.lead {
                (plural(records.len() as u64, "request", "requests")) " from " (timestamp(first.at)) " to " (timestamp(last.at))
                ", " strong { (short(tokens)) } " tokens to the model"
                @if let Some(client) = records.iter().rev().find_map(|record| record.client.as_ref()) { ", by " strong { (client) } }
                @if failed > 0 { ", " strong.alarm { (plural(failed, "error", "errors")) } } "."
                @if records.len() == MAX_REQUESTS { " Earlier requests are not shown." }
            }
            (requests::table(&records, &request.selection, None))
        } @else {
            (frame::no_requests())
        }
    };
    let path = format!("/sessions/{id}");
    let frame = Frame { title: "Session", nav: NavItem::Within, path: &path, range: Some(range), extra: &[] };
    Ok(Answer::page(200, frame.render(&content)))
}
