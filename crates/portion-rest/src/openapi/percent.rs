//! Percent-encoding of URLs and forms.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const UNRESERVED: AsciiSet = except(NON_ALPHANUMERIC.remove(b'-'), b"._~");
const QUERY: AsciiSet = except(UNRESERVED, b":/?[]@!$'()*,;");
const PATH: AsciiSet = except(UNRESERVED, b"/:@!$&'()*+,;=%");

/// Encodes everything but unreserved characters (RFC 3986, 2.3).
///
/// ```
/// assert_eq!(portion_rest::openapi::percent::encode("a b/é"), "a%20b%2F%C3%A9");
/// ```
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

/// Decodes escapes. What is no escape, or would be no UTF-8, stays.
///
/// ```
/// assert_eq!(portion_rest::openapi::percent::decode("a%20b%2"), "a b%2");
/// ```
pub fn decode(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8().unwrap_or(Cow::Borrowed(text))
}

/// Like [`encode`], but keeps reserved characters that do not end a query parameter.
pub(crate) fn encode_reserved(text: &str) -> String {
    utf8_percent_encode(text, &QUERY).to_string()
}

/// Encodes what must not stand literally in the path of a document. Escapes that are there stay.
pub(crate) fn encode_template(text: &str) -> String {
    utf8_percent_encode(text, &PATH).to_string()
}

const fn except(set: AsciiSet, kept: &[u8]) -> AsciiSet {
    match kept {
        [first, rest @ ..] => except(set.remove(*first), rest),
        [] => set,
    }
}
