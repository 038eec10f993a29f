//! Measures the accuracy of token counts, and reacts if it is low.
//!
//! Counters that only use the length can be wrong by any factor, so each of their replies is compared with
//! the reference before it is sent; a reply that costs far more than estimated is rendered again within the
//! byte limit. For other counters a sample of replies is recounted in the background. Both produce a
//! `CountSample`, and the `tracker` evaluates them per endpoint.

pub(crate) mod recount;
pub(crate) mod texts;
pub(crate) mod tracker;

use portion_tokens::accuracy::{self, ACCURATE_MAX_ERROR};

/// Ratio of actual to estimated cost from which a single reply proves the counter badly wrong.
const SINGLE_REPLY_FAR_RATIO: f64 = 1.5;

/// Cost of a reply's texts by the counter in use, and by its reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountSample {
    pub(crate) estimated: usize,
    pub(crate) actual: usize,
}

impl CountSample {
    /// Returns the relative error of the estimate; negative if it is too low.
    pub(crate) fn relative_error(self) -> f64 {
        accuracy::relative_error(self.estimated as u64, self.actual as u64)
    }

    /// Returns true if the estimate is so far too low that one reply is sufficient evidence.
    pub(crate) fn is_far_too_low(self) -> bool {
        self.actual as f64 > SINGLE_REPLY_FAR_RATIO * self.estimated as f64
    }

    fn is_near(self) -> bool {
        self.relative_error().abs() <= ACCURATE_MAX_ERROR
    }

    /// Returns the larger of both counts.
    fn larger_count(self) -> usize {
        self.estimated.max(self.actual)
    }
}

/// Accuracy of recent token counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AccuracyStats {
    /// Counter of the recounts, where the client is unknown; `None` if the counter in use has no exact reference.
    pub exact_counter: Option<&'static str>,
    /// Replies that were recounted since the process started.
    pub sampled_count: u64,
    /// Recounted replies in the current window.
    pub recent_count: u64,
    /// Share of the window whose count was within 20 %; `None` if the window is empty.
    pub near_share: Option<f64>,
    /// True if that share is below 85 %, over at least a hundred replies.
    pub is_low: bool,
    /// Endpoints whose counts are too low, so that only the byte limit applies for now.
    pub in_fallback_count: usize,
    /// Endpoints whose counts are too high: their replies are smaller than necessary.
    pub too_high_count: usize,
}
