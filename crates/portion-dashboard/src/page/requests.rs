//! Requests, one a row.

use maud::{Markup, html};
use portion_core::event::Outcome;
use portion_telemetry::read::{Notable, Record};
use portion_telemetry::timestamp::rfc3339;

use super::frame::{Frame, Place};
use super::told::{maybe, moment, percent, took};
use super::{Failure, Visit, called, endpoint_link, notice};
use crate::answer::Answer;
use crate::asked::Asked;
use crate::range::Range;

pub(super) fn page(visit: &Visit<'_>) -> Result<Answer, Failure> {
    let Visit { reader, asked, .. } = visit;
    let range = &asked.range;
    let listed = asked.list(reader)?;
    let content = html! {
        h1 { "Requests" }
        (form(asked))
        @if listed.records.is_empty() { (notice::quiet()) } @else { (table(&listed.records, asked, None)) }
        @if let Some(rest) = listed.rest {
            @let before = Asked { range: Range { to: Some(rfc3339(rest)), ..range.clone() }, ..asked.clone() };
            p { a href=(before.link("/requests")) { "Those before them" } }
        }
    };
    let frame = Frame {
        title: "Requests",
        place: Place::Requests,
        path: "/requests",
        range: Some(range),
        kept: &asked.which(),
    };
    Ok(Answer::page(200, frame.around(&content)))
}

fn form(asked: &Asked) -> Markup {
    html! {
        form.filters action="/requests" {
            input type="hidden" name="since" value=(asked.range.from);
            @if let Some(to) = &asked.range.to { input type="hidden" name="until" value=(to); }
            @if let Some(of) = &asked.of {
                @for (name, value) in &asked.which()[..3] {
                    @if let Some(value) = value { input type="hidden" name=(name) value=(value); }
                }
                @let all = Asked { of: None, ..asked.clone() };
                p { "Of " strong { (called(of)) } " " span.quiet { (of.kind) } ", or " a href=(all.link("/requests")) { "of any endpoint" } }
            } @else {
                label { "Endpoint " input name="endpoint" value=[asked.endpoint.as_deref()] placeholder="any, as in list_*"; }
            }
            label { "Outcome "
                select name="outcome" {
                    option value="" { "any" }
                    @for outcome in Outcome::ALL {
                        option value=(outcome.name()) selected[asked.outcome == Some(outcome)] { (outcome.name()) }
                    }
                }
            }
            label { "Only "
                select name="only" {
                    option value="" { "all" }
                    @for noted in Notable::ALL {
                        option value=(noted.name()) selected[asked.noted == Some(noted)] { (noted.name()) }
                    }
                }
            }
            button { "Filter" }
        }
    }
}

/// An outcome, with its colour.
pub(super) fn outcome(name: &str) -> Markup {
    html! { span.outcome data-outcome=(name) { (name) } }
}

/// Requests in the order given. Their pages lead back to what was `asked`; `this` is the one that the page is about.
pub(super) fn table(records: &[Record], asked: &Asked, this: Option<u128>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Requests" {
            table.requests {
                thead { tr {
                    th scope="col" { "Time" }
                    th scope="col" { "Endpoint" }
                    th scope="col" { "Outcome" }
                    th.n scope="col" { "Upstream" }
                    th.n scope="col" { "Model" }
                    th.n scope="col" { "Kept out" }
                    th.n scope="col" { "Items" }
                    th.n scope="col" { "Latency" }
                    th.n scope="col" { "Added" }
                    th scope="col" { "Error" }
                } }
                tbody { @for record in records { (row(record, asked, this == Some(record.request))) } }
            }
        }
    }
}

fn row(record: &Record, asked: &Asked, is_this: bool) -> Markup {
    let kept = kept_out(record);
    html! {
        tr class=[is_this.then_some("this")] {
            th scope="row" {
                a href=(asked.link(&format!("/requests/{:032x}", record.request))) aria-current=[is_this.then_some("true")] { (moment(record.at)) }
            }
            td data-title="Endpoint" {
                (endpoint_link(&record.endpoint, &asked.range))
                @if record.follow_up { " " span.quiet { "follow-up" } }
            }
            td data-title="Outcome" { (outcome(&record.outcome)) }
            td.n data-title="Upstream" { (maybe(record.payload_tokens().filter(|_| !record.follow_up))) }
            td.n data-title="Model" { (maybe(record.served_tokens())) }
            td.n data-title="Kept out" { (kept.map_or_else(|| "–".to_owned(), percent)) }
            td.n data-title="Items" { (maybe(record.items)) }
            td.n data-title="Latency" { (took(record.latency)) }
            td.n data-title="Added" { (took(record.overhead)) }
            td data-title="Error" { @if let Some(error) = &record.error { span.alarm { (error) } } }
        }
    }
}

/// Share of the payload's tokens that its reply does not have, of a first call.
pub(super) fn kept_out(record: &Record) -> Option<f64> {
    let (served, payload) = record.served_tokens().zip(record.payload_tokens())?;
    (!record.follow_up && payload > 0).then(|| 1.0 - served as f64 / payload as f64)
}
