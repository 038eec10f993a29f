//! Reads and edits `Link` header fields (RFC 8288).

use http::header::{HeaderMap, HeaderValue, LINK};

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

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::{HeaderValue, LINK};

    use super::next_link;

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
}
