//! On which terms a client is served: the limits that its replies obey, and what counts them.

use std::fmt;
use std::sync::Arc;

use portion_core::policy::Policy;
use portion_core::redact::Redact;
use portion_core::tokens::{BYTES, TokenCounter};

/// What a reply to one client obeys.
#[derive(Clone)]
pub struct Terms {
    /// The limits.
    pub policy: Policy,
    /// The same limits, where counting or rendering failed.
    pub(crate) fallback: Policy,
    /// Counts what a reply costs.
    pub counter: &'static dyn TokenCounter,
    /// Counts anew what an estimating counter let through, to catch it where it is badly wrong; `None` where the
    /// counter is exact or errs upwards.
    pub auditor: Option<&'static dyn TokenCounter>,
    /// What is hidden of payloads before anything is made of them.
    pub redact: Option<Arc<Redact>>,
}

impl Terms {
    /// Terms of these parts. The policy is taken to be valid.
    pub fn new(
        policy: Policy,
        counter: &'static dyn TokenCounter,
        auditor: Option<&'static dyn TokenCounter>,
    ) -> Self {
        let fallback = Policy { hard_byte_limit: policy.fallback_byte_limit, ..policy.clone() };
        Self { policy, fallback, counter, auditor, redact: None }
    }

    /// The same, for another policy.
    #[must_use]
    pub fn with_policy(&self, policy: Policy) -> Self {
        Self { redact: self.redact.clone(), ..Self::new(policy, self.counter, self.auditor) }
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
