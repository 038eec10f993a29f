//! Addresses at the upstream.

use http::uri::Uri;
use portion_net::uri_reference::has_dot_segment;
use portion_policy::upstream::UpstreamTarget;
use thiserror::Error;

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
