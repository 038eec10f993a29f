//! Page of one endpoint: statistics, charts and requests.

use maud::{Markup, html};
use portion_core::event::Outcome;
use portion_telemetry::read::TrafficStats;
use portion_telemetry::show::grouped;

use super::frame::{Frame, NavItem};
use super::{
    Failure, PageRequest, changes, charts, display_name, endpoint_at, notice, overview, path_of, requests,
    term,
};
use crate::answer::Answer;
use crate::query::link;
use crate::selection::Selection;

/// Number of requests shown.
const MAX_SHOWN: usize = 25;

pub(super) fn page(request: &PageRequest<'_>, path: &str) -> Result<Answer, Failure> {
    let PageRequest { reader, selection, lost, token_price, .. } = request;
    let endpoint = endpoint_at(path).ok_or(Failure::NotFound("There is no such page."))?;
    let name = display_name(&endpoint);
    let path = format!("/endpoints/{}", path_of(&endpoint));
    let above = format!("Endpoint, a {}", endpoint.kind);
    let all = Selection { endpoint: None, of: Some(endpoint), outcome: None, ..selection.clone() };
    let range = &all.range;
    let total = reader.total(&all.filter())?;
    let data = charts::ChartData::read(reader, &all.filter(), range)?;
    let events = changes::Events::read(reader, range)?;
    let shown =
        Selection { outcome: selection.outcome, notable: selection.notable, limit: MAX_SHOWN, ..all.clone() };
    let page = shown.list(reader)?;
    let summary_context =
        overview::SummaryContext { token_price: *token_price, lost: *lost, is_alert_raised: false };
    let content = html! {
        p.above { (above) }
        h1 { (name) }
        (overview::strip(&total, summary_context))
        @if total.requests == 0 {
            (notice::no_requests())
        } @else {
            (charts::section(&data, &events))
            section aria-labelledby="requests" {
                h2 #requests { "Requests" }
                (outcomes(&total, &path, &shown))
                (requests::table(&page.records, &shown, None))
                @if page.older_than.is_some() {
                    p { a href=(shown.link("/requests")) { "More requests" } }
                }
            }
        }
        (changes::section(&events, range))
        (term::list())
    };
    let frame = Frame { title: &name, nav: NavItem::Within, path: &path, range: Some(range), extra: &[] };
    Ok(Answer::page(200, frame.render(&content)))
}

/// Renders the outcomes as filter links.
fn outcomes(total: &TrafficStats, path: &str, shown: &Selection) -> Markup {
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
