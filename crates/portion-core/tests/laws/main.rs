//! Properties of replies, checked with payloads, requests and limits of every kind.
//!
//! Each case is generated from a seed, which is random enough to find unexpected cases and cheap enough for
//! thousands.

mod blocks;
mod chance;
mod chunks;
mod cursor;
mod dice;
mod endpoints;
mod found;
mod json;
mod lossless;
mod manner;
mod media;
mod numbered;
mod payloads;
mod plain;
mod reading;
mod replies;
mod requests;
mod rows;
mod session;
mod stored;
mod table;
mod trace;

use proptest::prelude::ProptestConfig;

/// Returns the number of cases, scaled by `PROPTEST_CASES` (256 is 1:1).
fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = (u64::from(usual) * u64::from(config.cases) / 256).max(1) as u32;
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 0, ..config }
}
