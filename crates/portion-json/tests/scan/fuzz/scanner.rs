//! Fuzz target: what is JSON, and what is left of it without its white space.

use portion_json::scan::{JsonReader, escaped_len, is_equivalent_json, minify, quote, unescape};
use serde_json::value::RawValue;

pub(crate) fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    let mut reader = JsonReader::new(text);
    let valid = reader.skip().and_then(|_| reader.expect_end()).is_ok();
    assert_eq!(valid, serde_json::from_str::<&RawValue>(text).is_ok());
    let quoted = quote(text);
    assert_eq!(quoted.len(), escaped_len(text) + 2);
    assert_eq!(unescape(&quoted), text);
    if valid {
        let mut minified = String::new();
        minify(text, &mut minified);
        assert!(serde_json::from_str::<&RawValue>(&minified).is_ok());
        assert!(is_equivalent_json(text, &minified) && is_equivalent_json(text, text));
    }
}
