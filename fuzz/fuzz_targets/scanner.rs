//! What is JSON, and what is left of it without its white space.
#![no_main]

use libfuzzer_sys::fuzz_target;
use portion_core::scan::{Reader, decoded, escaped_len, minify, quote, same_json};
use serde_json::value::RawValue;

fuzz_target!(|text: &str| {
    let mut reader = Reader::new(text);
    let valid = reader.skip().and_then(|_| reader.end()).is_ok();
    assert_eq!(valid, serde_json::from_str::<&RawValue>(text).is_ok());
    let quoted = quote(text);
    assert_eq!(quoted.len(), escaped_len(text) + 2);
    assert_eq!(decoded(&quoted), text);
    if valid {
        let mut minified = String::new();
        minify(text, &mut minified);
        assert!(serde_json::from_str::<&RawValue>(&minified).is_ok());
        assert!(same_json(text, &minified) && same_json(text, text));
    }
});
