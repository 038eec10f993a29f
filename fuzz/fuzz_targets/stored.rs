//! Stored snapshots and views.
#![no_main]

#[allow(dead_code, unused_imports)]
#[path = "../../crates/portion-core/tests/it/laws/mod.rs"]
mod laws;
#[path = "../../crates/portion-core/tests/it/fuzz/stored.rs"]
mod stored;

libfuzzer_sys::fuzz_target!(|input: &[u8]| stored::check(input));
