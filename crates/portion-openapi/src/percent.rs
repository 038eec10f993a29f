//! Percent-encoding of URLs and forms.

use std::borrow::Cow;

/// Encodes everything but unreserved characters (RFC 3986, 2.3).
///
/// ```
/// assert_eq!(portion_openapi::percent::encode("a b/é"), "a%20b%2F%C3%A9");
/// ```
pub fn encode(text: &str) -> String {
    encode_except(text, |_| false)
}

/// Decodes escapes. What is no escape, or would be no UTF-8, stays.
///
/// ```
/// assert_eq!(portion_openapi::percent::decode("a%20b%2"), "a b%2");
/// ```
pub fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |index: usize| bytes.get(index).and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (byte, digit(at + 1), digit(at + 2)) {
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            decoded.push(byte);
            at += 1;
        }
    }
    String::from_utf8(decoded).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Like [`encode`], but keeps reserved characters that do not end a query parameter.
pub(crate) fn encode_reserved(text: &str) -> String {
    encode_except(text, |byte| b":/?[]@!$'()*,;".contains(&byte))
}

/// Encodes what must not stand literally in the path of a document. Escapes that are there stay.
pub(crate) fn encode_template(text: &str) -> String {
    encode_except(text, |byte| b"/:@!$&'()*+,;=%".contains(&byte))
}

fn encode_except(text: &str, keeps: impl Fn(u8) -> bool) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || keeps(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.extend(['%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
    encoded
}
