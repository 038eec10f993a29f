//! Finds the policy of a recorded endpoint, for unknown clients.

use std::sync::Arc;

use portion_config::Config;
use portion_gateway::rules::{EndpointRule, EndpointRules};
use portion_policy::endpoint::EndpointKind;
use portion_policy::policy_source::EndpointTarget;
use portion_telemetry::read::Endpoint;

use crate::environment::limits_from_environment;

/// Rules of recorded endpoints under a configuration.
pub(super) struct EndpointRuleLookup(EndpointRules);

impl EndpointRuleLookup {
    /// Creates the rules of a configuration.
    pub(super) fn new(config: Config) -> Self {
        Self(EndpointRules::new(Arc::new(config), limits_from_environment()))
    }

    /// Returns the rule of an endpoint.
    pub(super) fn rule_for(&self, endpoint: &Endpoint) -> Arc<EndpointRule> {
        let kind = EndpointKind::from_name(&endpoint.kind).unwrap_or_default();
        self.0.rule_for(EndpointTarget { upstream: endpoint.upstream.as_deref(), kind, name: &endpoint.name })
    }
}
