//! Advises page sizes that would have saved follow-ups, from how many pages callers read.
//!
//! The result is an **estimate**. It assumes that further items cost as much as the items served, and that callers
//! read as far as they did. A page never holds more items than four calls in five read, nor more than the token budget
//! allows. Within these bounds the advised size saves the most tokens: items that nobody reads count against the
//! follow-ups saved.

mod sequence;
mod size;

pub use sequence::PageSequences;
pub(crate) use size::MIN_READ_ON_SHARE;
pub use size::{Advice, Limits, Verdict};

/// Minimum number of calls for advice.
pub const MIN_CALLS: u64 = 20;
