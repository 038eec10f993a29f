//! Page of one endpoint: statistics, charts and requests.

use maud::{Markup, html};
use portion_core::event::{EndpointKind, Outcome};
use portion_telemetry::read::{Endpoint, TrafficStats};
use portion_telemetry::show::grouped;

use super::frame::{Frame, NavItem};
use super::{Failure, PageRequest, changes, charts, notice, overview, requests, term};
use crate::answer::Answer;
use crate::query::{Range, decoded, encoded, link};
use crate::selection::Selection;

/// Number of requests shown.
const MAX_SHOWN: usize = 25;

pub(super) fn page(request: &PageRequest<'_>, path: &str) -> Result<Answer, Failure> {
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
            (notice::no_requests())
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
        (term::list())
    };
    let frame = Frame { title: &name, nav: NavItem::Within, path: &path, range: Some(range), extra: &[] };
    Ok(Answer::page(200, frame.render(&content)))
}

/// Returns the display name of an endpoint. An unresolved cursor has no endpoint name, only a server.
pub(super) fn display_name(endpoint: &Endpoint) -> String {
    match (&endpoint.upstream, endpoint.name.is_empty()) {
        (_, false) => endpoint.to_string(),
        (Some(upstream), true) => format!("unknown endpoint of {upstream}"),
        (None, true) => "unknown endpoint".to_owned(),
    }
}

/// Renders a link to an endpoint's page, with its kind unless it is a tool.
pub(super) fn endpoint_link(endpoint: &Endpoint, range: &Range) -> Markup {
    let href = link(&format!("/endpoints/{}", path_of(endpoint)), &range.parameters());
    html! {
        a href=(href) { (display_name(endpoint)) }
        @if endpoint.kind != EndpointKind::Tool.name() { " " span.quiet { (endpoint.kind) } }
    }
}

/// Returns `KIND/NAME` or `KIND/UPSTREAM/NAME`, so endpoints of the same name have different pages.
pub(super) fn path_of(endpoint: &Endpoint) -> String {
    let Endpoint { upstream, kind, name } = endpoint;
    let parts = [Some(kind), upstream.as_ref(), Some(name)];
    parts.into_iter().flatten().map(|part| encoded(part)).collect::<Vec<_>>().join("/")
}

/// Parses the path of an endpoint's page.
pub(super) fn endpoint_at(path: &str) -> Option<Endpoint> {
    let parts: Vec<String> = path.split('/').map(decoded).collect();
    match &parts[..] {
        [kind, name] => Some(Endpoint { upstream: None, kind: kind.clone(), name: name.clone() }),
        [kind, upstream, name] => {
            Some(Endpoint { upstream: Some(upstream.clone()), kind: kind.clone(), name: name.clone() })
        }
        _ => None,
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
    use super::*;

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
