//! One endpoint: its figures, its charts, its requests.

use maud::{Markup, html};
use portion_core::event::Outcome;
use portion_telemetry::read::TrafficStats;
use portion_telemetry::show::grouped;

use super::frame::{Frame, Place};
use super::{Failure, Visit, called, changes, charts, endpoint_at, figures, notice, path_of, requests};
use crate::answer::Answer;
use crate::asked::Asked;
use crate::query::link;

/// Requests that it shows.
const SHOWN: usize = 25;

pub(super) fn page(visit: &Visit<'_>, path: &str) -> Result<Answer, Failure> {
    let Visit { reader, asked, lost, .. } = visit;
    let endpoint = endpoint_at(path).ok_or(Failure::Unknown("There is no such page."))?;
    let name = called(&endpoint);
    let path = format!("/endpoints/{}", path_of(&endpoint));
    let above = format!("Endpoint, a {}", endpoint.kind);
    let all = Asked { endpoint: None, of: Some(endpoint), outcome: None, ..asked.clone() };
    let range = &all.range;
    let total = reader.total(&all.filter())?;
    let plotted = charts::Plotted::read(reader, &all.filter(), range)?;
    let events = changes::Events::read(reader, range)?;
    let shown = Asked { outcome: asked.outcome, noted: asked.noted, limit: SHOWN, ..all.clone() };
    let listed = shown.list(reader)?;
    let content = html! {
        p.above { (above) }
        h1 { (name) }
        (figures::strip(&total, *lost))
        @if total.requests == 0 {
            (notice::quiet())
        } @else {
            (charts::section(&plotted, &events))
            section aria-labelledby="requests" {
                h2 #requests { "Requests" }
                (outcomes(&total, &path, &shown))
                (requests::table(&listed.records, &shown, None))
                @if listed.rest.is_some() {
                    p { a href=(shown.link("/requests")) { "More of them" } }
                }
            }
        }
        (changes::section(&events, range))
    };
    let frame = Frame { title: &name, place: Place::Within, path: &path, range: Some(range), kept: &[] };
    Ok(Answer::page(200, frame.around(&content)))
}

/// Its outcomes, each a filter.
fn outcomes(total: &TrafficStats, path: &str, shown: &Asked) -> Markup {
    let [since, until] = shown.range.parameters();
    let to = |outcome: Option<Outcome>| {
        link(path, &[since, until, ("outcome", outcome.map(Outcome::name))]) + "#requests"
    };
    let here = |outcome| (shown.outcome == outcome).then_some("true");
    html! {
        ul.chips aria-label="Outcomes" {
            li { a href=(to(None)) aria-current=[here(None)] { "all " span.n { (grouped(total.requests)) } } }
            @for outcome in Outcome::ALL {
                @if total.of(outcome) > 0 {
                    li { a href=(to(Some(outcome))) aria-current=[here(Some(outcome))] {
                        (requests::outcome(outcome.name())) " " span.n { (grouped(total.of(outcome))) }
                    } }
                }
            }
        }
    }
}
