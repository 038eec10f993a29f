//! Configuration of endpoints, as written by an operator.
//!
//! A [`PolicySource`] is one immutable version; `EndpointRules` of the gateway derive the
//! policy of each reply from it. The gateway does not know where sources come from (files, variables,
//! options).
//!
//! ```
//! use portion_policy::endpoint::EndpointKind;
//! use portion_policy::policy_source::{EndpointConfig, EndpointTarget, PolicySource};
//!
//! let target = EndpointTarget::from_name("file:///notes.md");
//! assert_eq!(target.kind, EndpointKind::Resource);
//! // An `EndpointConfig` is a source with the same configuration for every endpoint.
//! let source = EndpointConfig { dry_run: true, ..EndpointConfig::default() };
//! assert!(source.endpoint_config(Some(target)).dry_run);
//! ```

use std::sync::Arc;
use std::time::Duration;

use portion_core::policy::LimitOverrides;
use portion_core::redact::RedactionRules;
use portion_tokens::{Factor, Tokenizer};

use crate::client::Preset;
use crate::endpoint::EndpointKind;
use crate::pushdown::Pushdown;

/// One version of the configuration.
pub trait PolicySource: Send + Sync {
    /// Returns the version number, which increases with each version.
    fn version(&self) -> u64;

    /// Returns the configuration of an endpoint, or the general one for `None`.
    fn endpoint_config(&self, target: Option<EndpointTarget<'_>>) -> EndpointConfig;
}

/// An endpoint that a rule may be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EndpointTarget<'a> {
    /// Name of the server, if there are several.
    pub upstream: Option<&'a str>,
    /// Kind of the endpoint.
    pub kind: EndpointKind,
    /// Name of the tool or prompt, or URI of the resource.
    pub name: &'a str,
}

impl<'a> EndpointTarget<'a> {
    /// Returns the tool of that name, or the resource if it is a URI.
    pub fn from_name(name: &'a str) -> Self {
        let kind = if name.contains("://") { EndpointKind::Resource } else { EndpointKind::Tool };
        Self { upstream: None, kind, name }
    }
}

/// Configuration of an endpoint. Its limits are valid together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndpointConfig {
    /// Limits of replies.
    pub limits: LimitOverrides,
    /// Token counter. Only the general configuration's value is used.
    pub tokenizer: Tokenizer,
    /// Factor for token counts. Only the general configuration's value is used.
    pub tokenizer_factor: Factor,
    /// Client whose limits apply. Only the general configuration's value is used.
    pub preset: Preset,
    /// Redaction rules for payloads.
    pub redact: Option<Arc<RedactionRules>>,
    /// True if controls are accepted on calls of the endpoint itself; `None` if its schema decides.
    pub controls: Option<bool>,
    /// True if an equal call may be answered from a snapshot, whatever it selects; `None` if the endpoint's
    /// read-only annotation decides.
    pub reuse: Option<bool>,
    /// True if the endpoint only reads, whatever its annotations are.
    pub read: bool,
    /// Paging of the endpoint's own results, if the gateway fetches its pages.
    pub pushdown: Option<Arc<Pushdown>>,
    /// True if a reply that would not fit is refused instead of shaped.
    pub refuses_oversized: bool,
    /// Sessions that are shaped at all.
    pub rollout: Rollout,
    /// Experiment on the endpoint.
    pub experiment: Experiment,
    /// Largest reply, in bytes, that may be relayed unshaped; `None`: no limit.
    pub unshaped_byte_limit: Option<usize>,
    /// True if programs may request unshaped replies, up to `unshaped_byte_limit`.
    pub allow_whole: bool,
    /// Token budget of a session.
    pub session_budget: Option<usize>,
    /// Longest time that the server may take without progress; `None`: no limit.
    pub request_timeout: Option<Duration>,
    /// True if nothing is shaped, and only the simulated shaping is recorded.
    pub dry_run: bool,
    /// Share of replies that are recounted exactly, in percent; `None`: 1.
    pub accuracy_sample: Option<f64>,
}

/// Share of sessions whose replies are shaped.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// Share in percent.
    pub percent: f64,
    /// Salt of the session hash: different salts select different sessions.
    pub salt: Arc<str>,
}

/// An experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Experiment {
    /// No experiment.
    #[default]
    None,
    /// Replies are relayed unshaped; the simulated shaping is recorded.
    Shadow,
    /// This share of sessions is shaped, the rest is not.
    Split(Rollout),
}

impl Default for Rollout {
    /// All sessions.
    fn default() -> Self {
        Self { percent: 100.0, salt: Arc::from("") }
    }
}

impl PolicySource for EndpointConfig {
    /// Returns the same configuration for every endpoint.
    fn endpoint_config(&self, _: Option<EndpointTarget<'_>>) -> EndpointConfig {
        self.clone()
    }

    fn version(&self) -> u64 {
        0
    }
}
