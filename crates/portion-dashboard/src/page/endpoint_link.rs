//! Names of endpoints and links to their pages.

use maud::{Markup, html};
use portion_core::event::EndpointKind;
use portion_telemetry::read::Endpoint;

use crate::query::{Range, decoded, encoded, link};

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
