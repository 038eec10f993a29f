//! Encodes any text as the value of a header field.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const BASE64_PREFIX: &str = "=?base64?";
const BASE64_SUFFIX: &str = "?=";

/// Encodes a text as a field value: unchanged if possible, else as `=?base64?…?=`. Encoded are texts with
/// characters other than printable ASCII, with spaces at an end, and texts that look encoded.
pub fn encode_value(text: &str) -> Cow<'_, str> {
    let survives = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text == text.trim_matches(' ');
    let looks_encoded = text.len() >= BASE64_PREFIX.len() + BASE64_SUFFIX.len()
        && text.starts_with(BASE64_PREFIX)
        && text.ends_with(BASE64_SUFFIX);
    if survives && !looks_encoded {
        return Cow::Borrowed(text);
    }
    format!("{BASE64_PREFIX}{}{BASE64_SUFFIX}", STANDARD.encode(text)).into()
}

/// Decodes a field value: plain, or base64 in `=?base64?…?=`. `None` if it does not decode to text.
pub fn decode_value(field: &str) -> Option<String> {
    match field.strip_prefix(BASE64_PREFIX).and_then(|field| field.strip_suffix(BASE64_SUFFIX)) {
        Some(inside) => String::from_utf8(STANDARD.decode(inside).ok()?).ok(),
        None => Some(field.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{decode_value, encode_value};

    fn check(text: &str, expect: &str) {
        assert_eq!(encode_value(text), expect);
        assert_eq!(decode_value(expect).as_deref(), Some(text));
    }

    #[test]
    fn only_values_that_need_it_are_encoded() {
        check("", "");
        check("get_weather", "get_weather");
        check("a b?=", "a b?=");
        check(" a", "=?base64?IGE=?=");
        check("a\n", "=?base64?YQo=?=");
        check("é", "=?base64?w6k=?=");
        check("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
    }
}
