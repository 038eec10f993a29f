//! Arguments of calls and follow-ups.
#![no_main]

#[path = "../../crates/portion-core/tests/it/fuzz/arguments.rs"]
mod arguments;
#[allow(dead_code, unused_imports)]
#[path = "../../crates/portion-core/tests/it/laws/mod.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|input: &[u8]| arguments::check(input));
