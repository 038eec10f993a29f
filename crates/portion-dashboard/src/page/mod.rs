//! HTML pages. Each is complete without scripts.

mod changes;
mod charts;
mod endpoint;
mod endpoint_link;
mod endpoints;
mod experiments;
mod findings;
mod format;
mod frame;
mod notice;
mod overview;
mod request;
mod requests;
mod session;
mod sessions;
mod term;

use std::time::SystemTime;

use crate::answer::{Answer, Failure};
use crate::query::Query;
use crate::records::Records;
use crate::selection::Selection;
use endpoint_link::{display_name, endpoint_at, path_of};
use frame::PageRequest;

/// Renders the page at a path.
pub(crate) fn answer(
    records: &Records,
    path: &str,
    query: &Query,
    token_price: Option<f64>,
    lost: Option<u64>,
    now: SystemTime,
) -> Answer {
    match found(records, path, query, token_price, lost, now) {
        Ok(answer) => answer,
        Err(Failure::Invalid(invalid)) => notice::invalid(&invalid, path, query),
        Err(Failure::NoRecords(reason)) => notice::no_records(&reason),
        Err(Failure::NotFound(what)) => notice::not_found(what),
    }
}

fn found(
    records: &Records,
    path: &str,
    query: &Query,
    token_price: Option<f64>,
    lost: Option<u64>,
    now: SystemTime,
) -> Result<Answer, Failure> {
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
        ("endpoints", path) => endpoint::page(&request, path),
        ("sessions", "") => sessions::page(&request),
        ("sessions", id) => session::page(&request, id),
        ("experiments", "") => experiments::page(&request),
        ("changes", "") => changes::page(&request),
        _ => Err(Failure::NotFound("There is no such page.")),
    }
}
