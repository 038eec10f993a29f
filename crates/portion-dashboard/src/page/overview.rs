//! Overview: the start page.

use maud::html;

use super::frame::{Frame, NavItem};
use super::{Failure, PageRequest, changes, charts, endpoints, findings, notice, summary, term};
use crate::answer::Answer;
use crate::range::micros;

pub(super) fn page(request: &PageRequest<'_>) -> Result<Answer, Failure> {
    let PageRequest { reader, selection, query, token_price, lost, now } = request;
    let range = &selection.range;
    let filter = selection.range.filter();
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
    let content = html! {
        h1.unseen { "Overview" }
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
    let extra = [("sort", query.get("sort")), ("order", query.get("order"))];
    let frame =
        Frame { title: "Overview", nav: NavItem::Overview, path: "/", range: Some(range), extra: &extra };
    Ok(Answer::page(200, frame.render(&content)))
}
