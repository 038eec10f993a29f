//! What the lanes to one server have in common.

use std::sync::Arc;

use portion_core::cursor::Scope;

use super::{Listing, McpLane};
use crate::gateway::Gateway;
use crate::session::Session;

/// Makes lanes.
#[derive(Clone)]
pub struct Lanes {
    /// Makes the replies.
    pub gateway: Arc<Gateway>,
    /// How the server's tools are listed.
    pub listing: Listing,
    /// Bytes of the largest message that is read from the server.
    pub message_limit: usize,
    /// Bytes of the largest message that is read from a client.
    pub client_limit: usize,
    /// The name of the server, where there are several.
    pub upstream: Option<Arc<str>>,
    /// Whether traces are exported: then the server is told of our spans in place of the client's, so that its own hang
    /// below ours. Otherwise nothing of a request's trace is changed.
    pub traces: bool,
}

impl Lanes {
    /// Lanes to a server that needs no name.
    pub fn new(gateway: Arc<Gateway>, listing: Listing, message_limit: usize) -> Self {
        Self { gateway, listing, message_limit, client_limit: message_limit, upstream: None, traces: false }
    }

    /// Sets how many bytes the largest message of a client may have.
    #[must_use]
    pub fn with_client_limit(self, client_limit: usize) -> Self {
        Self { client_limit, ..self }
    }

    /// A lane for one session of a principal, which knows nothing yet.
    pub fn lane(&self, scope: Scope, session: Arc<Session>) -> McpLane {
        McpLane::new(self, scope, session)
    }

    /// The same where traces are exported, or not.
    #[must_use]
    pub fn tracing(self, traces: bool) -> Self {
        Self { traces, ..self }
    }

    /// The same for the server of that name.
    #[must_use]
    pub fn to(self, upstream: &str) -> Self {
        Self { upstream: Some(upstream.into()), ..self }
    }
}
