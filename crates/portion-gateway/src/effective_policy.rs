//! On which terms a client is served: the limits that its replies obey, and what counts them.

use std::fmt;
use std::sync::Arc;

use portion_core::policy::Policy;
use portion_core::redact::RedactionRules;
use portion_core::tokens::{BYTE_COUNTER, Factor, ReferenceCounter, TokenCounter, Tokenizer};

/// What a reply to one client obeys.
#[derive(Clone)]
pub struct EffectivePolicy {
    /// The limits.
    pub policy: Policy,
    /// The same limits, where counting or rendering failed.
    pub(crate) fallback: Policy,
    /// Counts what a reply costs.
    pub counter: &'static dyn TokenCounter,
    /// What its counts are held against; `None`: nothing is.
    pub reference: Option<ReferenceCounter>,
    /// Whether that is done before a reply is sent, for the counter looks at the length alone.
    pub audits_counts: bool,
    /// Whether the byte limit decides for now, for the counter is badly wrong.
    pub(crate) is_capped: bool,
    /// What is hidden of payloads before anything is made of them.
    pub redact: Option<Arc<RedactionRules>>,
}

impl EffectivePolicy {
    /// Terms of these parts. The policy is taken to be valid.
    pub fn new(
        policy: Policy,
        counter: &'static dyn TokenCounter,
        reference: Option<ReferenceCounter>,
    ) -> Self {
        let fallback = Policy { hard_byte_limit: policy.fallback_byte_limit, ..policy.clone() };
        Self { policy, fallback, counter, reference, audits_counts: false, is_capped: false, redact: None }
    }

    /// Terms by which a tokenizer counts, times a factor.
    pub fn with_tokenizer(policy: Policy, tokenizer: Tokenizer, factor: Factor) -> Self {
        let (counter, reference) = (tokenizer.scaled_counter(factor), tokenizer.reference_counter(factor));
        Self { audits_counts: tokenizer.is_length_based(), ..Self::new(policy, counter, Some(reference)) }
    }

    /// The same, for another policy.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        let Self { audits_counts: audited, is_capped: capped, redact, .. } = self.clone();
        Self {
            audits_counts: audited,
            is_capped: capped,
            redact,
            ..Self::new(policy, self.counter, self.reference)
        }
    }

    /// Terms without limits, for what is only to be hidden from.
    #[must_use]
    pub(crate) fn without_limits(&self) -> Self {
        Self { redact: self.redact.clone(), ..Self::new(self.policy.without_limits(), BYTE_COUNTER, None) }
    }
}

impl fmt::Debug for EffectivePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, counter, .. } = self;
        f.debug_struct("Terms")
            .field("policy", policy)
            .field("counter", &counter.name())
            .finish_non_exhaustive()
    }
}
