//! Resolves URI references: a `Location`, or the endpoint that a server names.
//!
//! ```
//! use http::Uri;
//! use portion_net::uri_reference::resolve;
//!
//! let base: Uri = "http://localhost/a/b?c=d".parse()?;
//! assert_eq!(resolve(&base, "../e").map(|uri| uri.to_string()).as_deref(), Some("http://localhost/e"));
//! # Ok::<(), http::uri::InvalidUri>(())
//! ```

use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use percent_encoding::percent_decode_str;

/// Resolves a reference against `base` (RFC 3986, 5.2); `None` if the result is not an HTTP URL.
pub fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.trim();
    let reference = reference.split_once('#').map_or(reference, |(before, _)| before);
    if let Some((scheme, rest)) = reference.split_once("://")
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
            .then(|| format!("{}://{rest}", scheme.to_ascii_lowercase()).parse().ok())?;
    }
    let scheme = base.scheme()?;
    if let Some(rest) = reference.strip_prefix("//") {
        return format!("{scheme}://{rest}").parse().ok();
    }
    let (path, query) =
        reference.split_once('?').map_or((reference, None), |(path, query)| (path, Some(query)));
    let path = match path {
        "" => base.path().to_owned(),
        _ if path.starts_with('/') => remove_dot_segments(path),
        _ => {
            let folder = base.path().rsplit_once('/').map_or("", |(folder, _)| folder);
            remove_dot_segments(&format!("{folder}/{path}"))
        }
    };
    let query = query.or_else(|| reference.is_empty().then(|| base.query()).flatten());
    let whole = query.map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
    let mut parts = base.clone().into_parts();
    parts.path_and_query = Some(whole.parse::<PathAndQuery>().ok()?);
    Uri::from_parts(parts).ok()
}

/// Returns true if both have the same scheme, host and port: headers for one may be sent to the other.
pub fn same_origin(a: &Uri, b: &Uri) -> bool {
    let origin = |uri: &Uri| {
        let (scheme, authority) = (uri.scheme()?.clone(), uri.authority()?.clone());
        let port = authority.port_u16().or_else(|| default_port(&scheme));
        let plain = !Authority::as_str(&authority).contains('@');
        plain.then(|| (scheme, authority.host().to_ascii_lowercase(), port))
    };
    origin(a).is_some() && origin(a) == origin(b)
}

/// Formats a URI for messages, without query and user, which may be secret.
pub fn display_uri(uri: &Uri) -> String {
    let (scheme, authority) =
        (uri.scheme_str().unwrap_or_default(), uri.authority().map_or("", Authority::as_str));
    let authority = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{authority}{}", uri.path())
}

/// Returns true if a path has a segment `.` or `..` as any server reads it: escaped once or several times, after a
/// backslash, with parameters, or in overlong UTF-8.
///
/// ```
/// use portion_net::uri_reference::has_dot_segment;
///
/// assert!(has_dot_segment("/a/../b") && has_dot_segment("/a/%252e%252e%2Fb"));
/// assert!(!has_dot_segment("/a..b/.c/..."));
/// ```
pub fn has_dot_segment(path: &str) -> bool {
    let mut path = path.to_ascii_lowercase();
    for _ in 0..MAX_ESCAPE_LEVELS {
        let is_dots = |segment: &str| matches!(segment.split(';').next(), Some("." | ".."));
        let is_overlong = OVERLONG.iter().any(|overlong| path.contains(overlong));
        if is_overlong || path.split(['/', '\\']).any(is_dots) {
            return true;
        }
        let decoded = percent_decode_str(&path).decode_utf8_lossy().to_ascii_lowercase();
        if decoded == path {
            return false;
        }
        path = decoded;
    }
    true
}

fn default_port(scheme: &Scheme) -> Option<u16> {
    match scheme.as_str() {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// Removes `.` and `..` from a path.
fn remove_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let ends_with_folder = matches!(path.rsplit('/').next(), Some("." | ".."));
    for step in path.split('/').skip(1) {
        match step {
            "." => {}
            ".." => drop(kept.pop()),
            step => kept.push(step),
        }
    }
    if ends_with_folder {
        kept.push("");
    }
    format!("/{}", kept.join("/"))
}

/// A dot, a slash and a backslash in overlong UTF-8, which lenient servers decode.
const OVERLONG: [&str; 5] = ["%c0%ae", "%e0%80%ae", "%c0%af", "%e0%80%af", "%c1%9c"];
/// Levels of percent-encoding that are decoded; a path with more is rejected.
const MAX_ESCAPE_LEVELS: usize = 4;

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::{resolve, same_origin};

    fn check(base: &str, reference: &str, expect: Option<&str>) {
        let base: Uri = base.parse().expect("a URL");
        let found = resolve(&base, reference).map(|uri| uri.to_string());
        assert_eq!(found.as_deref(), expect, "{reference} at {base}");
    }

    #[test]
    fn references_are_resolved() {
        let base = "http://h:1/a/sse?k=v";
        check(base, "/messages?sessionId=1", Some("http://h:1/messages?sessionId=1"));
        check(base, "messages/?s=1", Some("http://h:1/a/messages/?s=1"));
        check(base, "?s=1", Some("http://h:1/a/sse?s=1"));
        check(base, "", Some("http://h:1/a/sse?k=v"));
        check(base, "../x/./y", Some("http://h:1/x/y"));
        check(base, "../../..", Some("http://h:1/"));
        check(base, "https://other/x#part", Some("https://other/x"));
        check(base, "//other:2/x", Some("http://other:2/x"));
        check(base, " /x ", Some("http://h:1/x"));
        check(base, "/x?next=http://y/", Some("http://h:1/x?next=http://y/"));
        check("http://h", "x", Some("http://h/x"));
        check(base, "ftp://other/x", None);
        check(base, "/a b", None);
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let same = |a: &str, b: &str| same_origin(&a.parse().expect("a URL"), &b.parse().expect("a URL"));
        assert!(same("http://h/a", "http://H:80/b?c"));
        assert!(same("https://h:443/", "https://h/"));
        assert!(!same("http://h/", "https://h/"));
        assert!(!same("http://h:1/", "http://h:2/"));
        assert!(!same("http://h/", "http://h.evil/"));
        assert!(!same("http://h/", "http://h@evil/"));
        assert!(!same("/a", "/a"));
    }
}
