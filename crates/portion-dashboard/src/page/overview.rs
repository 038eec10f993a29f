//! Overview: the start page.

use maud::{Markup, html};
use portion_telemetry::read::Participants;

use super::frame::{Frame, NavItem};
use super::{Failure, PageRequest, changes, charts, endpoints, findings, notice, requests, summary, term};
use crate::answer::Answer;
use crate::range::micros;
use crate::selection::Selection;

pub(super) fn page(request: &PageRequest<'_>) -> Result<Answer, Failure> {
    let PageRequest { reader, selection, query, token_price, lost, now } = request;
    let range = &selection.range;
    let selection = &selection.participants();
    let filter = selection.filter();
    let total = reader.total(&filter)?;
    let traffic = reader.endpoints(&filter)?;
    let events = changes::Events::read(reader, range)?;
    let alerts = reader.active_alerts(micros(*now))?;
    let sort = endpoints::Sort::read(query)?;
    let findings = findings::list(reader, &traffic, selection)?;
    let plotted = charts::ChartData::read(reader, &filter, range)?;
    let summary_context = summary::SummaryContext {
        token_price: *token_price,
        lost: *lost,
        is_alert_raised: !alerts.is_empty(),
    };
    let participants = reader.participants(&range.filter())?;
    let content = html! {
        h1.unseen { "Overview" }
        (form(selection, &participants))
        (findings::banner(&alerts))
        (summary::strip(&total, summary_context))
        @if total.requests == 0 {
            (notice::no_requests())
        } @else {
            (findings)
            (charts::section(&plotted, &events))
        }
        (changes::section(&events, range))
        @if total.requests > 0 { (endpoints::section(&traffic, sort, range)) }
        (term::list())
    };
    let which = selection.which();
    let extra = [which[6], which[7], ("sort", query.get("sort")), ("order", query.get("order"))];
    let frame =
        Frame { title: "Overview", nav: NavItem::Overview, path: "/", range: Some(range), extra: &extra };
    Ok(Answer::page(200, frame.render(&content)))
}

/// Renders the choice of a server and a client. It is left out where there is nothing to choose.
fn form(selection: &Selection, participants: &Participants) -> Markup {
    let range = &selection.range;
    let is_choice = participants.servers.len() > 1 || participants.clients.len() > 1;
    html! {
        @if is_choice || selection.server.is_some() || selection.client.is_some() {
            form.filters action="/" {
                input type="hidden" name="since" value=(range.from);
                @if let Some(to) = &range.to { input type="hidden" name="until" value=(to); }
                (requests::choices(selection, participants))
                button { "Filter" }
            }
        }
    }
}
