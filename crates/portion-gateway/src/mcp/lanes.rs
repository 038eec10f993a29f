//! What the lanes to one server have in common.

use std::sync::Arc;

use portion_core::cursor::Scope;

use super::{Listing, McpLane};
use crate::gateway::Gateway;

/// Makes lanes.
#[derive(Clone)]
pub struct Lanes {
    /// Makes the replies.
    pub gateway: Arc<Gateway>,
    /// How the server's tools are listed.
    pub listing: Listing,
    /// Bytes of the largest message that is read.
    pub message_limit: usize,
}

impl Lanes {
    /// A lane for one principal, which knows nothing yet.
    pub fn lane(&self, scope: Scope) -> McpLane {
        McpLane::new(Arc::clone(&self.gateway), scope, &self.listing, self.message_limit)
    }
}
