//! Encodings of text.
#![no_main]

#[path = "../../crates/portion-text/tests/it/fuzz/encodings.rs"]
mod encodings;

libfuzzer_sys::fuzz_target!(|input: &[u8]| encodings::check(input));
