//! How near counts come to what they are held against, reply by reply, and what follows where they do not.
//!
//! Counters by length can be wrong by any factor, so each of their replies is held against its reference before it is
//! sent; one that costs far more than it seemed is drawn anew within the byte limit. Of the others a sample is counted
//! when it is on its way. Both are `CountSample`s, and the `ledger` draws one conclusion from them, endpoint by endpoint.

pub(crate) mod recount;
pub(crate) mod texts;
pub(crate) mod tracker;

use portion_core::tokens::accuracy::{self, ACCURATE_MAX_ERROR};

/// How many times its count a single reply costs that shows that count to be badly wrong by itself.
const SINGLE_REPLY_FAR_RATIO: f64 = 1.5;

/// What a reply's texts cost by the counter that decided, and by what that is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountSample {
    pub(crate) estimated: usize,
    pub(crate) actual: usize,
}

impl CountSample {
    /// By how much the count is too high, as a share of what it is held against; negative: too low.
    pub(crate) fn relative_error(self) -> f64 {
        accuracy::relative_error(self.estimated as u64, self.actual as u64)
    }

    /// Whether it costs so much more than it seemed that nothing need be known of other replies.
    pub(crate) fn is_far_too_low(self) -> bool {
        self.actual as f64 > SINGLE_REPLY_FAR_RATIO * self.estimated as f64
    }

    fn is_near(self) -> bool {
        self.relative_error().abs() <= ACCURATE_MAX_ERROR
    }

    /// What it costs at least, by either.
    fn larger_count(self) -> usize {
        self.estimated.max(self.actual)
    }
}

/// How near counts have come of late.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccuracyStats {
    /// Replies that were held against their reference since the process began.
    pub sampled_count: u64,
    /// Those of the last of them that are looked back on.
    pub recent_count: u64,
    /// The share of those whose count was within 20 %; `None` where there are none.
    pub near_share: Option<f64>,
    /// Whether that share is below 85 %, of a hundred replies at least.
    pub is_low: bool,
    /// Endpoints whose counts are too low, so that the byte limit decides for now.
    pub in_fallback_count: usize,
    /// Endpoints whose counts are too high: replies are smaller than they need be.
    pub too_high_count: usize,
}
