//! Page of one session, request by request.

use maud::html;
use portion_telemetry::read::{Filter, Record};

use super::format::{plural, short, timestamp};
use super::frame::{Frame, NavItem};
use super::{Failure, PageRequest, notice, requests};
use crate::answer::Answer;
use crate::query::{hex_number, link};

/// Maximum number of requests shown.
const MAX_SHOWN: usize = 500;

pub(super) fn page(request: &PageRequest<'_>, id: &str) -> Result<Answer, Failure> {
    let unknown = Failure::NotFound("There is no session with that id.");
    let Some(session) = hex_number(id, 16) else { return Err(unknown) };
    let range = &request.selection.range;
    let filter = Filter { session: Some(session as u64), limit: Some(MAX_SHOWN), ..range.filter() };
    let mut records = request.reader.requests(&filter)?;
    records.reverse();
    let tokens: u64 = records.iter().filter_map(Record::served_tokens).sum();
    let failed = records.iter().filter(|record| record.error.is_some()).count() as u64;
    let content = html! {
        p.above { a href=(link("/sessions", &range.parameters())) { "Sessions" } }
        h1 { code { (id) } }
        @if let (Some(first), Some(last)) = (records.first(), records.last()) {
            p.lead {
                (plural(records.len() as u64, "request", "requests")) " from " (timestamp(first.at)) " to " (timestamp(last.at))
                ", " strong { (short(tokens)) } " tokens to the model"
                @if let Some(client) = records.iter().rev().find_map(|record| record.client.as_ref()) { ", by " strong { (client) } }
                @if failed > 0 { ", " strong.alarm { (plural(failed, "error", "errors")) } } "."
                @if records.len() == MAX_SHOWN { " Earlier requests are not shown." }
            }
            (requests::table(&records, &request.selection, None))
        } @else {
            (notice::no_requests())
        }
    };
    let path = format!("/sessions/{id}");
    let frame = Frame { title: "Session", nav: NavItem::Within, path: &path, range: Some(range), extra: &[] };
    Ok(Answer::page(200, frame.render(&content)))
}
