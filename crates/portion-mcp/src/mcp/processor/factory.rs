//! Creates processors, and keeps a session in which nothing is pending in a few hundred bytes.
//!
//! Clients often leave a session without ending it, so a proxy keeps many that are never used again.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use portion_core::cursor::Scope;
use portion_gateway::gateway::{Gateway, NestedPortion};
use portion_gateway::session::ClientSession;
use portion_policy::client::ClientProfile;
use portion_policy::endpoint::ListingOptions;
use tokio::sync::Notify;

use super::super::envelope::RequestIdMap;
use super::{McpProcessor, UpstreamCaller};
use crate::mcp::catalog::{CatalogPool, ServerInfo, ToolCatalog};
use crate::message_processor::MessageProcessor as _;

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

/// Facts that distinguish a processor from a new one when nothing is pending.
pub(crate) struct DormantProcessor {
    pub(crate) session: Arc<ClientSession>,
    pub(crate) client: Option<&'static ClientProfile>,
    /// True if the scope belongs to one caller.
    pub(crate) allows_reuse: bool,
    catalog: Arc<ToolCatalog>,
    has_no_tools: bool,
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

    /// Creates a processor for one session of a principal, with an empty tool catalog.
    pub fn new_processor(&self, scope: Scope, session: Arc<ClientSession>) -> McpProcessor {
        let server_info = ServerInfo::new(ToolCatalog::new(&self.listing), &self.catalog_pool);
        let server_info = Arc::new(Mutex::new(server_info));
        McpProcessor {
            upstream: self.upstream.clone(),
            exports_traces: self.exports_traces,
            max_server_message_bytes: self.max_server_message_bytes,
            max_client_message_bytes: self.max_client_message_bytes,
            nested_portion: self.nested_portion.clone(),
            ..McpProcessor::new(Arc::clone(&self.gateway), scope, session, server_info)
        }
    }
}

impl McpProcessor {
    /// Creates a processor without pending requests, for a server without a name.
    fn new(
        gateway: Arc<Gateway>,
        scope: Scope,
        session: Arc<ClientSession>,
        server_info: Arc<Mutex<ServerInfo>>,
    ) -> Self {
        Self {
            gateway,
            scope,
            allows_reuse: true,
            session,
            upstream: None,
            exports_traces: false,
            max_server_message_bytes: usize::MAX,
            max_client_message_bytes: usize::MAX,
            client: OnceLock::new(),
            pending_requests: Mutex::default(),
            taken_ids: RequestIdMap::default(),
            timeouts: Arc::default(),
            deadline_changed: Notify::new(),
            active_queries: Arc::default(),
            server_info,
            internal_calls: Arc::default(),
            upstream_caller: None,
            releases_queue: AtomicBool::new(false),
            nested_portion: NestedPortion::default(),
        }
    }

    /// Returns a processor for other requests of the same principal to the same server. It shares the facts
    /// about the server, but not the request ids. For clients without a session, which share no ids.
    #[must_use]
    pub fn fork(&self) -> Self {
        let (gateway, session) = (Arc::clone(&self.gateway), Arc::clone(&self.session));
        Self {
            allows_reuse: self.allows_reuse,
            upstream: self.upstream.clone(),
            exports_traces: self.exports_traces,
            max_server_message_bytes: self.max_server_message_bytes,
            max_client_message_bytes: self.max_client_message_bytes,
            client: self.client.clone(),
            nested_portion: self.nested_portion.clone(),
            ..Self::new(gateway, self.scope, session, Arc::clone(&self.server_info))
        }
    }

    /// Returns a [fork](Self::fork) in the same session, where ids belong to the session: each can cancel
    /// queries of the other, and progress restarts the timers of both.
    #[must_use]
    pub fn fork_in_session(&self) -> Self {
        let (active_queries, timeouts) = (Arc::clone(&self.active_queries), Arc::clone(&self.timeouts));
        Self { timeouts, active_queries, ..self.fork() }
    }

    /// Sets how the gateway's own calls reach the server. Then calls of tools that page their results are answered while
    /// their message is processed.
    #[must_use]
    pub fn with_upstream_caller(self, upstream_caller: Arc<dyn UpstreamCaller>) -> Self {
        Self { upstream_caller: Some(upstream_caller), ..self }
    }

    /// Sets the ids that requests must not have, because requests of other processors in the session have them.
    #[must_use]
    pub(crate) fn with_taken_ids(self, taken_ids: RequestIdMap<()>) -> Self {
        Self { taken_ids, ..self }
    }

    /// Moves the processor to another session and cursor scope.
    #[must_use]
    pub fn with_session(self, scope: Scope, session: Arc<ClientSession>) -> Self {
        Self { scope, session, ..self }
    }

    /// Sets whether the scope belongs to one caller. Callers that cannot be distinguished share nothing
    /// without a cursor.
    #[must_use]
    pub fn with_reuse(self, reuses: bool) -> Self {
        Self { allows_reuse: reuses, ..self }
    }

    /// Clears the client: without a session, `initialize` does not identify the client of later requests.
    #[must_use]
    pub fn without_client(self) -> Self {
        Self { client: OnceLock::new(), ..self }
    }

    /// Returns true if nothing can change this processor: it has no forks, and no pending requests.
    pub(crate) fn is_quiet(&self) -> bool {
        Arc::strong_count(&self.server_info) == 1 && self.pending_count() == 0
    }

    /// Returns what a [quiet](Self::is_quiet) processor has learned.
    pub(crate) fn to_dormant(&self) -> DormantProcessor {
        let server_info = self.server_info.lock();
        DormantProcessor {
            session: Arc::clone(&self.session),
            client: self.client.get().copied(),
            allows_reuse: self.allows_reuse,
            catalog: Arc::clone(&server_info.catalog),
            has_no_tools: server_info.has_no_tools,
        }
    }
}

impl DormantProcessor {
    /// Returns the processor again.
    pub(crate) fn wake(&self, scope: Scope, factory: &McpProcessorFactory) -> McpProcessor {
        let processor = factory.new_processor(scope, Arc::clone(&self.session)).with_reuse(self.allows_reuse);
        {
            let mut server_info = processor.server_info.lock();
            server_info.catalog = Arc::clone(&self.catalog);
            server_info.has_no_tools = self.has_no_tools;
        }
        let client = self.client.map_or_else(OnceLock::new, OnceLock::from);
        McpProcessor { client, ..processor }
    }
}
