//! What other limits would have served, estimated from records.
//!
//! **An estimate.** Records hold sizes, not payloads: what a page would cost is worked out of what items cost on the
//! average, a page that was asked to be of some size is taken for one that was not, and callers are taken to ask what
//! they asked. How often the same estimate, made with the limits that were
//! in force, agrees with what was served is told beside it ([`Forecast::agreed`]): trust it as far as that.

mod estimate;
mod forecast;

pub use estimate::{Estimated, Limits, Payload, estimate};
pub use forecast::{Forecast, Passage, forecast};
