//! Roll-ups: statistics of minutes and hours, so a week is answered as fast as an hour.
//!
//! A roll-up holds exactly the sum of its requests. Both become a [`Tally`], and tallies can be added.

mod grain;
mod quantile_histogram;
mod quantiles;
mod row;
mod stats;
mod tally;

pub(crate) use grain::Grain;
pub(crate) use quantile_histogram::QuantileHistogram;
pub use quantiles::Quantiles;
pub use stats::TrafficStats;
pub(crate) use stats::share;
pub(crate) use tally::{RequestSample, Tally};

/// Endpoint id of roll-ups over all endpoints. Ids of real endpoints begin at one.
pub(crate) const ALL: i64 = 0;

/// Kind and name of the endpoint that collects roll-ups too small to keep.
pub(crate) const OTHER: &str = "other";
