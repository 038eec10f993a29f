//! Searches and SQL.
#![no_main]

#[path = "../../crates/portion-sql/tests/it/fuzz/query.rs"]
mod query;

libfuzzer_sys::fuzz_target!(|input: &[u8]| query::check(input));
