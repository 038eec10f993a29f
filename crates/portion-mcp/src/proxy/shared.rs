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
    /// Set when running requests have no more time to finish before the gateway stops.
    pub(super) shutdown_started: OneShotFlag,
}
