//! Structure of text: headings, log entries, tables, diffs, times.
#![no_main]

#[path = "../../crates/portion-text/tests/it/fuzz/documents.rs"]
mod documents;

libfuzzer_sys::fuzz_target!(|input: &[u8]| documents::check(input));
