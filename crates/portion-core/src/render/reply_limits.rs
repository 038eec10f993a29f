//! Limits of a reply, and the share of them that its notice takes.

use portion_tokens::TokenCounter;

use super::budget::{ENVELOPE_BYTES, RemainingBudget};
use super::context::Context;
use super::description::Description;
use super::notice;
use super::notice::Detail;
use crate::policy::{MIN_BYTE_LIMIT, Policy, StructuredMode};
use crate::snapshot::Snapshot;
use crate::view::ResolvedRequest;

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
        asked: &ResolvedRequest,
        policy: &Policy,
        fresh: bool,
    ) -> Self {
        let frame = if fresh { snapshot.frame() } else { 0 };
        let bytes = policy.hard_byte_limit.saturating_sub(frame).max(MIN_BYTE_LIMIT) - ENVELOPE_BYTES;
        if fresh && let Some(at) = snapshot.structured_part() {
            let tokens = asked.token_budget.min(policy.hard_cap / 2);
            let shows_two = policy.render_options.structured == StructuredMode::InPlaceOfText
                && snapshot.parts()[at].duplicate.is_none();
            return Self { tokens: if shows_two { tokens / 2 } else { tokens }, bytes: bytes / 2 };
        }
        Self { tokens: asked.token_budget.min(policy.hard_cap), bytes }
    }

    /// Estimates the budget that a notice leaves. A notice takes a fixed part, the description, and lists of
    /// `names` that grow with the budget.
    pub(super) fn budget_without_notice<'c>(
        self,
        detail: Detail,
        size: NoticeSize,
        description: Option<&Description>,
        counter: &'c dyn TokenCounter,
        media: usize,
    ) -> RemainingBudget<'c> {
        let names = size == NoticeSize::WithNames;
        let fixed = if size == NoticeSize::Short { 80 } else { 190 };
        let facts = description.map_or((0, 0), |facts| (facts.tokens, NOTICE_COPIES * facts.bytes));
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

impl NoticeSize {
    /// Returns the size of the notice of a reply.
    pub(super) fn for_reply(asked: &ResolvedRequest, cx: &Context<'_>, fresh: bool) -> Self {
        if !fresh && !notice::is_full_in_text(cx.policy, cx.read_call) {
            Self::Short
        } else if asked.view.top_count().is_some() {
            Self::Plain
        } else {
            Self::WithNames
        }
    }
}
