//! Table of endpoints with a selectable order, and the page of one: statistics, charts and requests.

use std::cmp::Ordering;

use maud::{Markup, html};
use portion_core::event::Outcome;
use portion_telemetry::read::{Traffic, TrafficStats};
use portion_telemetry::show::grouped;

use super::format::{self, duration, endpoint_link, meaning, share_or_dash, short};
use super::frame::{self, Frame, NavItem};
use super::{Failure, PageRequest, changes, charts, display_name, endpoint_at, overview, path_of, requests};
use crate::answer::Answer;
use crate::query::{InvalidParameter, Query, Range, link};
use crate::selection::Selection;

/// Number of requests shown.
const MAX_SHOWN: usize = 25;

/// A sortable column.
struct Column {
    key: &'static str,
    title: &'static str,
    cell: fn(&TrafficStats) -> String,
    /// Sort value; rows without one come last.
    value: fn(&TrafficStats) -> Option<f64>,
}

const COLUMNS: [Column; 9] = [
    column("requests", "Requests", |of| grouped(of.requests), |of| Some(of.requests as f64)),
    column("came", "Upstream", |of| short(of.original_tokens), |of| Some(of.original_tokens as f64)),
    column("served", "Model", |of| short(of.served_tokens), |of| Some(of.served_tokens as f64)),
    column("kept", "Kept out", |of| share_or_dash(of.reduction()), TrafficStats::reduction),
    column("oversized", "Oversized", |of| share_or_dash(of.oversized_share()), TrafficStats::oversized_share),
    column(
        "followups",
        "Follow-ups a call",
        |of| of.follow_ups_per_first().map_or_else(|| "–".to_owned(), |number| format!("{number:.2}")),
        TrafficStats::follow_ups_per_first,
    ),
    column("errors", "Errors", |of| grouped(of.errors), |of| Some(of.errors as f64)),
    column("latency", "Latency p95", |of| duration(of.latency.p95), |of| Some(of.latency.p95.as_secs_f64())),
    column("added", "Added p95", |of| duration(of.overhead.p95), |of| Some(of.overhead.p95.as_secs_f64())),
];

const fn column(
    key: &'static str,
    title: &'static str,
    cell: fn(&TrafficStats) -> String,
    value: fn(&TrafficStats) -> Option<f64>,
) -> Column {
    Column { key, title, cell, value }
}

/// Order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sort {
    /// Index of the column. `None` sorts by name.
    column: Option<usize>,
    rising: bool,
}

impl Sort {
    pub(super) fn read(query: &Query) -> Result<Self, InvalidParameter> {
        let column = match query.get("sort") {
            None => Some(0),
            Some("name") => None,
            Some(key) => {
                let keys = || COLUMNS.map(|column| column.key).join(", ");
                let found = COLUMNS.iter().position(|column| column.key == key);
                Some(found.ok_or_else(|| {
                    InvalidParameter::new("sort", format!("expected name or one of {}", keys()))
                })?)
            }
        };
        let rising = match query.get("order") {
            None => column.is_none(),
            Some("up") => true,
            Some("down") => false,
            Some(_) => return Err(InvalidParameter::new("order", "expected up or down")),
        };
        Ok(Self { column, rising })
    }

    fn compare(self, one: &Traffic, other: &Traffic) -> Ordering {
        let names = one.endpoint.cmp(&other.endpoint);
        let turned = |order: Ordering| if self.rising { order } else { order.reverse() };
        let Some(column) = self.column else { return turned(names) };
        let value = COLUMNS[column].value;
        match (value(&one.stats), value(&other.stats)) {
            (Some(one), Some(other)) => turned(one.total_cmp(&other)).then(names),
            (one, other) => other.is_some().cmp(&one.is_some()).then(names),
        }
    }

    /// Returns the `aria-sort` value of a column, and the order that its link selects.
    fn of(self, column: Option<usize>) -> (Option<&'static str>, &'static str) {
        match (self.column == column, self.rising) {
            (true, true) => (Some("ascending"), "down"),
            (true, false) => (Some("descending"), "up"),
            (false, _) => (None, if column.is_none() { "up" } else { "down" }),
        }
    }
}

/// Renders the table.
pub(super) fn section(traffic: &[Traffic], sort: Sort, range: &Range) -> Markup {
    let mut rows: Vec<&Traffic> = traffic.iter().collect();
    rows.sort_by(|one, other| sort.compare(one, other));
    html! {
        section aria-labelledby="endpoints" {
            h2 #endpoints { "Endpoints" }
            div.scroll tabindex="0" role="region" aria-labelledby="endpoints" {
                table.endpoints {
                    thead { tr {
                        (head(None, "name", "Endpoint", sort, range))
                        @for (at, column) in COLUMNS.iter().enumerate() {
                            (head(Some(at), column.key, column.title, sort, range))
                        }
                    } }
                    tbody { @for traffic in rows { (row(traffic, range)) } }
                }
            }
        }
    }
}

/// Renders the page of one endpoint.
pub(super) fn endpoint_page(request: &PageRequest<'_>, path: &str) -> Result<Answer, Failure> {
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
            (frame::no_requests())
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
        (format::list())
    };
    let frame = Frame { title: &name, nav: NavItem::Within, path: &path, range: Some(range), extra: &[] };
    Ok(Answer::page(200, frame.render(&content)))
}

fn head(column: Option<usize>, key: &str, title: &str, sort: Sort, range: &Range) -> Markup {
    let (aria, next) = sort.of(column);
    let [since, until] = range.parameters();
    let href = link("", &[since, until, ("sort", Some(key)), ("order", Some(next))]) + "#endpoints";
    html! {
        th scope="col" class=[column.map(|_| "n")] aria-sort=[aria] { a href=(href) title=[meaning(title)] { (title) } }
    }
}

fn row(traffic: &Traffic, range: &Range) -> Markup {
    html! {
        tr {
            th scope="row" { (endpoint_link(&traffic.endpoint, range)) }
            @for column in &COLUMNS { td.n data-title=(column.title) { ((column.cell)(&traffic.stats)) } }
        }
    }
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

#[cfg(test)]
mod tests {
    use portion_telemetry::read::Endpoint;

    use super::*;

    #[test]
    fn rows_come_in_the_order_asked_for() {
        let traffic = |name: &str, requests, original_tokens| Traffic {
            endpoint: Endpoint { name: name.to_owned(), ..Endpoint::default() },
            counter: String::new(),
            stats: TrafficStats { requests, original_tokens, served_tokens: 10, ..TrafficStats::default() },
        };
        let rows = [traffic("b", 5, 100), traffic("a", 5, 0), traffic("c", 9, 20)];
        let check = |query: &str, expect: &str| {
            let sort = Sort::read(&Query::read(Some(query))).expect("it can be asked");
            let mut rows: Vec<&Traffic> = rows.iter().collect();
            rows.sort_by(|one, other| sort.compare(one, other));
            let names: String = rows.iter().map(|row| row.endpoint.name.as_str()).collect();
            assert_eq!(names, expect, "{query}");
        };
        check("", "cab");
        check("order=up", "abc");
        check("sort=name", "abc");
        check("sort=name&order=down", "cba");
        check("sort=kept", "bca");
        check("sort=kept&order=up", "cba");
        for wrong in ["sort=x", "order=x"] {
            assert!(Sort::read(&Query::read(Some(wrong))).is_err(), "{wrong}");
        }
    }
}
