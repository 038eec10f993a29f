//! State shared by all requests and background tasks of a proxy.

use super::session_cache::SessionCache;
use super::upstream_client::UpstreamClient;
use crate::mcp::McpProcessorFactory;
use crate::one_shot_flag::OneShotFlag;

/// State shared by all requests and background tasks.
pub(super) struct ProxyShared {
    pub(super) upstream: UpstreamClient,
    pub(super) processor_factory: McpProcessorFactory,
    pub(super) sessions: SessionCache,
    /// Set when shutdown has begun.
    pub(super) shutdown_started: OneShotFlag,
}
