//! Cursors.
#![no_main]

#[path = "../../crates/portion-core/tests/it/fuzz/cursor.rs"]
mod cursor;

libfuzzer_sys::fuzz_target!(|input: &[u8]| cursor::check(input));
