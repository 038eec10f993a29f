//! What an operator wrote, endpoint by endpoint.
//!
//! A [`PolicySource`] is one version of it, and never changes; [`EndpointRules`](crate::rules::EndpointRules) work out of it what each reply
//! obeys. Where books come from (files, variables, options) is no matter of the gateway.

use std::sync::Arc;
use std::time::Duration;

use portion_core::policy::LimitOverrides;
use portion_core::redact::RedactionRules;
use portion_core::tokens::{Factor, Tokenizer};

use crate::call::EndpointKind;
use crate::client::Preset;

/// One version of what an operator wrote.
pub trait PolicySource: Send + Sync {
    /// Its number, which rises from version to version.
    fn version(&self) -> u64;

    /// What was written for an endpoint, or for everything where none is named.
    fn endpoint_config(&self, target: Option<EndpointTarget<'_>>) -> EndpointConfig;
}

/// What a rule may be written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EndpointTarget<'a> {
    /// The name of the server, where there are several.
    pub upstream: Option<&'a str>,
    /// What the endpoint is.
    pub kind: EndpointKind,
    /// A tool's or prompt's name, a resource's URI.
    pub name: &'a str,
}

impl<'a> EndpointTarget<'a> {
    /// The tool of that name, or the resource, where it is a URI.
    pub fn from_name(name: &'a str) -> Self {
        let kind = if name.contains("://") { EndpointKind::Resource } else { EndpointKind::Tool };
        Self { upstream: None, kind, name }
    }
}

/// What was written for an endpoint. Its limits are valid together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndpointConfig {
    /// The limits.
    pub limits: LimitOverrides,
    /// What counts tokens. What counts is what was written for everything.
    pub tokenizer: Tokenizer,
    /// What its counts are multiplied by. What counts is what was written for everything.
    pub tokenizer_factor: Factor,
    /// Whose limits to stay below. What counts is what was written for everything.
    pub preset: Preset,
    /// What is hidden of payloads.
    pub redact: Option<Arc<RedactionRules>>,
    /// Whether our controls are taken on calls of the endpoint itself; `None` where its schema decides.
    pub controls: Option<bool>,
    /// Whether an equal call may be answered from a snapshot whatever is selected of it; `None` where the endpoint
    /// says so itself, by being read-only.
    pub reuse: Option<bool>,
    /// For whom it is shaped at all.
    pub rollout: Rollout,
    /// What is compared.
    pub experiment: Experiment,
    /// Bytes above which even a reply that is to be relayed as it comes is shaped; `None`: whatever its size.
    pub unshaped_byte_limit: Option<usize>,
    /// Whether programs may have replies as they come, up to `unshaped_byte_limit`.
    pub allow_whole: bool,
    /// Tokens that a session may be served in all.
    pub session_budget: Option<usize>,
    /// How long the server may be silent about a request; `None`: for ever.
    pub request_timeout: Option<Duration>,
    /// Whether nothing is shaped, and only told what would have been.
    pub dry_run: bool,
    /// How many replies in a hundred are counted once more, exactly; `None`: one.
    pub accuracy_sample: Option<f64>,
}

/// For which sessions replies are shaped.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// Their share, in per cent.
    pub percent: f64,
    /// What sessions are told apart by, beside themselves: those that are in for one salt may be out for another.
    pub salt: Arc<str>,
}

/// What is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Experiment {
    /// Nothing.
    #[default]
    None,
    /// Replies are relayed as they come; what shaping would have served is recorded.
    Shadow,
    /// So many of the sessions are shaped, the others are not.
    Split(Rollout),
}

impl Default for Rollout {
    /// For everybody.
    fn default() -> Self {
        Self { percent: 100.0, salt: Arc::from("") }
    }
}

impl PolicySource for EndpointConfig {
    /// The same for every endpoint.
    fn endpoint_config(&self, _: Option<EndpointTarget<'_>>) -> EndpointConfig {
        self.clone()
    }

    fn version(&self) -> u64 {
        0
    }
}
