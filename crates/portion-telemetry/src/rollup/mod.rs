//! Figures of minutes and hours, added up once, so that a week is answered as fast as an hour.
//!
//! A roll-up is what raw rows add up to, no more: both become a [`Tally`], and tallies of tallies are tallies.

mod grain;
mod row;
mod spread;
mod tally;

pub(crate) use grain::Grain;
pub(crate) use spread::Spread;
pub(crate) use tally::{Seen, Tally};

/// The endpoint of a roll-up that is of all of them: rows of endpoints begin at one.
pub(crate) const ALL: i64 = 0;

/// The kind and the name of the endpoint that those are added up as of which too little is kept.
pub(crate) const OTHER: &str = "other";
