//! The address of a request as its client wrote it, to which links in bodies lead.

use http::header::{HOST, HeaderName};
use http::request::Parts;
use http::uri::{Authority, Scheme};

use crate::response::link_path;

const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Returns the origin and the path of a request; the path alone if it names no host. A proxy in front tells the origin that
/// its client used. Anyone else who writes these fields gets links that lead astray, but nobody else does: replies with links
/// are not cached.
pub(crate) fn own_address(head: &Parts) -> String {
    format!("{}{}", own_origin(head), link_path(head.uri.path()))
}

/// Returns the origin of a request; nothing if it names no host.
pub(crate) fn own_origin(head: &Parts) -> String {
    let field = |name| {
        let value = head.headers.get(name)?.to_str().ok()?;
        value.split(',').next().map(str::trim)
    };
    let host = |text: &str| text.parse::<Authority>().ok().filter(|host| !host.as_str().contains('@'));
    let own = || head.uri.authority().cloned().or_else(|| field(HOST).and_then(host));
    let Some(host) = field(FORWARDED_HOST).and_then(host).or_else(own) else { return String::new() };
    let scheme = field(FORWARDED_PROTO).and_then(|text| text.parse::<Scheme>().ok());
    let scheme = scheme.or_else(|| head.uri.scheme().cloned()).unwrap_or(Scheme::HTTP);
    format!("{scheme}://{host}")
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::own_address;

    #[test]
    fn links_lead_to_where_the_client_asked() {
        let check = |target: &str, fields: &[(&str, &str)], expect: &str| {
            let mut request = Request::get(target);
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            let (head, ()) = request.body(()).expect("a request").into_parts();
            assert_eq!(own_address(&head), expect, "{target} {fields:?}");
        };
        check("/b?x=1", &[], "/b");
        check("/b?x=1", &[("host", "127.0.0.1:8766")], "http://127.0.0.1:8766/b");
        check("http://a.example/b", &[], "http://a.example/b");
        check("//b/c", &[("host", "a.example")], "http://a.example/b/c");
        let proxied =
            [("host", "127.0.0.1"), ("x-forwarded-host", "a.example, c"), ("x-forwarded-proto", "https")];
        check("/b", &proxied, "https://a.example/b");
        check("/b", &[("host", "a.example"), ("x-forwarded-host", "u@evil\"")], "http://a.example/b");
    }
}
