//! One endpoint: its figures, its charts, its requests.

use maud::{Markup, html};
use portion_core::event::Outcome;
use portion_telemetry::read::Figures;
use portion_telemetry::show::grouped;

use super::frame::{Frame, Place};
use super::{Failure, Visit, changes, charts, figures, notice, requests};
use crate::answer::Answer;
use crate::asked::Asked;
use crate::query::{encoded, link};

/// Requests that it shows.
const SHOWN: usize = 25;

/// `name`: as a filter has it, `*` is anything.
pub(super) fn page(visit: Visit<'_>, name: &str) -> Result<Answer, Failure> {
    let Visit { reader, asked, lost, .. } = visit;
    let all = Asked { endpoint: Some(name.to_owned()), outcome: None, ..asked.clone() };
    let range = &all.range;
    let total = reader.total(&all.filter())?;
    let plotted = charts::Plotted::read(&reader, &all.filter(), range)?;
    let events = changes::Events::read(&reader, range)?;
    let shown = Asked { outcome: asked.outcome, noted: asked.noted, limit: SHOWN, ..all.clone() };
    let listed = shown.list(&reader)?;
    let plain = name.replace("[*]", "*").replace("[?]", "?").replace("[[]", "[");
    let path = format!("/endpoints/{}", encoded(name));
    let content = html! {
        p.above { "Endpoint" }
        h1 { (plain) }
        (figures::strip(&total, lost))
        @if total.requests == 0 {
            (notice::quiet())
        } @else {
            (charts::section(&plotted, &events))
            section aria-labelledby="requests" {
                h2 #requests { "Requests" }
                (outcomes(&total, &path, &shown))
                (requests::table(&listed.records, range, None))
                @if listed.rest.is_some() {
                    p { a href=(requests::more(&Asked { limit: 100, ..shown.clone() })) { "More of them" } }
                }
            }
        }
        (changes::section(&events, range))
    };
    let frame = Frame { title: &plain, place: Place::Within, path: &path, range: Some(range), kept: &[] };
    Ok(Answer::page(200, frame.around(&content)))
}

/// Its outcomes, each a filter.
fn outcomes(total: &Figures, path: &str, shown: &Asked) -> Markup {
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
