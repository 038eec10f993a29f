//! What the lanes to one server have in common.

use std::sync::Arc;

use portion_core::cursor::Scope;

use super::{ListingOptions, McpProcessor};
use crate::gateway::Gateway;
use crate::session::ClientSession;

/// Makes lanes.
#[derive(Clone)]
pub struct McpProcessorFactory {
    /// Makes the replies.
    pub gateway: Arc<Gateway>,
    /// How the server's tools are listed.
    pub listing: ListingOptions,
    /// Bytes of the largest message that is read from the server.
    pub max_server_message_bytes: usize,
    /// Bytes of the largest message that is read from a client.
    pub max_client_message_bytes: usize,
    /// The name of the server, where there are several.
    pub upstream: Option<Arc<str>>,
    /// Whether traces are exported: then the server is told of our spans in place of the client's, so that its own hang
    /// below ours. Otherwise nothing of a request's trace is changed.
    pub exports_traces: bool,
}

impl McpProcessorFactory {
    /// Lanes to a server that needs no name.
    pub fn new(gateway: Arc<Gateway>, listing: ListingOptions, message_limit: usize) -> Self {
        Self {
            gateway,
            listing,
            max_server_message_bytes: message_limit,
            max_client_message_bytes: message_limit,
            upstream: None,
            exports_traces: false,
        }
    }

    /// Sets how many bytes the largest message of a client may have.
    #[must_use]
    pub fn with_max_client_message_bytes(self, client_limit: usize) -> Self {
        Self { max_client_message_bytes: client_limit, ..self }
    }

    /// A lane for one session of a principal, which knows nothing yet.
    pub fn new_processor(&self, scope: Scope, session: Arc<ClientSession>) -> McpProcessor {
        McpProcessor::new(self, scope, session)
    }

    /// The same where traces are exported, or not.
    #[must_use]
    pub fn with_tracing(self, traces: bool) -> Self {
        Self { exports_traces: traces, ..self }
    }

    /// The same for the server of that name.
    #[must_use]
    pub fn with_upstream(self, upstream: &str) -> Self {
        Self { upstream: Some(upstream.into()), ..self }
    }
}
