//! The limits of an endpoint, validated once.
//!
//! ```
//! use portion_core::policy::{Policy, PolicyError};
//!
//! let policy = Policy { default_page_size: 500, ..Policy::default() };
//! let contradiction = policy.validate().unwrap_err();
//! assert!(matches!(contradiction, PolicyError::Contradictory { upper: "maxPageSize", .. }));
//! ```

mod limit_overrides;
mod modes;
mod render_options;
mod strip_rule;

use thiserror::Error;

pub use limit_overrides::{ClientLimits, LimitOverrides, PolicyProfile};
pub use modes::{FillStrategy, FirstRows, OrderStrategy, RowStyle};
pub use render_options::{
    EnvelopeMode, MetadataMode, MetadataStyle, NamedSection, RenderOptions, StructuredMode, Techniques,
};
pub use strip_rule::StripRule;

/// Smallest budget that holds a notice and some content, in tokens.
pub const MIN_BUDGET: usize = 300;
/// Smallest byte limit that holds a notice and some content.
pub const MIN_BYTE_LIMIT: usize = 4096;

/// The limits on the replies of an endpoint. Tokens are counted by the configured counter.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Maximum tokens of a reply, unless the request asks for a larger one.
    pub token_budget_threshold: usize,
    /// Target tokens of such a reply when the payload is oversized.
    pub reply_target: usize,
    /// Maximum tokens of a reply to an explicit request.
    pub hard_cap: usize,
    /// Maximum bytes of a reply on the wire, whatever its tokens.
    pub hard_byte_limit: usize,
    /// Maximum bytes of a reply on the wire when counting tokens failed.
    pub fallback_byte_limit: usize,
    /// Maximum bytes of an image or audio block that is passed on.
    pub media_byte_limit: usize,
    /// Tokens that an image or audio block counts as.
    pub media_tokens: usize,
    /// Maximum tokens of a payload that is passed on whole in any case.
    pub full_below: usize,
    /// Items per page.
    pub default_page_size: usize,
    /// Maximum items per page that can be requested.
    pub max_page_size: usize,
    /// Tokens above which a single object is summarized.
    pub summarize_above: usize,
    /// Tokens above which text is chunked.
    pub chunk_above: usize,
    /// Tokens per chunk.
    pub chunk_size: usize,
    /// Lines per chunk.
    pub chunk_lines: usize,
    /// Share of the budget from which a reply suggests a narrower call.
    pub warn_at: f64,
    /// Format of the records of a page.
    pub rows: RowStyle,
    /// Content of a first reply.
    pub first_rows: FirstRows,
    /// Order of a list when the request asks for none.
    pub strategy: OrderStrategy,
    /// Selection of ranked records when not all fit.
    pub fill: FillStrategy,
    /// All settings that are not limits.
    pub render_options: RenderOptions,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            token_budget_threshold: 4_000,
            reply_target: 4_000,
            hard_cap: 12_000,
            hard_byte_limit: 65_536,
            fallback_byte_limit: 10_240,
            media_byte_limit: 5 << 20,
            media_tokens: 1_600,
            full_below: 500,
            default_page_size: 50,
            max_page_size: 200,
            summarize_above: 2_000,
            chunk_above: 2_000,
            chunk_size: 2_000,
            chunk_lines: 200,
            warn_at: 0.8,
            rows: RowStyle::Objects,
            first_rows: FirstRows::Page,
            strategy: OrderStrategy::Auto,
            fill: FillStrategy::Stop,
            render_options: RenderOptions::default(),
        }
    }
}

/// The error for an invalid limit.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PolicyError {
    /// A limit is below what a reply needs.
    #[error("{key} is {given}; it must be at least {least}")]
    TooSmall {
        /// The configuration key.
        key: &'static str,
        /// The given value.
        given: usize,
        /// The smallest valid value.
        least: usize,
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
        Self { reply_target: 1_200, hard_cap, rows, first_rows, ..self }
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

    /// Returns the policy for a client with `remaining` tokens in total: a reply takes at most a
    /// tenth of them, an explicit request a quarter, but never less than the minimum of a reply.
    ///
    /// Each plain reply reduces the remainder by at most a tenth, so it is not used up before the minimum
    /// budget is reached: by then 50 replies have had 150,000 tokens, and each further one has 300.
    #[must_use]
    pub fn narrowed_to(&self, remaining: usize) -> Self {
        let threshold = self.token_budget_threshold.min((remaining / 10).max(MIN_BUDGET));
        let within = |limit: usize| limit.min(threshold);
        Self {
            token_budget_threshold: threshold,
            reply_target: within(self.reply_target),
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
        if self.reply_target < self.token_budget_threshold { tokens * 7 / 20 } else { tokens / 8 }
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
        let least = [
            ("tokenBudgetThreshold", self.token_budget_threshold, MIN_BUDGET),
            ("replyTarget", self.reply_target, MIN_BUDGET),
            // A payload with two forms shares the cap between them.
            ("hardCap", self.hard_cap, 2 * MIN_BUDGET),
            ("hardByteLimit", self.hard_byte_limit, MIN_BYTE_LIMIT),
            ("fallbackByteLimit", self.fallback_byte_limit, MIN_BYTE_LIMIT),
            ("defaultPageSize", self.default_page_size, 1),
            ("chunkSize", self.chunk_size, 100),
            ("chunkLines", self.chunk_lines, 1),
        ];
        let small = least.into_iter().filter(|(_, given, least)| given < least);
        let ordered = [
            ("replyTarget", self.reply_target, "tokenBudgetThreshold", self.token_budget_threshold),
            ("tokenBudgetThreshold", self.token_budget_threshold, "hardCap", self.hard_cap),
            ("fallbackByteLimit", self.fallback_byte_limit, "hardByteLimit", self.hard_byte_limit),
            ("defaultPageSize", self.default_page_size, "maxPageSize", self.max_page_size),
        ];
        let crossed = ordered.into_iter().filter(|(_, low, _, high)| low > high);
        let share = Some(self.warn_at).filter(|share| !(*share > 0.0 && *share <= 1.0));
        small
            .map(|(key, given, least)| PolicyError::TooSmall { key, given, least })
            .chain(crossed.map(|(lower, low, upper, high)| PolicyError::Contradictory {
                lower,
                low,
                upper,
                high,
            }))
            .chain(share.map(PolicyError::InvalidShare))
    }
}
