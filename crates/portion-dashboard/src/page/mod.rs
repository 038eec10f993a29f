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
mod sessions;
mod standing;
mod told;
mod words;

use std::time::SystemTime;

use maud::{Markup, html};
use portion_telemetry::read::{Endpoint, Reader};

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
        Err(Failure::Wrong(wrong)) => notice::wrong(&wrong, path, query),
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
        ("endpoints", path) => endpoint::page(&visit, path),
        ("sessions", "") => sessions::page(&visit),
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

/// What an endpoint is called: a cursor that cannot be read leads to none.
fn called(endpoint: &Endpoint) -> String {
    if endpoint.name.is_empty() { "unknown endpoint".to_owned() } else { endpoint.to_string() }
}

/// A link to an endpoint's page, and what the endpoint is where it is no tool.
fn endpoint_link(endpoint: &Endpoint, range: &Range) -> Markup {
    let href = link(&format!("/endpoints/{}", path_of(endpoint)), &range.parameters());
    html! {
        a href=(href) { (called(endpoint)) }
        @if endpoint.kind != "tool" { " " span.quiet { (endpoint.kind) } }
    }
}

/// `KIND/NAME`, or `KIND/UPSTREAM/NAME`: namesakes have pages of their own.
fn path_of(endpoint: &Endpoint) -> String {
    let Endpoint { upstream, kind, name } = endpoint;
    let parts = [Some(kind), upstream.as_ref(), Some(name)];
    parts.into_iter().flatten().map(|part| encoded(part)).collect::<Vec<_>>().join("/")
}

/// The endpoint whose page is there.
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
