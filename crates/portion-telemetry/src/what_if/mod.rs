//! Estimates replies under other limits, from recorded sizes.
//!
//! The result is an **estimate**. Records hold sizes, not payloads. The cost of a page is taken from the average cost
//! of an item, a page size set by the caller is ignored, and callers are assumed to send the same requests.
//! [`Forecast::agreed`] counts how often the same estimate, made with the limits in force, matches the recorded reply.
//! It is the measure of how far to trust the result.

mod estimate;
mod forecast;

pub use estimate::{Estimated, Limits, Payload, estimate};
pub use forecast::{Forecast, OutcomeChange, forecast};
