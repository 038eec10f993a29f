//! Chunks of text.
#![no_main]

#[path = "../../crates/portion-text/tests/it/fuzz/chunkers.rs"]
mod chunkers;

libfuzzer_sys::fuzz_target!(|input: &[u8]| chunkers::check(input));
