//! A session, request by request: the thread that a model kept, or lost.

use maud::html;
use portion_telemetry::read::{Filter, Record};

use super::frame::{Frame, Place};
use super::told::{counted, moment, short};
use super::{Failure, Visit, notice, number, requests};
use crate::answer::Answer;
use crate::query::link;

/// Requests that are shown.
const MOST: usize = 500;

pub(super) fn page(visit: &Visit<'_>, id: &str) -> Result<Answer, Failure> {
    let unknown = Failure::Unknown("There is no session of that number.");
    let Some(session) = number(id, 16) else { return Err(unknown) };
    let range = &visit.asked.range;
    let filter = Filter { session: Some(session as u64), limit: Some(MOST), ..range.filter() };
    let mut records = visit.reader.requests(&filter)?;
    records.reverse();
    let tokens: u64 = records.iter().filter_map(Record::served_tokens).sum();
    let failed = records.iter().filter(|record| record.error.is_some()).count() as u64;
    let content = html! {
        p.above { a href=(link("/sessions", &range.parameters())) { "Sessions" } }
        h1 { code { (id) } }
        @if let (Some(first), Some(last)) = (records.first(), records.last()) {
            p.lead {
                (counted(records.len() as u64, "request", "requests")) " from " (moment(first.at)) " to " (moment(last.at))
                ", " strong { (short(tokens)) } " tokens to the model"
                @if failed > 0 { ", " strong.alarm { (counted(failed, "error", "errors")) } } "."
                @if records.len() == MOST { " Earlier ones are not shown." }
            }
            (requests::table(&records, &visit.asked, None))
        } @else {
            (notice::quiet())
        }
    };
    let path = format!("/sessions/{id}");
    let frame = Frame { title: "Session", place: Place::Within, path: &path, range: Some(range), kept: &[] };
    Ok(Answer::page(200, frame.around(&content)))
}
