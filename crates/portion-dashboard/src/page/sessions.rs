//! Page of the sessions in a time range.

use maud::{Markup, html};
use portion_core::event::Outcome;
use portion_telemetry::read::{Filter, Session, TrafficStats};
use portion_telemetry::show::grouped;

use super::endpoint_link::endpoint_link;
use super::format::{elapsed, plural, short, timestamp};
use super::frame::{Frame, NavItem};
use super::term::term;
use super::{Failure, PageRequest, notice};
use crate::answer::Answer;
use crate::query::{InvalidParameter, Range, link};

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
        @if sessions.is_empty() { (notice::no_requests()) } @else { (table(&sessions, range)) }
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
