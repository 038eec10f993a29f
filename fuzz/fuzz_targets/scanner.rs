//! JSON in place, compared with `serde_json`.
#![no_main]

#[path = "../../crates/portion-json/tests/scan/fuzz/scanner.rs"]
mod scanner;

libfuzzer_sys::fuzz_target!(|input: &[u8]| scanner::check(input));
