//! Limits of a bridge, and requests to end a session or a link.

use std::sync::OnceLock;
use std::time::Duration;

use crate::once::OneShotFlag;

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

/// A request to end, made once; the first reason counts.
#[derive(Debug, Default)]
pub(super) struct EndRequest {
    reason: OnceLock<&'static str>,
    is_made: OneShotFlag,
}

impl EndRequest {
    /// Requests the end. `reason` is a sentence that `before it responded` can follow, where "it" is the server.
    pub(super) fn make(&self, reason: &'static str) {
        let _ = self.reason.set(reason);
        self.is_made.set();
    }

    /// Waits for the request. Returns its reason.
    pub(super) async fn wait(&self) -> &'static str {
        self.is_made.wait().await;
        // `make` sets the reason before the flag.
        self.reason.get().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::EndRequest;

    #[tokio::test]
    async fn the_first_reason_counts() {
        let end = EndRequest::default();
        end.make("the session was ended");
        end.make("the gateway is stopping");
        assert_eq!(end.wait().await, "the session was ended");
    }
}
