//! Page and table of requests.

use maud::{Markup, html};
use portion_core::event::{Outcome, ServedError};
use portion_telemetry::read::{Notable, Participants, Record};
use portion_telemetry::timestamp::rfc3339;

use super::format::{self, count_or_dash, duration, endpoint_link, percent, term, timestamp};
use super::frame::{self, Frame, NavItem};
use super::{Failure, PageRequest, display_name};
use crate::answer::Answer;
use crate::query::Range;
use crate::selection::Selection;

pub(super) fn page(request: &PageRequest<'_>) -> Result<Answer, Failure> {
    let PageRequest { reader, selection, .. } = request;
    let range = &selection.range;
    let page = selection.list(reader)?;
    let participants = reader.participants(&range.filter())?;
    let content = html! {
        h1 { "Requests" }
        (form(selection, &participants))
        @if page.records.is_empty() { (frame::no_requests()) } @else { (table(&page.records, selection, None)) }
        @if let Some(end) = page.older_than {
            @let older = Selection { range: Range { to: Some(rfc3339(end)), ..range.clone() }, ..selection.clone() };
            p { a href=(older.link("/requests")) { "Older" } }
        }
        p { a href=(selection.link("/api/records") + "&format=csv&limit=1000") { "As CSV" } }
        (format::list())
    };
    let frame = Frame {
        title: "Requests",
        nav: NavItem::Requests,
        path: "/requests",
        range: Some(range),
        extra: &selection.which(),
    };
    Ok(Answer::page(200, frame.render(&content)))
}

/// Renders lists of the servers and clients to choose from, where there are any.
pub(super) fn choices(selection: &Selection, participants: &Participants) -> Markup {
    let lists = [
        ("Server", "server", &participants.servers, &selection.server),
        ("Client", "client", &participants.clients, &selection.client),
    ];
    html! {
        @for (title, name, names, chosen) in lists {
            @if !names.is_empty() || chosen.is_some() {
                label { (title) " "
                    select name=(name) {
                        option value="" { "any" }
                        @for one in names { option value=(one) selected[chosen.as_ref() == Some(one)] { (one) } }
                        @if let Some(other) = chosen.as_ref().filter(|chosen| !names.contains(chosen)) {
                            option value=(other) selected { (other) }
                        }
                    }
                }
            }
        }
    }
}

fn form(selection: &Selection, participants: &Participants) -> Markup {
    html! {
        form.filters action="/requests" {
            input type="hidden" name="since" value=(selection.range.from);
            @if let Some(to) = &selection.range.to { input type="hidden" name="until" value=(to); }
            @if let Some(of) = &selection.of {
                @for (name, value) in &selection.which()[..3] {
                    @if let Some(value) = value { input type="hidden" name=(name) value=(value); }
                }
                @let all = Selection { of: None, ..selection.clone() };
                p { "Endpoint: " strong { (display_name(of)) } " " span.quiet { (of.kind) } ", or " a href=(all.link("/requests")) { "any endpoint" } }
            } @else {
                label { "Endpoint " input name="endpoint" value=[selection.endpoint.as_deref()] placeholder="any, as in list_*"; }
            }
            (choices(selection, participants))
            label { "Outcome "
                select name="outcome" {
                    option value="" { "any" }
                    @for outcome in Outcome::ALL {
                        option value=(outcome.name()) selected[selection.outcome == Some(outcome)] { (outcome.name()) }
                    }
                }
            }
            label { "Only "
                select name="only" {
                    option value="" { "all" }
                    @for notable in Notable::ALL {
                        option value=(notable.name()) selected[selection.notable == Some(notable)] { (notable.name()) }
                    }
                }
            }
            label { "Error code "
                input name="error" value=[selection.error.as_deref()] placeholder="any" list="codes";
            }
            datalist id="codes" {
                @for error in ServedError::all() { option value=(error.name()) {} }
            }
            button { "Filter" }
        }
    }
}

/// Renders an error code as a link to the requests with that code.
pub(super) fn error_link(error: &str, selection: &Selection) -> Markup {
    let same = Selection { error: Some(error.to_owned()), ..selection.clone() };
    html! { a.alarm href=(same.link("/requests")) title="Show the requests with this code" { (error) } }
}

/// Renders an outcome with its colour.
pub(super) fn outcome(name: &str) -> Markup {
    html! { span.outcome data-outcome=(name) { (name) } }
}

/// Renders requests in the given order. Links keep `selection`; `this` is the request that the page is about.
pub(super) fn table(records: &[Record], selection: &Selection, this: Option<u128>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Requests" {
            table.requests {
                thead { tr {
                    th scope="col" { "Time" }
                    th scope="col" { "Endpoint" }
                    th scope="col" { (term("Outcome")) }
                    th.n scope="col" { (term("Upstream")) }
                    th.n scope="col" { (term("Model")) }
                    th.n scope="col" { (term("Kept out")) }
                    th.n scope="col" { (term("Items")) }
                    th.n scope="col" { (term("Latency")) }
                    th.n scope="col" { (term("Added")) }
                    th scope="col" { "Error" }
                } }
                tbody { @for record in records { (row(record, selection, this == Some(record.request))) } }
            }
        }
    }
}

fn row(record: &Record, selection: &Selection, is_this: bool) -> Markup {
    let reduced = reduction(record);
    html! {
        tr class=[is_this.then_some("this")] {
            th scope="row" {
                a href=(selection.link(&format!("/requests/{:032x}", record.request))) aria-current=[is_this.then_some("true")] { (timestamp(record.at)) }
            }
            td data-title="Endpoint" {
                (endpoint_link(&record.endpoint, &selection.range))
                @if record.follow_up { " " span.quiet { "follow-up" } }
                @if let Some(client) = &record.client { " " span.quiet { "by " (client) } }
            }
            td data-title="Outcome" { (outcome(&record.outcome)) }
            td.n data-title="Upstream" { (count_or_dash(record.payload_tokens().filter(|_| !record.follow_up))) }
            td.n data-title="Model" { (count_or_dash(record.served_tokens())) }
            td.n data-title="Kept out" { (reduced.map_or_else(|| "–".to_owned(), percent)) }
            td.n data-title="Items" { (count_or_dash(record.items)) }
            td.n data-title="Latency" { (duration(record.latency)) }
            td.n data-title="Added" { (duration(record.overhead)) }
            td data-title="Error" { @if let Some(error) = &record.error { (error_link(error, selection)) } }
        }
    }
}

/// Share of a first call's payload tokens that its reply leaves out.
pub(super) fn reduction(record: &Record) -> Option<f64> {
    let (served, payload) = record.served_tokens().zip(record.payload_tokens())?;
    (!record.follow_up && payload > 0).then(|| 1.0 - served as f64 / payload as f64)
}
