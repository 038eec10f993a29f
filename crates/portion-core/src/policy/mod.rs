//! The limits of an endpoint, validated once.
//!
//! ```
//! use portion_core::policy::{Policy, PolicyError};
//!
//! let policy = Policy { default_page_size: 500, ..Policy::default() };
//! let contradiction = policy.validate().unwrap_err();
//! assert!(matches!(contradiction, PolicyError::Contradictory { upper: "maxPageSize", .. }));
//! ```

mod limits;
mod render_options;
mod strip_rule;

pub use limits::{ClientLimits, LimitOverrides, LimitValue, Policy, PolicyProfile};
pub use render_options::{
    EnvelopeMode, FillStrategy, FirstRows, MetadataMode, MetadataStyle, NamedSection, OrderStrategy,
    RenderOptions, RowStyle, StructuredMode, Techniques,
};
pub use strip_rule::StripRule;

use thiserror::Error;

/// Smallest budget that holds a notice and some content, in tokens.
pub const MIN_BUDGET: usize = 300;
/// Smallest byte limit that holds a notice and some content.
pub const MIN_BYTE_LIMIT: usize = 4096;

/// The error for an invalid limit.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PolicyError {
    /// A limit is below what a reply needs.
    #[error("{key} is {given}; it must be at least {min}")]
    TooSmall {
        /// The configuration key.
        key: &'static str,
        /// The given value.
        given: usize,
        /// The smallest valid value.
        min: usize,
    },
    /// Two limits contradict each other.
    #[error("{lower} is {low}, above {upper} ({high}); raise {upper} or lower {lower}")]
    Contradictory {
        /// Key of the limit that must be the lower.
        lower: &'static str,
        /// Its value.
        low: usize,
        /// Key of the limit that must be the higher.
        upper: &'static str,
        /// Its value.
        high: usize,
    },
    /// A share is out of range.
    #[error("warnAt is {0}; it must be a share of the budget, above 0 and at most 1")]
    InvalidShare(f64),
}

impl Policy {
    /// Pairs of keys of which the first must not exceed the second.
    pub const ORDERED: [(&'static str, &'static str); 5] = [
        ("rankedTarget", "replyTarget"),
        ("replyTarget", "tokenBudgetThreshold"),
        ("tokenBudgetThreshold", "hardCap"),
        ("fallbackByteLimit", "hardByteLimit"),
        ("defaultPageSize", "maxPageSize"),
    ];

    /// Returns true if some reply can show an image or audio of this many decoded bytes.
    pub fn can_show_media(&self, decoded_bytes: usize) -> bool {
        decoded_bytes <= self.media_byte_limit && self.media_tokens + MIN_BUDGET <= self.hard_cap
    }

    /// Returns the profile `lean`: lower targets for oversized payloads, and records as tables where that
    /// saves tokens.
    #[must_use]
    pub fn lean(self) -> Self {
        let hard_cap = self.token_budget_threshold.max(4_000);
        let (rows, first_rows) = (RowStyle::Auto, FirstRows::Sample);
        Self { reply_target: 1_200, ranked_target: 600, hard_cap, rows, first_rows, ..self }
    }

    /// Returns the profile `soft`: pages so large that few lists are paged, as a start.
    #[must_use]
    pub fn soft(self) -> Self {
        Self { default_page_size: 200, ..self }
    }

    /// Returns the policy without limits, for content that is to be shown whole.
    #[must_use]
    pub fn without_limits(&self) -> Self {
        // Sums and products of these limits stay far from overflow.
        const MUCH: usize = 1 << 32;
        const MANY: usize = 1 << 31;
        Self {
            token_budget_threshold: MUCH,
            reply_target: MUCH,
            ranked_target: MUCH,
            hard_cap: 2 * MUCH,
            hard_byte_limit: 4 * MUCH,
            fallback_byte_limit: 4 * MUCH,
            media_byte_limit: MUCH,
            full_below: MUCH,
            summarize_above: MUCH,
            chunk_above: MUCH,
            chunk_size: MUCH,
            chunk_lines: MANY,
            ..self.clone()
        }
    }

    /// Returns the policy for a session with `remaining` tokens in total: a reply takes at most a
    /// tenth of them, an explicit request a quarter, but never less than the minimum of a reply.
    ///
    /// Each plain reply reduces the remainder by at most a tenth, so it is not used up before replies have the minimum
    /// budget.
    #[must_use]
    pub fn narrowed_to(&self, remaining: usize) -> Self {
        let threshold = self.token_budget_threshold.min((remaining / 10).max(MIN_BUDGET));
        let within = |limit: usize| limit.min(threshold);
        Self {
            token_budget_threshold: threshold,
            reply_target: within(self.reply_target),
            ranked_target: within(self.ranked_target),
            hard_cap: self.hard_cap.min((remaining / 4).max(2 * MIN_BUDGET)),
            full_below: within(self.full_below),
            summarize_above: within(self.summarize_above),
            chunk_above: within(self.chunk_above),
            chunk_size: within(self.chunk_size),
            ..self.clone()
        }
    }

    /// Returns how many of `tokens` tokens of a first reply are for the description of the whole: a large
    /// share if replies have a low target, a small one if they show a page.
    pub(crate) fn description_tokens(&self, tokens: usize) -> usize {
        if self.reply_target < self.token_budget_threshold { tokens / 5 } else { tokens / 8 }
    }

    /// Returns the share of a budget of `tokens` tokens from which a reply suggests a narrower call;
    /// `None` if the budget is a target far below the maximum, which is meant to be filled.
    pub(crate) fn warning_share(&self, tokens: usize) -> Option<f64> {
        let aimed = tokens == self.reply_target && tokens < self.token_budget_threshold;
        (!aimed).then_some(self.warn_at)
    }

    /// Checks that the limits are consistent.
    ///
    /// # Errors
    /// The first violation.
    pub fn validate(&self) -> Result<(), PolicyError> {
        self.violations().next().map_or(Ok(()), Err)
    }

    /// Yields all violations of the limits.
    pub fn violations(&self) -> impl Iterator<Item = PolicyError> {
        let small = self.minimums().into_iter().filter(|(_, given, min)| given < min);
        let count = |key| self.limit(key).and_then(LimitValue::as_count).unwrap_or_default();
        let ordered =
            Self::ORDERED.into_iter().map(move |(lower, upper)| (lower, count(lower), upper, count(upper)));
        let crossed = ordered.filter(|(_, low, _, high)| low > high);
        let share = Some(self.warn_at).filter(|share| !(*share > 0.0 && *share <= 1.0));
        small
            .map(|(key, given, min)| PolicyError::TooSmall { key, given, min })
            .chain(crossed.map(|(lower, low, upper, high)| PolicyError::Contradictory {
                lower,
                low,
                upper,
                high,
            }))
            .chain(share.map(PolicyError::InvalidShare))
    }
}
