//! Pages for people. Each is whole as it is sent.

mod changes;
mod charts;
mod endpoint;
mod endpoints;
mod experiments;
mod figures;
mod frame;
mod notice;
mod overview;
mod plotted;
mod request;
mod requests;
mod session;
mod standing;
mod told;
mod words;

use std::time::SystemTime;

use portion_telemetry::read::{Endpoint, Reader, exactly};

pub(crate) use notice::OFF;

use crate::answer::Answer;
use crate::asked::Asked;
use crate::query::{Query, decoded, encoded, link};
use crate::range::Range;
use crate::site::{Failure, Site};

/// What is asked of a page: all that one needs.
struct Visit<'a> {
    reader: Reader,
    asked: Asked,
    query: &'a Query,
    lost: Option<u64>,
    now: SystemTime,
}

/// Answers with a page.
pub(crate) fn answer(site: &Site, path: &str, query: &Query, lost: Option<u64>, now: SystemTime) -> Answer {
    match found(site, path, query, lost, now) {
        Ok(answer) => answer,
        Err(Failure::Wrong(wrong)) => notice::wrong(&wrong),
        Err(Failure::Nothing(nothing)) => notice::nothing(&nothing),
        Err(Failure::Unknown(what)) => notice::unknown(what),
    }
}

fn found(
    site: &Site,
    path: &str,
    query: &Query,
    lost: Option<u64>,
    now: SystemTime,
) -> Result<Answer, Failure> {
    let (kind, name) =
        path.trim_start_matches('/').split_once('/').unwrap_or((path.trim_start_matches('/'), ""));
    if !matches!(kind, "" | "requests" | "endpoints" | "sessions" | "experiments" | "changes") {
        return Err(Failure::Unknown("There is no such page."));
    }
    let visit = Visit { asked: Asked::read(query, now)?, reader: site.reader()?, query, lost, now };
    match (kind, name) {
        ("", "") => overview::page(&visit),
        ("requests", "") => requests::page(&visit),
        ("requests", id) => request::page(&visit, id),
        ("endpoints", name) if !name.is_empty() => endpoint::page(visit, &decoded(name)),
        ("sessions", id) => session::page(&visit, id),
        ("experiments", "") => experiments::page(&visit),
        ("changes", "") => changes::page(&visit),
        _ => Err(Failure::Unknown("There is no such page.")),
    }
}

/// A number of so many hexadecimal digits.
pub(crate) fn number(text: &str, digits: usize) -> Option<u128> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(text, 16).ok().filter(|_| plain)
}

/// Where an endpoint has its page.
fn of_endpoint(endpoint: &Endpoint, range: &Range) -> String {
    link(&format!("/endpoints/{}", encoded(&exactly(&endpoint.to_string()))), &range.parameters())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_all_their_digits() {
        assert_eq!(number("00ff", 4), Some(255));
        for none in ["ff", "+0ff", "00fg", "00ffff"] {
            assert_eq!(number(none, 4), None);
        }
    }
}
