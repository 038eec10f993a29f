//! Reads and edits `Link` header fields (RFC 8288), and resolves URI references: a `Location`, or the endpoint
//! that a server names.
//!
//! ```
//! use http::Uri;
//! use portion_net::link_header::resolve;
//!
//! let base: Uri = "http://localhost/a/b?c=d".parse()?;
//! assert_eq!(resolve(&base, "../e").map(|uri| uri.to_string()).as_deref(), Some("http://localhost/e"));
//! # Ok::<(), http::uri::InvalidUri>(())
//! ```

use http::header::{HeaderMap, HeaderValue, LINK};
use http::uri::{Authority, PathAndQuery, Scheme, Uri};
use percent_encoding::percent_decode_str;

/// Returns the target of the first link with the relation `next`, as received: an absolute or a relative URL.
///
/// ```
/// use http::HeaderMap;
/// use portion_net::link_header::next_link;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("link", "</items?page=1>; rel=first, </items?page=3>; rel=\"next\"".parse()?);
/// assert_eq!(next_link(&headers).as_deref(), Some("/items?page=3"));
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
pub fn next_link(headers: &HeaderMap) -> Option<String> {
    let fields = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    let next = fields.flat_map(links).find(|link| has_relation(link.parameters, "next"));
    next.map(|link| link.target.to_owned())
}

/// Removes the links with a relation. Other links stay, each in a field of its own where one is removed.
///
/// ```
/// use http::HeaderMap;
/// use portion_net::link_header::remove_links;
///
/// let mut headers = HeaderMap::new();
/// headers.insert("link", "</items?page=1>; rel=first, </items?page=3>; rel=\"next\"".parse()?);
/// remove_links(&mut headers, "next");
/// assert_eq!(headers["link"], "</items?page=1>; rel=first");
/// # Ok::<(), http::header::InvalidHeaderValue>(())
/// ```
pub fn remove_links(headers: &mut HeaderMap, relation: &str) {
    let is_meant = |field: &str| links(field).any(|link| has_relation(link.parameters, relation));
    let fields: Vec<HeaderValue> = headers.get_all(LINK).iter().cloned().collect();
    headers.remove(LINK);
    for field in fields {
        match field.to_str() {
            Ok(text) if is_meant(text) => {
                for link in links(text).filter(|link| !has_relation(link.parameters, relation)) {
                    let value = format!("<{}>{}", link.target, link.parameters.trim_end());
                    headers.extend(HeaderValue::from_str(&value).ok().map(|value| (LINK, value)));
                }
            }
            _ => {
                headers.append(LINK, field);
            }
        }
    }
}

/// Replaces each target of a field for which `edit` returns another one. The rest of the field stays as it is.
///
/// ```
/// use portion_net::link_header::edit_targets;
///
/// let field = "<https://a.example/items?page=3>; rel=\"next\", </help>; rel=help";
/// let edited = edit_targets(field, |target| target.strip_prefix("https://a.example").map(str::to_owned));
/// assert_eq!(edited, "</items?page=3>; rel=\"next\", </help>; rel=help");
/// ```
pub fn edit_targets(field: &str, edit: impl Fn(&str) -> Option<String>) -> String {
    let (mut edited, mut copied) = (String::with_capacity(field.len()), 0);
    for Link { target, start, .. } in links(field) {
        if let Some(replacement) = edit(target) {
            edited.push_str(&field[copied..start]);
            edited.push_str(&replacement);
            copied = start + target.len();
        }
    }
    edited.push_str(&field[copied..]);
    edited
}

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
/// use portion_net::link_header::has_dot_segment;
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

/// A link of a field.
struct Link<'a> {
    target: &'a str,
    /// Offset of the target in the field.
    start: usize,
    /// Parameters, with the semicolon before each.
    parameters: &'a str,
}

/// Returns the links of one field.
fn links(field: &str) -> impl Iterator<Item = Link<'_>> {
    let mut rest = Some(field);
    std::iter::from_fn(move || {
        let (_, after) = rest.take()?.split_once('<')?;
        let start = field.len() - after.trim_start().len();
        let (target, after) = after.split_once('>')?;
        let (parameters, following) = split_unquoted(after, ',');
        rest = following;
        Some(Link { target: target.trim(), start, parameters })
    })
}

/// Returns true if the first `rel` among the parameters of a link has a relation.
fn has_relation(mut parameters: &str, relation: &str) -> bool {
    loop {
        let (parameter, following) = split_unquoted(parameters, ';');
        if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("rel")
        {
            let relations = value.trim().trim_matches('"').split_ascii_whitespace();
            return relations.into_iter().any(|own| own.eq_ignore_ascii_case(relation));
        }
        match following {
            Some(following) => parameters = following,
            None => return false,
        }
    }
}

/// Splits a text at the first separator outside quotes.
fn split_unquoted(text: &str, separator: char) -> (&str, Option<&str>) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if c == separator && !is_quoted => return (&text[..at], Some(&text[at + c.len_utf8()..])),
            _ => {}
        }
    }
    (text, None)
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
    use http::header::{HeaderValue, LINK};
    use http::{HeaderMap, Uri};

    use super::{next_link, resolve, same_origin};

    #[test]
    fn the_next_link_is_found_in_every_spelling() {
        let check = |fields: &[&'static str], expect: Option<&str>| {
            let mut headers = HeaderMap::new();
            for field in fields {
                headers.append(LINK, HeaderValue::from_static(field));
            }
            assert_eq!(next_link(&headers).as_deref(), expect, "{fields:?}");
        };
        check(&[], None);
        check(&["</a?page=2>; rel=\"next\""], Some("/a?page=2"));
        check(&["</a?page=2>;rel=next"], Some("/a?page=2"));
        check(&["</a?p=1>; rel=\"first\", </a?p=9>; rel=\"last\""], None);
        check(
            &["</a?p=1,2>; title=\"a, <b>; rel=next\"; rel=\"prev\" , </a?p=3>; REL=\"last NEXT\""],
            Some("/a?p=3"),
        );
        check(&["</a?p=1>; rel=prev", "</a?p=3>; rel=next"], Some("/a?p=3"));
        check(&["</a>; rel=prev; rel=next"], None);
        check(&["<", "next", "<>; rel", "</a; rel=next", "</a?q=\\\">; rel=next"], Some("/a?q=\\\""));
    }

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
