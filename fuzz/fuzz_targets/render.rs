//! Replies under any limits.
#![no_main]

#[allow(dead_code, unused_imports)]
#[path = "../../crates/portion-core/tests/it/laws/mod.rs"]
mod laws;
#[path = "../../crates/portion-core/tests/it/fuzz/render.rs"]
mod render;

libfuzzer_sys::fuzz_target!(|input: &[u8]| render::check(input));
