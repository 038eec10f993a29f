//! Limits of a bridge.

use std::time::Duration;

/// Time for a link to close after its outbox was dropped; then the inbox is dropped as well.
pub(super) const SERVER_EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Limits of a bridge.
#[derive(Clone, Copy, Debug)]
pub struct BridgeLimits {
    /// Concurrent sessions.
    pub max_sessions: usize,
    /// Longest idle time of a session, and of the shared link of clients without sessions.
    pub idle_timeout: Duration,
}

impl Default for BridgeLimits {
    fn default() -> Self {
        Self { max_sessions: 1000, idle_timeout: Duration::from_mins(30) }
    }
}
