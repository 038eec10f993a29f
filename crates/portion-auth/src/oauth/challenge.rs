//! The `WWW-Authenticate` fields of a response (RFC 9110, 11.6.1; RFC 6750, 3; RFC 9728, 5.1).

use http::header::{HeaderMap, WWW_AUTHENTICATE};

/// Parameters of the `Bearer` challenge of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// URL of the metadata of the protected resource.
    pub resource_metadata: Option<String>,
    /// Scopes that the request needs.
    pub scope: Option<String>,
    /// Error code.
    pub error: Option<String>,
}

impl Challenge {
    /// Reads the fields of a response. Without a `Bearer` challenge, all parameters are absent.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let mut challenge = Self::default();
        for value in headers.get_all(WWW_AUTHENTICATE) {
            challenge.read(&String::from_utf8_lossy(value.as_bytes()));
        }
        challenge
    }

    /// Returns true if the token is valid, but lacks scopes.
    pub fn is_insufficient_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Reads one field. The first value of a parameter counts.
    fn read(&mut self, field: &str) {
        let mut rest = field;
        let mut is_bearer = false;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            if rest.is_empty() {
                return;
            }
            let (name, after) = split_token(rest);
            if name.is_empty() {
                // Not a token: the rest of a token68, or a stray character.
                let mut chars = rest.chars();
                chars.next();
                rest = chars.as_str();
                continue;
            }
            let after_space = after.trim_start_matches([' ', '\t']);
            let Some(value) = after_space.strip_prefix('=') else {
                is_bearer = name.eq_ignore_ascii_case("bearer");
                rest = after;
                continue;
            };
            let (value, after) = split_value(value.trim_start_matches([' ', '\t']));
            rest = after;
            if is_bearer {
                self.set(name, value);
            }
        }
    }

    fn set(&mut self, name: &str, value: String) {
        let field = match name.to_ascii_lowercase().as_str() {
            "resource_metadata" => &mut self.resource_metadata,
            "scope" => &mut self.scope,
            "error" => &mut self.error,
            _ => return,
        };
        field.get_or_insert(value);
    }
}

/// Splits off a token.
fn split_token(text: &str) -> (&str, &str) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    text.split_at(text.find(|c| !is_token(c)).unwrap_or(text.len()))
}

/// Splits off the value of a parameter: a token or a quoted string. Values without quotes may have the characters of URLs.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => value.extend(chars.next()),
            _ => value.push(c),
        }
    }
    (value, chars.as_str())
}

#[cfg(test)]
mod tests {
    use http::header::{HeaderMap, HeaderValue, WWW_AUTHENTICATE};

    use super::Challenge;

    fn check(fields: &[&str], expect: [Option<&str>; 3]) {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(field).expect("a field"));
        }
        let found = Challenge::from_headers(&headers);
        let found = [found.resource_metadata, found.scope, found.error];
        assert_eq!(found.each_ref().map(Option::as_deref), expect, "{fields:?}");
    }

    #[test]
    fn the_bearer_challenge_is_read() {
        let url = "https://h/.well-known/oauth-protected-resource/mcp";
        check(&[&format!("Bearer resource_metadata=\"{url}\"")], [Some(url), None, None]);
        check(
            &[&format!("bearer realm=x, resource_metadata={url}, scope=\"a b\"")],
            [Some(url), Some("a b"), None],
        );
        check(
            &["Basic realm=\"a, Bearer scope=no\", Bearer error = \"insufficient_scope\", scope=\"c\\\"d\""],
            [None, Some("c\"d"), Some("insufficient_scope")],
        );
        check(&["Negotiate abc==, Bearer scope=x"], [None, Some("x"), None]);
        check(&["Basic scope=no", "Bearer error=invalid_token"], [None, None, Some("invalid_token")]);
        check(&["Bearer"], [None, None, None]);
        check(&["Bearer scope=\"open"], [None, Some("open"), None]);
        check(&["=,=\"\", é Bearer scope=x"], [None, Some("x"), None]);
        check(&[], [None, None, None]);
    }
}
