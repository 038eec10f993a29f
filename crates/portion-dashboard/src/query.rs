//! Parses URL queries and builds links.

use std::fmt::Write as _;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use thiserror::Error;

/// Characters that need no escape (RFC 3986, unreserved).
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Parameters as pairs of name and value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

/// An invalid parameter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid `{name}`: {why}")]
pub(crate) struct InvalidParameter {
    /// Name of the parameter.
    pub(crate) name: String,
    /// Expected values.
    pub(crate) why: String,
}

impl InvalidParameter {
    pub(crate) fn new(name: &str, why: impl Into<String>) -> Self {
        Self { name: name.to_owned(), why: why.into() }
    }
}

impl Query {
    /// Parses a query string. Invalid UTF-8 becomes U+FFFD.
    pub(crate) fn read(raw: Option<&str>) -> Self {
        let pairs = raw.unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let part = |text: &str| decoded(&text.replace('+', " "));
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(name, value)| (part(name), part(value)))
                .collect(),
        )
    }

    /// Returns the value of a parameter. An empty value, as forms send it, counts as none.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(at, _)| at == name);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Returns all parameters; empty values are `None`.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(name, _)| (name.as_str(), self.get(name)))
    }

    /// Returns an error if there is a parameter that is not in `known`.
    pub(crate) fn check(&self, known: &[&str]) -> Result<(), InvalidParameter> {
        match self.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) if known.is_empty() => {
                Err(InvalidParameter::new(name, "this path takes no parameters"))
            }
            Some((name, _)) => {
                Err(InvalidParameter::new(name, format!("expected one of {}", known.join(", "))))
            }
            None => Ok(()),
        }
    }
}

/// Returns a path with a query. Parameters without a value are left out.
pub(crate) fn link(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut link = path.to_owned();
    let mut mark = '?';
    for (name, value) in parameters {
        if let Some(value) = value {
            let _ = write!(link, "{mark}{name}={}", encoded(value));
            mark = '&';
        }
    }
    link
}

/// Escapes text for a path segment or a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// Decodes a path segment or a query part.
pub(crate) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Parses a number of exactly `digits` hexadecimal digits.
pub(crate) fn hex_number(text: &str, digits: usize) -> Option<u128> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u128::from_str_radix(text, 16).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_as_they_were_written() {
        let name = "docs/list & find?=50 %+é";
        let link = link("/requests", &[("endpoint", Some(name)), ("outcome", None), ("limit", Some("5"))]);
        assert_eq!(link, "/requests?endpoint=docs%2Flist%20%26%20find%3F%3D50%20%25%2B%C3%A9&limit=5");
        let query = Query::read(link.split_once('?').map(|(_, query)| query));
        assert_eq!((query.get("endpoint"), query.get("limit")), (Some(name), Some("5")));
        assert_eq!(query.get("outcome"), None);
    }

    #[test]
    fn forms_send_blanks_and_nothing() {
        let query = Query::read(Some("since=2026-11-22+10:00&until=&&x"));
        assert_eq!((query.get("since"), query.get("until")), (Some("2026-11-22 10:00"), None));
        let wrong = query.check(&["since", "until"]).expect_err("there is no x");
        assert_eq!(wrong.to_string(), "invalid `x`: expected one of since, until");
    }

    #[test]
    fn numbers_have_all_their_digits() {
        assert_eq!(hex_number("00ff", 4), Some(255));
        for none in ["ff", "+0ff", "00fg", "00ffff"] {
            assert_eq!(hex_number(none, 4), None);
        }
    }
}
