//! HTML pages. Each is complete without scripts.

mod changes;
mod charts;
mod endpoints;
mod experiments;
mod findings;
mod format;
mod frame;
mod overview;
mod request;
mod requests;
mod sessions;

use std::time::SystemTime;

use crate::answer::{Answer, Failure, Result};
use crate::query::Query;
use crate::selection::{Records, Selection};
use format::{display_name, endpoint_at, path_of};
use frame::PageRequest;

/// Records, the price of a million input tokens in US dollars, and the number of records known to be lost.
pub(crate) type Source<'a> = (&'a Records, Option<f64>, Option<u64>);

/// Renders the page at a path.
pub(crate) fn answer(source: Source<'_>, path: &str, query: &Query, now: SystemTime) -> Answer {
    match found(source, path, query, now) {
        Ok(answer) => answer,
        Err(Failure::Invalid(invalid)) => frame::invalid_page(&invalid, path, query),
        Err(Failure::NoRecords(reason)) => frame::no_records_page(&reason),
        Err(Failure::NotFound(what)) => frame::not_found_page(what),
    }
}

fn found(
    (records, token_price, lost): Source<'_>,
    path: &str,
    query: &Query,
    now: SystemTime,
) -> Result<Answer> {
    let (kind, name) =
        path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
    if !matches!(kind, "" | "requests" | "endpoints" | "sessions" | "experiments" | "changes") {
        return Err(Failure::NotFound("There is no such page."));
    }
    let (selection, reader) = (Selection::read(query, now)?, records.reader()?);
    let request = PageRequest { reader, selection, query, token_price, lost, now };
    match (kind, name) {
        ("", "") => overview::page(&request),
        ("requests", "") => requests::page(&request),
        ("requests", id) => request::page(&request, id),
        ("endpoints", path) => endpoints::endpoint_page(&request, path),
        ("sessions", "") => sessions::page(&request),
        ("sessions", id) => sessions::session_page(&request, id),
        ("experiments", "") => experiments::page(&request),
        ("changes", "") => changes::page(&request),
        _ => Err(Failure::NotFound("There is no such page.")),
    }
}
