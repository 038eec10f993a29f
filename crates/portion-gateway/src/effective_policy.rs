//! The policy for one client at one endpoint: limits, token counter, redaction.
//!
//! ```
//! use portion_core::policy::Policy;
//! use portion_gateway::effective_policy::EffectivePolicy;
//! use portion_tokens::{Factor, Tokenizer};
//!
//! let policy = EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::O200k, Factor::ONE);
//! assert_eq!(policy.counter.count("three small words"), 3);
//! ```

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use portion_core::policy::Policy;
use portion_core::redact::RedactionRules;
use portion_tokens::{BYTE_COUNTER, Factor, ReferenceCounter, TokenCounter, Tokenizer};

/// Limits, counter and redaction rules for replies to one client.
#[derive(Clone)]
pub struct EffectivePolicy {
    /// Limits of replies.
    pub policy: Policy,
    /// Limits after counting or rendering failed.
    pub(crate) fallback: Policy,
    /// Counts the tokens of a reply.
    pub counter: &'static dyn TokenCounter,
    /// Exact reference for the accuracy of the counter; `None`: there is none, and nothing is checked.
    pub reference: Option<ReferenceCounter>,
    /// Bytes above which the client cuts an error.
    pub(crate) error_byte_limit: usize,
    /// True if each count is checked before the reply is sent, because the counter only uses the length.
    pub audits_counts: bool,
    /// True if only the byte limit applies for now, because the counter is badly wrong.
    pub(crate) is_capped: bool,
    /// Redaction rules, applied to payloads before capture.
    pub redact: Option<Arc<RedactionRules>>,
}

impl EffectivePolicy {
    /// Creates a policy from its parts. The limits must be valid.
    pub fn new(
        policy: Policy,
        counter: &'static dyn TokenCounter,
        reference: Option<ReferenceCounter>,
    ) -> Self {
        let fallback = Policy { hard_byte_limit: policy.fallback_byte_limit, ..policy.clone() };
        Self {
            policy,
            fallback,
            counter,
            reference,
            error_byte_limit: usize::MAX,
            audits_counts: false,
            is_capped: false,
            redact: None,
        }
    }

    /// Creates a policy that counts with a tokenizer, times a factor.
    pub fn with_tokenizer(policy: Policy, tokenizer: Tokenizer, factor: Factor) -> Self {
        // An estimate that is compared with itself shows no error.
        let reference =
            Some(tokenizer.reference_counter(factor)).filter(|known| known.vocabulary().is_some());
        Self {
            audits_counts: tokenizer.is_length_based(),
            ..Self::new(policy, tokenizer.scaled_counter(factor), reference)
        }
    }

    /// Returns the same with other limits.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        let fallback = Policy { hard_byte_limit: policy.fallback_byte_limit, ..policy.clone() };
        Self { policy, fallback, ..self.clone() }
    }

    /// Returns the policy for errors: clients may cut them earlier than other results.
    #[must_use]
    pub(crate) fn for_errors(&self) -> Self {
        let hard_byte_limit = self.policy.hard_byte_limit.min(self.error_byte_limit);
        let fallback_byte_limit = self.policy.fallback_byte_limit.min(hard_byte_limit);
        self.with_policy(Policy { hard_byte_limit, fallback_byte_limit, ..self.policy.clone() })
    }

    /// Returns true if texts exceed the token budget threshold together.
    pub fn exceeds_threshold<'a>(&self, texts: impl Iterator<Item = &'a str>) -> bool {
        self.exceeds(self.policy.token_budget_threshold, texts)
    }

    /// Returns true if texts cost more tokens than these.
    pub(crate) fn exceeds<'a>(&self, mut left: usize, mut texts: impl Iterator<Item = &'a str>) -> bool {
        texts.any(|text| {
            let counted = catch_unwind(AssertUnwindSafe(|| self.counter.count_within(text, left)));
            let tokens = counted.unwrap_or_default();
            left -= tokens.unwrap_or_default();
            tokens.is_none()
        })
    }

    /// Returns a policy without limits that only redacts.
    #[must_use]
    pub(crate) fn without_limits(&self) -> Self {
        Self { redact: self.redact.clone(), ..Self::new(self.policy.without_limits(), BYTE_COUNTER, None) }
    }
}

impl fmt::Debug for EffectivePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, counter, .. } = self;
        f.debug_struct("EffectivePolicy")
            .field("policy", policy)
            .field("counter", &counter.name())
            .finish_non_exhaustive()
    }
}
