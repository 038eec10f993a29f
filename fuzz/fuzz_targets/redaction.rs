//! Redaction of JSON and text.
#![no_main]

#[path = "../../crates/portion-redact/tests/it/fuzz/redaction.rs"]
mod redaction;

libfuzzer_sys::fuzz_target!(|input: &[u8]| redaction::check(input));
