//! Properties of replies, checked with payloads, requests and limits of every kind.
//!
//! Generators draw from [`choices::Dice`], a strategy that shrinks. A case that does not concern a property is rejected and
//! replaced; a property that rejects more than two thirds of its cases fails.

mod blocks;
pub(crate) mod choices;
mod chunks;
mod cursor;
mod cursor_randomness;
mod endpoints;
pub(crate) mod json;
pub(crate) mod lossless;
mod media;
mod numbered;
mod partial;
mod payloads;
mod plain;
mod plans;
mod reading;
mod regressions;
mod render_options;
mod replies;
pub(crate) mod requests;
mod rows;
pub(crate) mod session;
mod stored;
mod table;
mod trace;

use proptest::prelude::{ProptestConfig, TestCaseError};
use proptest::test_runner::TestCaseResult;

/// Returns the number of cases, scaled by `PROPTEST_CASES` (256 is 1:1).
fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = (u64::from(usual) * u64::from(config.cases) / 256).max(1) as u32;
    ProptestConfig { cases, max_global_rejects: 2 * cases, max_shrink_iters: 2_000, ..config }
}

/// Rejects a case that does not concern a property.
fn reject(why: &'static str) -> TestCaseResult {
    Err(TestCaseError::reject(why))
}
