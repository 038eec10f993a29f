//! The sessions of some time: where one looks for the thread that a model lost, and for whose it was.

use maud::{Markup, html};
use portion_core::event::Outcome;
use portion_telemetry::read::{Filter, Session, TrafficStats};
use portion_telemetry::show::grouped;

use super::frame::{Frame, Place};
use super::told::{counted, moment, short, waited};
use super::{Failure, Visit, endpoint_link, notice};
use crate::answer::Answer;
use crate::query::{Wrong, link};
use crate::range::Range;

/// Sessions of a page.
const SHOWN: usize = 25;
/// Pages that can be asked for.
const PAGES: usize = 1_000;
/// Endpoints of a session that its row names: the busiest.
const NAMED: usize = 3;

pub(super) fn page(visit: &Visit<'_>) -> Result<Answer, Failure> {
    let range = &visit.asked.range;
    let number = match visit.query.get("page") {
        None => 1,
        Some(text) => text
            .parse()
            .ok()
            .filter(|number| (1..=PAGES).contains(number))
            .ok_or_else(|| Wrong::new("page", format!("it is a number from 1 to {PAGES}")))?,
    };
    // One more tells whether there are more.
    let filter = Filter { limit: Some(SHOWN + 1), ..range.filter() };
    let mut sessions = visit.reader.sessions(&filter, (number - 1) * SHOWN)?;
    let more = sessions.len() > SHOWN;
    sessions.truncate(SHOWN);
    let to = |number: usize| {
        let [since, until] = range.parameters();
        link("/sessions", &[since, until, ("page", Some(&number.to_string()))])
    };
    let content = html! {
        h1 { "Sessions" }
        @if sessions.is_empty() { (notice::quiet()) } @else { (table(&sessions, range)) }
        p {
            @if number > 1 { a href=(to(number - 1)) { "Those after them" } " " }
            @if more { a href=(to(number + 1)) { "Those before them" } }
        }
    };
    let frame =
        Frame { title: "Sessions", place: Place::Sessions, path: "/sessions", range: Some(range), kept: &[] };
    Ok(Answer::page(200, frame.around(&content)))
}

fn table(sessions: &[Session], range: &Range) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Sessions" {
            table.sessions {
                thead { tr {
                    th scope="col" { "Session" }
                    th scope="col" { "From" }
                    th scope="col" { "Endpoints" }
                    th scope="col" { "Errors" }
                    th.n scope="col" { "Lasted" }
                    th.n scope="col" { "Requests" }
                    th.n scope="col" { "Model" }
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
    let more = session.traffic.len().saturating_sub(NAMED);
    html! {
        tr {
            th scope="row" { a href=(link(&format!("/sessions/{id}"), &range.parameters())) { code { (id) } } }
            td data-title="From" { (moment(session.first)) }
            td data-title="Endpoints" {
                ul {
                    @for traffic in session.traffic.iter().take(NAMED) { li { (endpoint_link(&traffic.endpoint, range)) } }
                    @if more > 0 { li.quiet { "and " (grouped(more as u64)) " more" } }
                }
            }
            td data-title="Errors" { (errors(&of)) }
            td.n data-title="Lasted" { (waited(session.last - session.first)) }
            td.n data-title="Requests" {
                (grouped(session.requests))
                @let told = of(|figures| figures.requests);
                @if told < session.requests { div.quiet { "the newest " (grouped(told)) " looked at" } }
            }
            td.n data-title="Model" { (short(of(|figures| figures.served_tokens))) }
        }
    }
}

/// Cursors that led nowhere, and what was refused, apart: what they call for is not the same.
fn errors(of: &dyn Fn(fn(&TrafficStats) -> u64) -> u64) -> Markup {
    let (expired, refused) =
        (of(|figures| figures.of(Outcome::Expired)), of(|figures| figures.of(Outcome::Refused)));
    let others = of(|figures| figures.errors).saturating_sub(expired + refused);
    let told = [(expired, "expired"), (refused, "refused")];
    html! {
        @for (count, what) in told {
            @if count > 0 { div.alarm { (grouped(count)) " " (what) } }
        }
        @if others > 0 { div.alarm { (counted(others, "error of the server", "errors of the server")) } }
    }
}
