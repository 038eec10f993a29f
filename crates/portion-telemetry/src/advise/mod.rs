//! Which page sizes would have saved follow-ups, worked out of how far callers read on.
//!
//! **An estimate.** Items to come are taken to cost what those served did, and callers to read as far as they did. A page
//! need not be larger than what four calls in five read, nor can it be than its budget holds; within that, it is as large
//! as saves most: what nobody reads of it counts against what is spared to those who read on.

mod size;
mod walk;

pub(crate) use size::READ_ON;
pub use size::{Advice, Limits, Verdict};
pub use walk::Walks;

/// Calls from which something can be said.
pub const LEAST_CALLS: u64 = 20;
