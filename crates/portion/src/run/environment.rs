//! Limits of the client, from the environment, and the rules of recorded endpoints under them.

use std::sync::Arc;

use portion_config::Config;
use portion_core::policy::{ClientLimits, MIN_BUDGET};
use portion_gateway::rules::{EndpointRule, EndpointRules};
use portion_policy::client::ResultLimit;
use portion_policy::endpoint::EndpointKind;
use portion_policy::policy_source::EndpointTarget;
use portion_telemetry::read::Endpoint;

/// Variable with Claude Code's limit for results, in tokens. It passes its environment to the servers that it starts.
///
/// Source: <https://code.claude.com/docs/en/mcp#mcp-output-limits-and-warnings>.
pub(crate) const MAX_MCP_OUTPUT_TOKENS: &str = "MAX_MCP_OUTPUT_TOKENS";

/// Returns the limits in the environment. An invalid value is logged and ignored.
pub(crate) fn limits_from_environment() -> ClientLimits {
    let Some(value) = std::env::var_os(MAX_MCP_OUTPUT_TOKENS) else { return ClientLimits::UNKNOWN };
    let value = value.to_string_lossy();
    let Some(tokens) = value.trim().parse().ok().filter(|tokens| *tokens > 0) else {
        tracing::warn!("{MAX_MCP_OUTPUT_TOKENS} is {value}, which is not a number of tokens: it is ignored");
        return ClientLimits::UNKNOWN;
    };
    let room = ResultLimit::Tokens(tokens).reply_room();
    let min = 2 * MIN_BUDGET;
    if room.max_tokens < Some(min) {
        tracing::warn!("{MAX_MCP_OUTPUT_TOKENS} is {tokens}, but explicit requests may need {min}");
    }
    room
}

/// Rules of recorded endpoints under a configuration.
pub(crate) struct EndpointRuleLookup(EndpointRules);

impl EndpointRuleLookup {
    /// Creates the rules of a configuration.
    pub(crate) fn new(config: Config) -> Self {
        Self(EndpointRules::new(Arc::new(config), limits_from_environment()))
    }

    /// Returns the rule of an endpoint.
    pub(crate) fn rule_for(&self, endpoint: &Endpoint) -> Arc<EndpointRule> {
        let kind = EndpointKind::from_name(&endpoint.kind).unwrap_or_default();
        self.0.rule_for(EndpointTarget { upstream: endpoint.upstream.as_deref(), kind, name: &endpoint.name })
    }
}
