//! Creates the message processors for one server.

use std::sync::Arc;

use portion_core::cursor::Scope;
use portion_gateway::gateway::{Gateway, NestedPortion};
use portion_gateway::session::ClientSession;
use portion_policy::listing::ListingOptions;

use super::McpProcessor;
use super::catalog::CatalogPool;

/// Settings shared by the processors of one server.
#[derive(Clone)]
pub struct McpProcessorFactory {
    /// Renders the replies.
    pub gateway: Arc<Gateway>,
    /// Listing options for the server's tools.
    pub listing: ListingOptions,
    /// Largest message read from the server, in bytes.
    pub max_server_message_bytes: usize,
    /// Largest message read from a client, in bytes.
    pub max_client_message_bytes: usize,
    /// Name of the server, if there are several.
    pub upstream: Option<Arc<str>>,
    /// True if traces are exported: then the server receives the gateway's span in place of the client's, as
    /// the parent of its own spans. Otherwise the trace context of a request is unchanged.
    pub exports_traces: bool,
    /// Tool catalogs that sessions share.
    pub(super) catalog_pool: Arc<CatalogPool>,
    /// Another Portion behind this one; shared by all sessions.
    pub(super) nested_portion: NestedPortion,
}

impl McpProcessorFactory {
    /// Creates a factory for a server without a name.
    pub fn new(gateway: Arc<Gateway>, listing: ListingOptions, message_limit: usize) -> Self {
        let catalog_pool = Arc::new(CatalogPool::new(listing.rule_patterns.clone()));
        Self {
            gateway,
            listing,
            max_server_message_bytes: message_limit,
            max_client_message_bytes: message_limit,
            upstream: None,
            exports_traces: false,
            catalog_pool,
            nested_portion: NestedPortion::default(),
        }
    }

    /// Replaces the patterns of rules for the tools. Those that match no tool are logged, once the tools are known.
    pub fn set_rule_patterns(&self, patterns: Vec<String>) {
        self.catalog_pool.set_rule_patterns(patterns);
    }

    /// Sets the largest client message, in bytes.
    #[must_use]
    pub fn with_max_client_message_bytes(self, client_limit: usize) -> Self {
        Self { max_client_message_bytes: client_limit, ..self }
    }

    /// Creates a processor for one session of a principal, with an empty tool catalog.
    pub fn new_processor(&self, scope: Scope, session: Arc<ClientSession>) -> McpProcessor {
        McpProcessor::new(self, scope, session)
    }

    /// Sets whether traces are exported.
    #[must_use]
    pub fn with_tracing(self, traces: bool) -> Self {
        Self { exports_traces: traces, ..self }
    }

    /// Sets the name of the server.
    #[must_use]
    pub fn with_upstream(self, upstream: &str) -> Self {
        Self { upstream: Some(upstream.into()), ..self }
    }
}
