//! Addresses at the upstream, and in header fields of responses. Clients resolve those at this proxy, whose paths do not have the path of the
//! upstream's URL.

use http::header::{CONTENT_LOCATION, HeaderMap, HeaderName, HeaderValue, LINK, LOCATION, REFRESH};
use http::uri::Uri;
use portion_net::link_header::{edit_targets, has_dot_segment, resolve, same_origin};
use portion_policy::upstream::UpstreamTarget;
use thiserror::Error;

/// Rewrites the addresses in a response to a request for `requested`, a URL of the upstream. `origin`: that of this proxy, for
/// links that were URLs: many clients resolve none.
pub(super) fn rewrite_addresses(
    headers: &mut HeaderMap,
    target: &UpstreamTarget,
    requested: &Uri,
    origin: &str,
) {
    for name in [LOCATION, CONTENT_LOCATION] {
        rewrite_field(headers, &name, |value| client_address(target, requested, value));
    }
    rewrite_field(headers, &REFRESH, |value| {
        let (before, address, after) = split_refresh(value)?;
        client_address(target, requested, address).map(|address| format!("{before}{address}{after}"))
    });
    rewrite_field(headers, &LINK, |value| {
        Some(edit_targets(value, |address| {
            let found = client_address(target, requested, address)?;
            let is_whole = address.contains("://") && found.starts_with('/');
            Some(if is_whole { format!("{origin}{found}") } else { found })
        }))
    });
}

/// Replaces each value for which `edit` returns another one.
fn rewrite_field(headers: &mut HeaderMap, name: &HeaderName, edit: impl Fn(&str) -> Option<String>) {
    let edited = |value: &HeaderValue| {
        let text = std::str::from_utf8(value.as_bytes()).ok()?;
        HeaderValue::from_bytes(edit(text)?.as_bytes()).ok()
    };
    let values: Vec<HeaderValue> = headers.get_all(name).iter().cloned().collect();
    headers.remove(name);
    for value in values {
        headers.append(name, edited(&value).unwrap_or(value));
    }
}

/// Returns the address for clients of what the upstream refers to; `None` if it is the same one.
///
/// A target below the path of the upstream gets a path of this proxy. Every other target at the upstream gets its whole URL:
/// this proxy has no path for it, and a path alone would lead to something else here.
fn client_address(target: &UpstreamTarget, requested: &Uri, reference: &str) -> Option<String> {
    let reference = reference.trim();
    let (address, fragment) = reference.split_at(reference.find('#').unwrap_or(reference.len()));
    let first = address.split(['/', '?']).next().unwrap_or_default();
    let has_scheme = first.contains(':');
    if address.is_empty() || (has_scheme && !address[first.len()..].starts_with("//")) {
        return None;
    }
    let found = resolve(requested, address).filter(|found| same_origin(found, target.url()))?;
    // Below the folder of the request, it leads to the same from a path of this proxy.
    let is_below = !has_scheme && !address.starts_with('/') && !address.contains("..");
    let path = match own_path(target.url(), found.path()) {
        Some(_) if is_below => address.split('?').next().unwrap_or_default().to_owned(),
        Some(path) if !leads_to_host(path) => path.to_owned(),
        _ => format!("{}://{}{}", found.scheme_str()?, found.authority()?, found.path()),
    };
    let query = found.query().map(|query| format!("?{}", target.without_own_parameters(query)));
    let query = query.unwrap_or_default();
    let rewritten = format!("{path}{query}{fragment}");
    (rewritten != reference).then_some(rewritten)
}

/// Returns the path of this proxy for one of the upstream, if it is below that of the upstream's URL.
fn own_path<'a>(base: &Uri, path: &'a str) -> Option<&'a str> {
    match path.strip_prefix(base.path().trim_end_matches('/'))? {
        "" => Some("/"),
        path if path.starts_with('/') => Some(path),
        // Another path, of which that of the upstream is only the beginning.
        _ => None,
    }
}

/// Returns true if clients read the first segment of a path as the name of a host. Browsers take a backslash for a slash.
fn leads_to_host(path: &str) -> bool {
    matches!(path.as_bytes(), [b'/', b'/' | b'\\', ..])
}

/// Splits a `Refresh`, such as `5; url="/a"`, into the address and what is around it.
fn split_refresh(value: &str) -> Option<(&str, &str, &str)> {
    let separator = value.find([';', ','])?;
    let begin = separator + value[separator..].to_ascii_lowercase().find("url")? + "url".len();
    let equals = begin + value[begin..].find('=')? + 1;
    let address = value[equals..].trim_start().trim_start_matches(['"', '\'']);
    let start = value.len() - address.len();
    let end = start + address.trim_end().trim_end_matches(['"', '\'']).len();
    Some((&value[..start], &value[start..end], &value[end..]))
}

/// Reason that a request has no URI at the upstream.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(super) enum InvalidPath {
    /// A segment is `.` or `..`, which may lead out of the upstream's own path.
    #[error("the path has a segment that is `.` or `..`; send the path that it leads to")]
    DotSegment,
    /// The target of the request is `*`, or only a host.
    #[error("the target of the request is not a path")]
    NoPath,
}

/// Returns the URI of a request's path and query at the upstream. Parameters that the operator has set cannot be
/// replaced by the client.
///
/// # Errors
/// Returns [`InvalidPath`] if there is no path, or if it may lead out of the upstream's own.
pub(super) fn upstream_uri(target: &UpstreamTarget, request: &Uri) -> Result<Uri, InvalidPath> {
    let path = request.path();
    check_path(path)?;
    let prefix = target.url().path().trim_end_matches('/');
    Ok(target.with_path(&format!("{prefix}{path}")).url_with_query(request.query()))
}

/// Checks that the path of a request cannot lead out of the upstream's own.
///
/// # Errors
/// Returns [`InvalidPath`] if it may, or if it is not a path.
pub(super) fn check_path(path: &str) -> Result<(), InvalidPath> {
    if !path.starts_with('/') {
        return Err(InvalidPath::NoPath);
    }
    if has_dot_segment(path) { Err(InvalidPath::DotSegment) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{CONTENT_LOCATION, HeaderName, HeaderValue, LINK, LOCATION, REFRESH};
    use portion_policy::upstream::UpstreamTarget;

    use super::{client_address, rewrite_addresses};

    /// Checks the address for clients, after a request for `/a/b` of the API; `None`: it is not changed.
    fn check(url: &str, reference: &str, expect: Option<&str>) {
        let target = UpstreamTarget::new(url).expect("a URL");
        let path = format!("{}/a/b", target.url().path().trim_end_matches('/'));
        let requested = target.with_path(&path).url_with_query(Some("x=1"));
        let found = client_address(&target, &requested, reference);
        assert_eq!(found.as_deref(), expect, "{reference} at {url}");
    }

    #[test]
    fn what_is_at_the_api_is_reached_through_the_proxy() {
        let base = "https://api.example/v1";
        check(base, "https://api.example/v1/a?b=1", Some("/a?b=1"));
        check(base, "HTTPS://API.example:443/v1/a#part", Some("/a#part"));
        check(base, "https://api.example/v1", Some("/"));
        check(base, "https://api.example/v1?b=1", Some("/?b=1"));
        check(base, "//api.example/v1/a", Some("/a"));
        check(base, "/v1/a", Some("/a"));
        check(base, " /v1/a/../c ", Some("/c"));
        check(base, "/v1", Some("/"));
        check("https://api.example/v1/", "/v1/a", Some("/a"));
        for same in ["c", "./c", "c?b=1", "?b=1", "", "#part", "c:d", "mailto:ann@api.example"] {
            check(base, same, None);
        }
        check(base, "../c?b=1", Some("/c?b=1"));
        check(base, "../../../v1/c", Some("/c"));
        let root = "http://127.0.0.1:3000";
        check(root, "http://127.0.0.1:3000/a", Some("/a"));
        check(root, "//127.0.0.1:3000", Some("/"));
        check(root, "/a", None);
        check(root, "../../../c", Some("/c"));
    }

    #[test]
    fn what_the_proxy_cannot_reach_keeps_its_whole_url() {
        let base = "https://api.example/v1";
        check(base, "https://api.example/other", None);
        check(base, "/other?b=1#part", Some("https://api.example/other?b=1#part"));
        check(base, "//api.example/v12/a", Some("https://api.example/v12/a"));
        check(base, "../../other", Some("https://api.example/other"));
        check(base, "/v1/../other", Some("https://api.example/other"));
        for other in [
            "http://api.example/v1/a",
            "https://evil.example/v1/a",
            "//evil.example/v1",
            "ftp://api.example/v1",
        ] {
            check(base, other, None);
        }
    }

    /// A path that begins with two slashes would be the name of a host.
    #[test]
    fn no_path_becomes_a_host() {
        for url in ["https://api.example/v1", "https://api.example"] {
            let path = url.trim_start_matches("https://api.example");
            for host in ["//evil.example/a", "/\\evil.example/a"] {
                check(url, &format!("{url}{host}"), None);
                check(url, &format!("//api.example{path}{host}"), Some(format!("{url}{host}").as_str()));
            }
        }
        check(
            "https://api.example/v1",
            "/v1//evil.example/a",
            Some("https://api.example/v1//evil.example/a"),
        );
        check("https://api.example", "/.//evil.example/a", Some("https://api.example//evil.example/a"));
    }

    #[test]
    fn parameters_of_the_operator_are_not_shown() {
        let base = "https://api.example/v1?key=secret";
        check(base, "/v1/a/b/?key=secret&x=1", Some("/a/b/?x=1"));
        check(base, "b/?key=secret", Some("b/?"));
        check(base, "?key=secret&x=2", Some("?x=2"));
        check(base, "https://api.example/other?key=secret", Some("https://api.example/other?"));
        check(base, "https://other.example/?key=secret", None);
    }

    #[test]
    fn all_fields_with_addresses_are_rewritten() {
        let target = UpstreamTarget::new("https://api.example/v1").expect("a URL");
        let requested = "https://api.example/v1/a".parse().expect("a URL");
        let mut headers = HeaderMap::new();
        let mut add =
            |name: HeaderName, value: &'static str| headers.append(name, HeaderValue::from_static(value));
        add(LOCATION, "https://other.example/");
        add(LOCATION, "/v1/c");
        add(CONTENT_LOCATION, "/v1/a.json");
        add(REFRESH, "5; URL = \"https://api.example/v1/c\"");
        add(
            LINK,
            "<https://api.example/v1/a?page=2>; rel=next, < /v1/c >; rel=up, <?x=1>, <//other.example>",
        );
        add(LINK, "no link");
        rewrite_addresses(&mut headers, &target, &requested, "http://own.example");
        let locations: Vec<_> = headers.get_all(LOCATION).iter().collect();
        assert_eq!(locations, ["https://other.example/", "/c"]);
        let links: Vec<_> = headers.get_all(LINK).iter().collect();
        assert_eq!(
            links,
            ["<http://own.example/a?page=2>; rel=next, < /c >; rel=up, <?x=1>, <//other.example>", "no link"]
        );
        assert_eq!(
            (&headers[CONTENT_LOCATION], &headers[REFRESH]),
            (&HeaderValue::from_static("/a.json"), &HeaderValue::from_static("5; URL = \"/c\""),)
        );
        let accented = HeaderValue::from_bytes("/v1/caf\u{e9}".as_bytes()).expect("a value");
        headers.insert(LOCATION, accented);
        rewrite_addresses(&mut headers, &target, &requested, "http://own.example");
        assert_eq!(headers[LOCATION].as_bytes(), "/caf\u{e9}".as_bytes());
        headers.insert(REFRESH, HeaderValue::from_static("5"));
        rewrite_addresses(&mut headers, &target, &requested, "http://own.example");
        assert_eq!(headers[REFRESH], "5");
    }
}

#[cfg(test)]
mod uri_tests {
    use http::Uri;

    use portion_policy::upstream::UpstreamTarget;

    use super::InvalidPath::{self, DotSegment, NoPath};
    use super::upstream_uri;

    #[test]
    fn paths_stay_below_that_of_the_upstream() {
        let check = |base: &str, request: &str, expect: Result<&str, InvalidPath>| {
            let request: Uri = request.parse().expect("a URI");
            let target = UpstreamTarget::new(base).expect("a URL");
            let uri = upstream_uri(&target, &request).map(|uri| uri.to_string());
            assert_eq!(uri, expect.map(str::to_owned), "{request}");
        };
        check("https://api.example", "/v1/a?x=1", Ok("https://api.example/v1/a?x=1"));
        check("https://api.example/v1/", "/a/", Ok("https://api.example/v1/a/"));
        check("https://api.example/v1?key=1", "/a?b=2", Ok("https://api.example/v1/a?key=1&b=2"));
        check("https://api.example/v1", "https://evil.example/a", Ok("https://api.example/v1/a"));
        check("https://api.example/v1", "//evil.example/a", Ok("https://api.example/v1//evil.example/a"));
        check("https://api.example", "//evil.example/a", Ok("https://api.example//evil.example/a"));
        check("https://api.example/v1?key=1", "/a?KEY=2&b=2", Ok("https://api.example/v1/a?key=1&b=2"));
        check("https://api.example/v1", "/a%2Fb", Ok("https://api.example/v1/a%2Fb"));
        check("https://api.example/v1", "/a..b/.c/...", Ok("https://api.example/v1/a..b/.c/..."));
        for refused in
            ["/..", "/a/../b", "/./a", "/%2e%2E/b", "/a/.%2e", "/..%2fb", "/..%5Cb", "/..;x=1/b", "/a/..%2F"]
        {
            check("https://api.example/v1", refused, Err(DotSegment));
        }
        for refused in ["*", "api.example", "api.example:443"] {
            check("https://api.example/v1", refused, Err(NoPath));
        }
        check("https://api.example/v1", "http://api.example", Ok("https://api.example/v1/"));
        check("https://api.example/v1", "/*", Ok("https://api.example/v1/*"));
    }

    /// Each way to write a dot segment, between each pair of separators.
    #[test]
    fn no_spelling_of_a_dot_segment_passes() {
        let dots = [".", "%2e", "%2E", "%252e", "%25252E", "%c0%ae", "%E0%80%AE", "%25c0%25ae"];
        let segments = dots.iter().flat_map(|one| {
            let doubled = dots.iter().map(move |other| format!("{one}{other}"));
            std::iter::once((*one).to_owned()).chain(doubled)
        });
        let target = UpstreamTarget::new("https://api.example/v1").expect("a URL");
        let mut count = 0;
        for segment in segments {
            for (before, after) in [
                ("/", ""),
                ("/", "/b"),
                ("/a/", "/b"),
                ("/a%2f", "%2Fb"),
                ("/a%5c", "%5Cb"),
                ("/a%252f", ";x=1/b"),
            ] {
                let path = format!("{before}{segment}{after}");
                let request: Uri = path.parse().expect("a URI");
                assert_eq!(upstream_uri(&target, &request), Err(DotSegment), "{path}");
                count += 1;
            }
        }
        assert!(count >= 300, "{count}");
        let deep = format!("/%{}2e%2e/", "25".repeat(30_000));
        assert_eq!(upstream_uri(&target, &deep.parse().expect("a URI")), Err(DotSegment));
    }
}
