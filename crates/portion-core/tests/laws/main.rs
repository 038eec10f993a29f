//! The laws of a reply, held against payloads, requests and limits of every kind.
//!
//! A case is made from a seed: random enough to find what nobody thought of, and cheap enough for thousands.

mod blocks;
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
mod table;
mod trace;

use proptest::prelude::ProptestConfig;

/// So many cases, or as many in proportion as `PROPTEST_CASES` asks for (256 being 1:1).
fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = (u64::from(usual) * u64::from(config.cases) / 256).max(1) as u32;
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 0, ..config }
}
