//! What replies of a recorded endpoint obey, whoever asks.

use std::sync::Arc;

use portion_config::Config;
use portion_gateway::call::EndpointKind;
use portion_gateway::policy_source::EndpointTarget;
use portion_gateway::rules::{EndpointRule, EndpointRules};
use portion_telemetry::read::Endpoint;

use crate::environment::room_from_environment;

/// A configuration, asked for the rules of endpoints that were recorded.
pub(super) struct EndpointRuleLookup(EndpointRules);

impl EndpointRuleLookup {
    /// Of that configuration.
    pub(super) fn new(config: Config) -> Self {
        Self(EndpointRules::new(Arc::new(config), room_from_environment()))
    }

    /// What holds for an endpoint.
    pub(super) fn rule_for(&self, endpoint: &Endpoint) -> Arc<EndpointRule> {
        let kind = match endpoint.kind.as_str() {
            "resource" => EndpointKind::Resource,
            "prompt" => EndpointKind::Prompt,
            _ => EndpointKind::Tool,
        };
        self.0.rule_for(EndpointTarget { upstream: endpoint.upstream.as_deref(), kind, name: &endpoint.name })
    }
}
