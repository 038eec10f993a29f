//! Addresses at the upstream.

use http::uri::{PathAndQuery, Uri};
use portion_policy::upstream::UpstreamTarget;
use thiserror::Error;

/// A path with a segment `.` or `..`, which may lead out of the upstream's own path.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the path has a segment that is `.` or `..`; send the path that it leads to")]
pub(super) struct DotSegment;

/// Returns the URI of a request's path and query at the upstream. Parameters that the operator has set cannot be
/// replaced by the client.
///
/// # Errors
/// Returns [`DotSegment`] if the path may lead out of the upstream's own.
pub(super) fn upstream_uri(target: &UpstreamTarget, request: &Uri) -> Result<Uri, DotSegment> {
    let path = request.path();
    if path.split('/').any(is_dot_segment) {
        return Err(DotSegment);
    }
    let prefix = target.url().path().trim_end_matches('/');
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok(target.with_path(&format!("{prefix}{slash}{path}")).url_with_query(request.query()))
}

/// Returns the location of a redirect for clients: relative if it points to the upstream itself.
pub(super) fn client_location(base: &Uri, location: &str) -> Option<String> {
    let target: Uri = location.parse().ok()?;
    if target.scheme() != base.scheme()
        || target.authority() != base.authority()
        || target.authority().is_none()
    {
        return None;
    }
    let prefix = base.path().trim_end_matches('/');
    let rest = target.path_and_query().map_or("/", PathAndQuery::as_str).strip_prefix(prefix)?;
    let slash = if rest.starts_with('/') { "" } else { "/" };
    Some(format!("{slash}{rest}"))
}

/// Returns true for `.` and `..`, escaped or not, as the most lenient server reads them.
fn is_dot_segment(segment: &str) -> bool {
    let plain = segment.split(';').next().unwrap_or_default().to_ascii_lowercase().replace("%2e", ".");
    plain.replace("%5c", "\\").split(['\\']).any(|part| matches!(part, "." | ".."))
        || plain.replace("%2f", "/").split('/').any(|part| matches!(part, "." | ".."))
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use portion_policy::upstream::UpstreamTarget;

    use super::{DotSegment, client_location, upstream_uri};

    #[test]
    fn paths_stay_below_that_of_the_upstream() {
        let check = |base: &str, request: &str, expect: Result<&str, DotSegment>| {
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
    }

    #[test]
    fn redirects_to_the_upstream_become_relative() {
        let base: Uri = "https://api.example/v1".parse().expect("a URI");
        let check = |location: &str, expect: Option<&str>| {
            assert_eq!(client_location(&base, location).as_deref(), expect, "{location}");
        };
        check("https://api.example/v1/a?b=1", Some("/a?b=1"));
        check("https://api.example/v1", Some("/"));
        check("https://api.example/other", None);
        check("http://api.example/v1/a", None);
        check("https://evil.example/v1/a", None);
        check("/v1/a", None);
        check("//evil.example/v1", None);
    }
}
