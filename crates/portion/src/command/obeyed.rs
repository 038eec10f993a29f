//! What replies of a recorded endpoint obey, whoever asks.

use std::sync::Arc;

use portion_config::Config;
use portion_gateway::book::Target;
use portion_gateway::call::EndpointKind;
use portion_gateway::rules::{Rule, Rules};
use portion_telemetry::read::Endpoint;

use crate::surroundings::surroundings;

/// A configuration, asked for the rules of endpoints that were recorded.
pub(super) struct Obeyed(Rules);

impl Obeyed {
    /// Of that configuration.
    pub(super) fn new(config: Config) -> Self {
        Self(Rules::new(Arc::new(config), surroundings()))
    }

    /// What holds for an endpoint.
    pub(super) fn of(&self, endpoint: &Endpoint) -> Arc<Rule> {
        let kind = match endpoint.kind.as_str() {
            "resource" => EndpointKind::Resource,
            "prompt" => EndpointKind::Prompt,
            _ => EndpointKind::Tool,
        };
        self.0.rule(Target { upstream: endpoint.upstream.as_deref(), kind, name: &endpoint.name })
    }
}
