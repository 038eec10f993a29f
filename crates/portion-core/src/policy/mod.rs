//! An endpoint's limits: what an operator decides, validated once.

mod limit_overrides;
mod modes;
mod render_options;
mod strip_rule;

use thiserror::Error;

pub use limit_overrides::{ClientLimits, LimitOverrides, PolicyProfile};
pub use modes::{FillStrategy, OrderStrategy, RowStyle};
pub use render_options::{
    EnvelopeMode, MetadataMode, MetadataStyle, NamedSection, RenderOptions, StructuredMode, Techniques,
};
pub use strip_rule::StripRule;

/// The least budget that holds a notice and something besides, in tokens.
pub const MIN_BUDGET: usize = 300;
/// The least byte limit that holds a notice and something besides.
pub const MIN_BYTE_LIMIT: usize = 4096;

/// The limits that replies of an endpoint obey. Tokens are by the configured counter.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// What a reply may cost that nobody asked to be larger, in tokens.
    pub token_budget_threshold: usize,
    /// What such a reply aims at when the payload is oversized, in tokens.
    pub reply_target: usize,
    /// What an explicit request may cost, in tokens.
    pub hard_cap: usize,
    /// Wire bytes of a reply, whatever its tokens.
    pub hard_byte_limit: usize,
    /// Wire bytes of a reply when counting tokens failed.
    pub fallback_byte_limit: usize,
    /// Bytes of an image or audio block up to which it passes.
    pub media_byte_limit: usize,
    /// Tokens an image or audio block counts as.
    pub media_tokens: usize,
    /// Tokens up to which a payload passes whole, whatever it is.
    pub full_below: usize,
    /// Items of a page.
    pub default_page_size: usize,
    /// The most items of a page that can be asked for.
    pub max_page_size: usize,
    /// Tokens above which a single object is summarized.
    pub summarize_above: usize,
    /// Tokens above which text is chunked.
    pub chunk_above: usize,
    /// Tokens of a chunk.
    pub chunk_size: usize,
    /// Lines of a chunk.
    pub chunk_lines: usize,
    /// Share of the budget from which a reply names a narrower call.
    pub warn_at: f64,
    /// How the records of a page are written.
    pub rows: RowStyle,
    /// In which order a list is shown that nobody asked to be in any.
    pub strategy: OrderStrategy,
    /// Which of ranked records are shown where not all fit.
    pub fill: FillStrategy,
    /// Everything that is no limit.
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
            strategy: OrderStrategy::Auto,
            fill: FillStrategy::Stop,
            render_options: RenderOptions::default(),
        }
    }
}

/// A limit that cannot be.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PolicyError {
    /// Below what a reply needs.
    #[error("{key} is {given}, but a reply needs at least {least}")]
    TooSmall {
        /// The configuration key.
        key: &'static str,
        /// What was given.
        given: usize,
        /// The least that works.
        least: usize,
    },
    /// Two limits contradict each other.
    #[error("{lower} is {low}, above {upper}, which is {high}; raise {upper} or lower {lower}")]
    Contradictory {
        /// The key that should be the lower.
        lower: &'static str,
        /// Its value.
        low: usize,
        /// The key that should be the higher.
        upper: &'static str,
        /// Its value.
        high: usize,
    },
    /// Not a share.
    #[error("warnAt is {0}, but it is a share of the budget, above 0 and up to 1")]
    InvalidShare(f64),
}

impl Policy {
    /// The profile `lean`: replies to oversized payloads aim lower, and write records as tables where that costs less.
    #[must_use]
    pub fn lean(self) -> Self {
        let hard_cap = self.token_budget_threshold.max(4_000);
        Self { reply_target: 1_200, hard_cap, rows: RowStyle::Auto, ..self }
    }

    /// The profile `soft`: pages so large that few lists are paged, to begin with.
    #[must_use]
    pub fn soft(self) -> Self {
        Self { default_page_size: 200, ..self }
    }

    /// The same without limits, for what is to be shown whole.
    #[must_use]
    pub fn without_limits(&self) -> Self {
        // Sums and products of limits stay far from what a number holds.
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
            default_page_size: MANY,
            max_page_size: MANY,
            summarize_above: MUCH,
            chunk_above: MUCH,
            chunk_size: MUCH,
            chunk_lines: MANY,
            ..self.clone()
        }
    }

    /// The same for a reader to whom only so many tokens more can be shown in all: a reply takes a tenth of them at most, an
    /// explicit request a quarter, down to the least that a reply needs.
    ///
    /// What is left shrinks by at most a tenth with each plain reply, so that it is never used up, however many replies there
    /// are, before the least budget is reached: by then 50 replies have been 150,000 tokens, and each more is 300.
    #[must_use]
    pub fn narrowed_to(&self, left: usize) -> Self {
        let threshold = self.token_budget_threshold.min((left / 10).max(MIN_BUDGET));
        let within = |limit: usize| limit.min(threshold);
        Self {
            token_budget_threshold: threshold,
            reply_target: within(self.reply_target),
            hard_cap: self.hard_cap.min((left / 4).max(2 * MIN_BUDGET)),
            full_below: within(self.full_below),
            summarize_above: within(self.summarize_above),
            chunk_above: within(self.chunk_above),
            chunk_size: within(self.chunk_size),
            ..self.clone()
        }
    }

    /// Tokens of a first reply of so many that go to telling of the whole, rather than to showing a part of it: much
    /// of a reply that aims low, little of one that is to show a page.
    pub(crate) fn description_tokens(&self, tokens: usize) -> usize {
        if self.reply_target < self.token_budget_threshold { tokens * 7 / 20 } else { tokens / 8 }
    }

    /// Share of a budget of so many tokens from which a reply names a narrower call; `None` where filling it is what was
    /// aimed at, far below what a reply may cost.
    pub(crate) fn warning_share(&self, tokens: usize) -> Option<f64> {
        let aimed = tokens == self.reply_target && tokens < self.token_budget_threshold;
        (!aimed).then_some(self.warn_at)
    }

    /// Checks that the limits can be obeyed together.
    ///
    /// # Errors
    /// The first limit that cannot be.
    pub fn validate(&self) -> Result<(), PolicyError> {
        self.violations().next().map_or(Ok(()), Err)
    }

    /// Everything that keeps the limits from being obeyed together.
    pub fn violations(&self) -> impl Iterator<Item = PolicyError> {
        let least = [
            ("tokenBudgetThreshold", self.token_budget_threshold, MIN_BUDGET),
            ("replyTarget", self.reply_target, MIN_BUDGET),
            // A payload that comes twice shares the cap between its two forms.
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
