//! HTML pages. Each is complete without scripts.

mod changes;
mod chart_data;
mod charts;
mod endpoint;
mod endpoints;
mod experiments;
mod explain;
mod findings;
mod format;
mod frame;
mod notice;
mod overview;
mod request;
mod requests;
mod session;
mod sessions;
mod summary;

use std::time::SystemTime;

use maud::{Markup, html};
use portion_telemetry::read::{Endpoint, Reader};

pub(crate) use notice::OFF;

use crate::answer::Answer;
use crate::query::{Query, decoded, encoded, link};
use crate::range::Range;
use crate::selection::Selection;
use crate::site::{Failure, Site};

/// A page request: everything that a page needs.
struct PageRequest<'a> {
    reader: Reader,
    selection: Selection,
    query: &'a Query,
    lost: Option<u64>,
    now: SystemTime,
}

/// Renders the page at a path.
pub(crate) fn answer(site: &Site, path: &str, query: &Query, lost: Option<u64>, now: SystemTime) -> Answer {
    match found(site, path, query, lost, now) {
        Ok(answer) => answer,
        Err(Failure::Invalid(invalid)) => notice::invalid(&invalid, path, query),
        Err(Failure::NoRecords(reason)) => notice::no_records(&reason),
        Err(Failure::NotFound(what)) => notice::not_found(what),
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
        return Err(Failure::NotFound("There is no such page."));
    }
    let request =
        PageRequest { selection: Selection::read(query, now)?, reader: site.reader()?, query, lost, now };
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

/// Parses a number of exactly `digits` hexadecimal digits.
pub(crate) fn number(text: &str, digits: usize) -> Option<u128> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(text, 16).ok().filter(|_| plain)
}

/// Returns the display name of an endpoint. An unresolved cursor has no endpoint name.
fn display_name(endpoint: &Endpoint) -> String {
    if endpoint.name.is_empty() { "unknown endpoint".to_owned() } else { endpoint.to_string() }
}

/// Renders a link to an endpoint's page, with its kind unless it is a tool.
fn endpoint_link(endpoint: &Endpoint, range: &Range) -> Markup {
    let href = link(&format!("/endpoints/{}", path_of(endpoint)), &range.parameters());
    html! {
        a href=(href) { (display_name(endpoint)) }
        @if endpoint.kind != "tool" { " " span.quiet { (endpoint.kind) } }
    }
}

/// Returns `KIND/NAME` or `KIND/UPSTREAM/NAME`, so endpoints of the same name have different pages.
fn path_of(endpoint: &Endpoint) -> String {
    let Endpoint { upstream, kind, name } = endpoint;
    let parts = [Some(kind), upstream.as_ref(), Some(name)];
    parts.into_iter().flatten().map(|part| encoded(part)).collect::<Vec<_>>().join("/")
}

/// Parses the path of an endpoint's page.
fn endpoint_at(path: &str) -> Option<Endpoint> {
    let parts: Vec<String> = path.split('/').map(decoded).collect();
    match &parts[..] {
        [kind, name] => Some(Endpoint { upstream: None, kind: kind.clone(), name: name.clone() }),
        [kind, upstream, name] => {
            Some(Endpoint { upstream: Some(upstream.clone()), kind: kind.clone(), name: name.clone() })
        }
        _ => None,
    }
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

    #[test]
    fn endpoints_are_found_where_their_pages_are() {
        let endpoint = |upstream: Option<&str>, kind: &str, name: &str| Endpoint {
            upstream: upstream.map(str::to_owned),
            kind: kind.to_owned(),
            name: name.to_owned(),
        };
        for (endpoint, path) in [
            (endpoint(None, "tool", "list_*"), "tool/list_%2A"),
            (endpoint(Some("a"), "resource", "file:///b"), "resource/a/file%3A%2F%2F%2Fb"),
            (endpoint(None, "tool", "a/file:///b"), "tool/a%2Ffile%3A%2F%2F%2Fb"),
            (endpoint(None, "tool", ""), "tool/"),
        ] {
            assert_eq!(path_of(&endpoint), path);
            assert_eq!(endpoint_at(path), Some(endpoint));
        }
        for none in ["", "tool", "tool/a/b/c"] {
            assert_eq!(endpoint_at(none), None, "{none}");
        }
    }
}
