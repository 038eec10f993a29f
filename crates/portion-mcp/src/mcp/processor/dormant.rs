//! A session in which nothing is pending, in a few hundred bytes.
//!
//! Clients often leave a session without ending it, so a proxy keeps many that are never used again.

use std::sync::{Arc, OnceLock};

use portion_core::cursor::Scope;
use portion_gateway::session::ClientSession;
use portion_policy::client::ClientProfile;

use super::McpProcessor;
use crate::mcp::McpProcessorFactory;
use crate::mcp::catalog::ToolCatalog;
use crate::message_processor::MessageProcessor as _;

/// Facts that distinguish a processor from a new one when nothing is pending.
pub(crate) struct DormantProcessor {
    pub(crate) session: Arc<ClientSession>,
    pub(crate) client: Option<&'static ClientProfile>,
    /// True if the scope belongs to one caller.
    pub(crate) allows_reuse: bool,
    catalog: Arc<ToolCatalog>,
    has_no_tools: bool,
}

impl McpProcessor {
    /// Returns true if nothing can change this processor: it has no forks, and no pending requests.
    pub(crate) fn is_quiet(&self) -> bool {
        Arc::strong_count(&self.server_info) == 1 && self.pending_count() == 0
    }

    /// Returns what a [quiet](Self::is_quiet) processor has learned.
    pub(crate) fn to_dormant(&self) -> DormantProcessor {
        let server_info = self.server_info();
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
    /// Marks the scope as one that may belong to several callers.
    pub(crate) fn without_reuse(self) -> Self {
        Self { allows_reuse: false, ..self }
    }

    /// Returns the processor again.
    pub(crate) fn wake(&self, scope: Scope, factory: &McpProcessorFactory) -> McpProcessor {
        let processor = factory.new_processor(scope, Arc::clone(&self.session)).with_reuse(self.allows_reuse);
        {
            let mut server_info = processor.server_info();
            server_info.catalog = Arc::clone(&self.catalog);
            server_info.has_no_tools = self.has_no_tools;
        }
        let client = self.client.map_or_else(OnceLock::new, OnceLock::from);
        McpProcessor { client, ..processor }
    }
}
