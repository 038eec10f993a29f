//! Estimates replies under other limits, from recorded sizes.
//!
//! The result is an **estimate**. Records hold sizes, not payloads. The cost of a page is taken from the average cost
//! of an item, a page size set by the caller is ignored, and callers are assumed to send the same requests.
//! [`Forecast::agreed`] counts how often the same estimate, made with the limits in force, matches the recorded reply.
//! It is the measure of how far to trust the result.
//!
//! ```
//! use portion_core::event::Outcome;
//! use portion_telemetry::read::Record;
//! use portion_telemetry::what_if::{Limits, estimate};
//!
//! let limits = Limits {
//!     shaped: true,
//!     pagination: true,
//!     summarization: true,
//!     chunking: true,
//!     threshold: 4_000,
//!     target: 4_000,
//!     full_below: 500,
//!     page_size: 50,
//!     summarize_above: 2_000,
//!     chunk_above: 2_000,
//!     chunk_size: 2_000,
//!     hard_byte_limit: 65_536,
//! };
//! let list = Record {
//!     outcome: "untouched".to_owned(),
//!     form: Some("list".to_owned()),
//!     original_tokens: Some(6_000),
//!     original_bytes: 24_000,
//!     total_items: Some(100),
//!     ..Record::default()
//! };
//! let reply = estimate(&list, &limits).unwrap();
//! assert_eq!((reply.outcome, reply.tokens), (Outcome::Paginated, 3_000));
//! ```

mod estimate;
mod forecast;

pub use estimate::{Estimated, Limits, Payload, estimate};
pub use forecast::{Forecast, OutcomeChange, forecast};
