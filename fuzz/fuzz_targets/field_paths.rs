//! Fields and paths of payloads.
#![no_main]

#[path = "../../crates/portion-core/tests/it/fuzz/field_paths.rs"]
mod field_paths;

libfuzzer_sys::fuzz_target!(|input: &[u8]| field_paths::check(input));
