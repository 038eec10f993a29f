//! This listener as a protected resource of OAuth (RFC 9728).
//!
//! A server names itself in its metadata, and strict clients refuse metadata of another URL than the one they call. So
//! the metadata of the server are served with the public URL of this listener, and a 401 leads to them. Everything else,
//! the authorization servers above all, stays that of the server.

use hyper::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use serde_json::Value;

/// Member of a document with the signature of the server, which would not fit another resource.
const SIGNED_METADATA: &str = "signed_metadata";
/// Parameter of a challenge with the URL of the metadata.
const PARAMETER: &str = "resource_metadata";

/// Public URL of a server behind this listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicResource {
    origin: String,
    path: String,
}

impl PublicResource {
    /// Creates the resource at `path` of the listener whose public origin is `origin`, such as
    /// `https://mcp.example.com`.
    pub fn new(origin: &str, path: &str) -> Self {
        Self { origin: origin.trim_end_matches('/').to_owned(), path: path.to_owned() }
    }

    /// Returns a document of the server with this resource in place of the server; `None` if it is no such document.
    pub(super) fn document(&self, document: &[u8]) -> Option<String> {
        let mut document: Value = serde_json::from_slice(document).ok()?;
        let members = document.as_object_mut()?;
        members.insert("resource".into(), format!("{}{}", self.origin, self.path).into());
        members.shift_remove(SIGNED_METADATA);
        Some(document.to_string())
    }

    /// Makes the challenges of the server lead to the document of this resource.
    pub(super) fn edit_challenges(&self, headers: &mut HeaderMap) {
        let url = format!("{}/.well-known/oauth-protected-resource{}", self.origin, self.path);
        let edit = |value: &HeaderValue| {
            let edited = value.to_str().ok().and_then(|text| replace_parameter(text, &url));
            edited.and_then(|text| text.parse().ok()).unwrap_or_else(|| value.clone())
        };
        let edited: Vec<HeaderValue> = headers.get_all(WWW_AUTHENTICATE).iter().map(edit).collect();
        headers.remove(WWW_AUTHENTICATE);
        headers.extend(edited.into_iter().map(|value| (WWW_AUTHENTICATE, value)));
    }
}

/// Replaces the value of the parameter, if a challenge has it.
fn replace_parameter(challenge: &str, value: &str) -> Option<String> {
    let start = find_parameter(challenge)?;
    let after = &challenge[start..];
    let end = match after.strip_prefix('"') {
        Some(quoted) => find_quote(quoted).map_or(after.len(), |end| end + 2),
        None => after.find([',', ' ', '\t']).unwrap_or(after.len()),
    };
    Some(format!("{}\"{value}\"{}", &challenge[..start], &after[end..]))
}

/// Returns the position of the quote that ends a quoted string.
fn find_quote(quoted: &str) -> Option<usize> {
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some(at),
            '\\' => drop(chars.next()),
            _ => {}
        }
    }
    None
}

/// Returns the position of the value of the parameter, outside of quoted strings.
fn find_parameter(challenge: &str) -> Option<usize> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, c) in challenge.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if c == '\\' && is_quoted {
            is_escaped = true;
        } else if c == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted && challenge[at..].len() > PARAMETER.len() {
            let is_start = at == 0 || challenge[..at].ends_with([' ', '\t', ',']);
            let name = challenge.get(at..at + PARAMETER.len());
            let is_name = name.is_some_and(|name| name.eq_ignore_ascii_case(PARAMETER));
            if is_start && is_name && challenge[at + PARAMETER.len()..].starts_with('=') {
                return Some(at + PARAMETER.len() + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{PublicResource, replace_parameter};

    #[test]
    fn documents_name_this_resource() {
        let public = PublicResource::new("https://gw.example/", "/git/mcp");
        let check = |document: &str, expect: Option<&str>| {
            assert_eq!(public.document(document.as_bytes()).as_deref(), expect, "{document}");
        };
        check(
            r#"{"authorization_servers":["https://as.example"],"resource":"https://up.example/mcp","signed_metadata":"x","a":1}"#,
            Some(
                r#"{"authorization_servers":["https://as.example"],"resource":"https://gw.example/git/mcp","a":1}"#,
            ),
        );
        check("[]", None);
        check("<html>", None);
    }

    #[test]
    fn challenges_lead_to_this_resource() {
        let check = |challenge: &str, expect: Option<&str>| {
            assert_eq!(replace_parameter(challenge, "u").as_deref(), expect, "{challenge}");
        };
        check(
            r#"Bearer resource_metadata="https://x/y", scope="a""#,
            Some(r#"Bearer resource_metadata="u", scope="a""#),
        );
        check(
            "Bearer scope=a, Resource_Metadata=https://x/y, b=c",
            Some(r#"Bearer scope=a, Resource_Metadata="u", b=c"#),
        );
        check(
            r#"Bearer realm="resource_metadata=\"x\"", resource_metadata="y"#,
            Some(r#"Bearer realm="resource_metadata=\"x\"", resource_metadata="u""#),
        );
        check(
            r#"Bearer resource_metadata="https://x/\"a\\", scope="b""#,
            Some(r#"Bearer resource_metadata="u", scope="b""#),
        );
        check(r#"Bearer resource_metadata="x\""#, Some(r#"Bearer resource_metadata="u""#));
        check(r#"Bearer my_resource_metadata="x""#, None);
        check("Bearer realm=é", None);
        check("Basic", None);
    }
}
