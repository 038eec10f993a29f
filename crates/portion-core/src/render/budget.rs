//! Limits of a reply, and what remains of them while it is assembled.

use portion_json::scan::escaped_len;
use portion_tokens::TokenCounter;

use crate::payload::BinaryInfo;
use crate::policy::{MIN_BYTE_LIMIT, Policy, StructuredMode};
use crate::snapshot::Snapshot;
use crate::view::ResolvedRequest;

/// Wire bytes of a reply beside its texts and notices.
pub(super) const ENVELOPE_BYTES: usize = 512;

/// Tokens and wire bytes that may still be spent.
#[derive(Clone, Copy)]
pub(crate) struct RemainingBudget<'a> {
    /// Counts the tokens.
    pub counter: &'a dyn TokenCounter,
    /// Tokens left.
    pub tokens: usize,
    /// Wire bytes left. Texts count as they are escaped inside a JSON string.
    pub bytes: usize,
}

impl RemainingBudget<'_> {
    /// Returns true if a text fits.
    pub(crate) fn fits(&self, text: &str) -> bool {
        text.len() <= self.bytes
            && escaped_len(text) <= self.bytes
            && self.counter.count_within(text, self.tokens).is_some()
    }

    /// Spends the cost of a text. If it does not fit, returns `false` and spends nothing.
    pub(crate) fn spend(&mut self, text: &str) -> bool {
        if text.len() > self.bytes {
            return false;
        }
        let bytes = escaped_len(text);
        if bytes > self.bytes {
            return false;
        }
        let Some(tokens) = self.counter.count_within(text, self.tokens) else { return false };
        self.tokens -= tokens;
        self.bytes -= bytes;
        true
    }

    /// Spends a cost that is known, or what is left.
    pub(crate) fn charge(&mut self, tokens: usize, bytes: usize) {
        self.tokens = self.tokens.saturating_sub(tokens);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Returns the same budget with at most this many tokens.
    #[must_use]
    pub(crate) fn with_max_tokens(self, tokens: usize) -> Self {
        Self { tokens: self.tokens.min(tokens), ..self }
    }

    /// Spends the cost of a block. If it does not fit, returns `false` and spends nothing.
    pub(super) fn spend_block(&mut self, json: &str, binary: Option<&BinaryInfo>, policy: &Policy) -> bool {
        let weight = block_cost(json, binary, self.tokens, policy, self.counter);
        let Some(BlockCost { tokens, bytes }) = weight.filter(|weight| weight.bytes <= self.bytes) else {
            return false;
        };
        self.tokens -= tokens;
        self.bytes -= bytes;
        true
    }
}

/// Cost of a block that is passed whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockCost {
    pub tokens: usize,
    pub bytes: usize,
}

/// Returns the cost of a block, or `None` if it exceeds `max` tokens or a byte limit.
///
/// Models see images and audio as such: they count as `mediaTokens` and have their own byte limit. Other
/// binaries are rarely shown to a model, so they count as at most `mediaTokens`, and their bytes count too.
pub(super) fn block_cost(
    json: &str,
    binary: Option<&BinaryInfo>,
    max: usize,
    policy: &Policy,
    counter: &dyn TokenCounter,
) -> Option<BlockCost> {
    let weight = match binary {
        Some(BinaryInfo { is_media: true, decoded_bytes: bytes, .. }) => (*bytes <= policy.media_byte_limit)
            .then_some(BlockCost { tokens: policy.media_tokens, bytes: 0 })?,
        Some(_) => BlockCost { tokens: binary_tokens(json, policy, counter), bytes: json.len() },
        None => BlockCost { tokens: counter.count_within(json, max)?, bytes: escaped_len(json) },
    };
    (weight.tokens <= max && weight.bytes <= policy.hard_byte_limit).then_some(weight)
}

/// Returns the tokens of base64 that is marked as such: at most `mediaTokens`.
pub(super) fn binary_tokens(base64: &str, policy: &Policy, counter: &dyn TokenCounter) -> usize {
    counter.count_within(base64, policy.media_tokens).unwrap_or(policy.media_tokens)
}

/// Amount of detail in a notice: everything, the essential members, or the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Detail {
    Full,
    Essential,
    Minimal,
}

/// Tokens of the notice of an answer.
const NOTICE_TOKENS: usize = 100;
/// Wire bytes per notice byte: the notice is sent once as an escaped text and once in `_meta`.
pub(super) const NOTICE_COPIES: usize = 3;

/// Limits of each form of a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ReplyLimits {
    pub tokens: usize,
    pub bytes: usize,
}

/// Size of the fixed part of a notice.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NoticeSize {
    /// Cursors and totals, without lists of names.
    Short,
    /// All facts, without lists of names.
    Plain,
    /// All facts and lists of names.
    WithNames,
}

impl ReplyLimits {
    /// Returns the limits of each form of a reply.
    pub(super) fn for_reply(
        snapshot: &Snapshot,
        request: &ResolvedRequest,
        policy: &Policy,
        fresh: bool,
    ) -> Self {
        let frame = if fresh { snapshot.frame() } else { 0 };
        let within = |limit: usize| limit.saturating_sub(frame).max(MIN_BYTE_LIMIT) - ENVELOPE_BYTES;
        let bytes = within(policy.hard_byte_limit);
        if fresh && let Some(at) = snapshot.structured_part() {
            let tokens = request.token_budget.min(policy.hard_cap / 2);
            let shows_two = policy.render_options.structured == StructuredMode::InPlaceOfText
                && snapshot.parts()[at].duplicate.is_none();
            let both = policy.render_options.two_form_byte_limit.map_or(bytes, within);
            let tokens = if shows_two { tokens / 2 } else { tokens };
            return Self { tokens, bytes: bytes.min(both / 2) };
        }
        Self { tokens: request.token_budget.min(policy.hard_cap), bytes }
    }

    /// Returns limits up to a quarter larger if that shows all rows of an answer to a query: a page with the last few would cost
    /// another call.
    pub(super) fn or_whole_answer(
        self,
        snapshot: &Snapshot,
        request: &ResolvedRequest,
        policy: &Policy,
        counter: &dyn TokenCounter,
    ) -> Self {
        let is_aimed = request.token_budget == policy.reply_target && !request.has_explicit_size;
        let tokens = (self.tokens + self.tokens / 4).min(policy.hard_cap);
        let fits = |part: usize| {
            let text = snapshot.parts()[part].text();
            counter.count_within(text, tokens.saturating_sub(NOTICE_TOKENS)).is_some()
        };
        let is_whole = is_aimed && snapshot.answer().is_some() && snapshot.main_part().is_some_and(fits);
        if is_whole { Self { tokens, ..self } } else { self }
    }

    /// Estimates the budget that a notice leaves. A notice takes a fixed part, the description, and lists of
    /// `names` that grow with the budget.
    pub(super) fn budget_without_notice(
        self,
        detail: Detail,
        size: NoticeSize,
        facts: (usize, usize),
        counter: &dyn TokenCounter,
        media: usize,
    ) -> RemainingBudget<'_> {
        let names = size == NoticeSize::WithNames;
        let fixed = if size == NoticeSize::Short { 80 } else { 190 };
        let share = |of: usize| if names { self.tokens.saturating_sub(media) / of } else { 0 };
        let (tokens, bytes) = match detail {
            Detail::Full => (fixed + share(10) + facts.0, (self.bytes / 6).min(6_000) + facts.1),
            Detail::Essential => (fixed + share(20), (self.bytes / 6).min(6_000)),
            Detail::Minimal => (fixed.min(150), (self.bytes / 6).min(1_000)),
        };
        let (tokens, bytes) = (self.tokens.saturating_sub(tokens), self.bytes.saturating_sub(bytes));
        RemainingBudget { counter, tokens: tokens.max(1), bytes: bytes.max(1) }
    }
}
