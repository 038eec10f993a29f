//! On which terms a client is served: the limits that its replies obey, and what counts them.

use std::fmt;
use std::sync::Arc;

use portion_core::policy::Policy;
use portion_core::redact::Redact;
use portion_core::tokens::{BYTES, Factor, Reference, TokenCounter, Tokenizer};

/// What a reply to one client obeys.
#[derive(Clone)]
pub struct Terms {
    /// The limits.
    pub policy: Policy,
    /// The same limits, where counting or rendering failed.
    pub(crate) fallback: Policy,
    /// Counts what a reply costs.
    pub counter: &'static dyn TokenCounter,
    /// What its counts are held against; `None`: nothing is.
    pub reference: Option<Reference>,
    /// Whether that is done before a reply is sent, for the counter looks at the length alone.
    pub audited: bool,
    /// Whether the byte limit decides for now, for the counter is badly wrong.
    pub(crate) capped: bool,
    /// What is hidden of payloads before anything is made of them.
    pub redact: Option<Arc<Redact>>,
}

impl Terms {
    /// Terms of these parts. The policy is taken to be valid.
    pub fn new(policy: Policy, counter: &'static dyn TokenCounter, reference: Option<Reference>) -> Self {
        let fallback = Policy { hard_byte_limit: policy.fallback_byte_limit, ..policy.clone() };
        Self { policy, fallback, counter, reference, audited: false, capped: false, redact: None }
    }

    /// Terms by which a tokenizer counts, times a factor.
    pub fn by(policy: Policy, tokenizer: Tokenizer, factor: Factor) -> Self {
        let (counter, reference) = (tokenizer.scaled(factor), tokenizer.reference(factor));
        Self { audited: tokenizer.is_blind(), ..Self::new(policy, counter, Some(reference)) }
    }

    /// The same, for another policy.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        let Self { audited, capped, redact, .. } = self.clone();
        Self { audited, capped, redact, ..Self::new(policy, self.counter, self.reference) }
    }

    /// Terms without limits, for what is only to be hidden from.
    #[must_use]
    pub(crate) fn boundless(&self) -> Self {
        Self { redact: self.redact.clone(), ..Self::new(self.policy.boundless(), BYTES, None) }
    }
}

impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policy, counter, .. } = self;
        f.debug_struct("Terms")
            .field("policy", policy)
            .field("counter", &counter.name())
            .finish_non_exhaustive()
    }
}
