//! All of it: the page that one begins at.

use maud::html;

use super::frame::{Frame, Place};
use super::{Failure, Visit, changes, charts, endpoints, figures, notice, standing};
use crate::answer::Answer;
use crate::range::micros;

pub(super) fn page(visit: &Visit<'_>) -> Result<Answer, Failure> {
    let Visit { reader, asked, query, lost, now } = visit;
    let range = &asked.range;
    let filter = asked.range.filter();
    let total = reader.total(&filter)?;
    let traffic = reader.endpoints(&filter)?;
    let events = changes::Events::read(reader, range)?;
    let alerts = reader.active_alerts(micros(*now))?;
    let sort = endpoints::Sort::read(query)?;
    let standing = standing::list(reader, &traffic, asked)?;
    let plotted = charts::Plotted::read(reader, &filter, range)?;
    let content = html! {
        h1.unseen { "Overview" }
        (standing::banner(&alerts))
        (figures::strip(&total, *lost))
        @if total.requests == 0 {
            (notice::quiet())
        } @else {
            (standing)
            (charts::section(&plotted, &events))
        }
        (changes::section(&events, range))
        @if total.requests > 0 { (endpoints::section(&traffic, sort, range)) }
    };
    let kept = [("sort", query.get("sort")), ("order", query.get("order"))];
    let frame =
        Frame { title: "Overview", place: Place::Overview, path: "/", range: Some(range), kept: &kept };
    Ok(Answer::page(200, frame.around(&content)))
}
