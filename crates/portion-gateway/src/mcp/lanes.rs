//! What the lanes to one server have in common.

use std::sync::Arc;

use portion_core::cursor::Scope;

use super::McpLane;
use crate::gateway::Gateway;

/// Makes lanes.
#[derive(Clone)]
pub struct Lanes {
    /// Makes the replies.
    pub gateway: Arc<Gateway>,
    /// The name that our reading tool shall have.
    pub read_tool: Arc<str>,
    /// Bytes of the largest message that is read.
    pub message_limit: usize,
}

impl Lanes {
    /// A lane for one principal, which knows nothing yet.
    pub fn lane(&self, scope: Scope) -> McpLane {
        McpLane::new(Arc::clone(&self.gateway), scope, &self.read_tool, self.message_limit)
    }
}
