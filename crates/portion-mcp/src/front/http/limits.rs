//! Limits of one HTTP listener.

use std::time::Duration;

use portion_gateway::overload::OverloadLimit;
use portion_net::request_head::MAX_HEAD_BYTES;

/// Lowest transfer rate of a body in bytes per second, after the stall timeout.
const MIN_BYTES_PER_SECOND: u32 = 8 << 10;

/// Limits of one HTTP listener.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Concurrent connections. A further connection evicts the one that is idle longest.
    pub max_connections: usize,
    /// Bytes of a request body.
    pub max_body_bytes: usize,
    /// Total bytes of the bodies of all unanswered requests.
    pub max_total_body_bytes: usize,
    /// Bytes of a request head.
    pub max_head_bytes: usize,
    /// Timeout for the head of a request, and for a body without progress.
    pub stall_timeout: Duration,
    /// Longest idle time of a connection between two requests.
    pub idle_timeout: Duration,
    /// Timeout for a whole body.
    pub body_timeout: Duration,
    /// Longest time that a client may read nothing of what is written to it.
    pub write_timeout: Duration,
    /// Time for running requests to finish at shutdown.
    pub drain_timeout: Duration,
    /// Load of this process beyond which requests that begin work are rejected; `None`: they are not.
    pub overload: Option<OverloadLimit>,
    /// File descriptors in reserve, so that a connection can be accepted when the process has no others left.
    pub reserved_descriptors: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: 4096,
            max_body_bytes: 64 << 20,
            max_total_body_bytes: 72 << 20,
            max_head_bytes: MAX_HEAD_BYTES,
            stall_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(90),
            body_timeout: Duration::from_mins(2),
            write_timeout: Duration::from_mins(1),
            drain_timeout: Duration::from_secs(30),
            overload: None,
            reserved_descriptors: 4,
        }
    }
}

impl HttpLimits {
    /// Sets the limit of a body, and the total to an eighth more: clients that never finish their bodies make the process hold
    /// little more than one body of that size.
    #[must_use]
    pub fn with_max_body_bytes(self, body: usize) -> Self {
        Self { max_body_bytes: body, max_total_body_bytes: body.saturating_add(body / 8), ..self }
    }

    /// Returns the timeout for the first `bytes` of a body: the stall timeout plus their time at the lowest rate.
    pub(super) fn transfer_timeout(&self, bytes: usize) -> Duration {
        let at_slowest = Duration::from_secs(bytes as u64) / MIN_BYTES_PER_SECOND;
        self.stall_timeout.saturating_add(at_slowest).min(self.body_timeout)
    }

    /// Returns the limit of concurrent connections, reduced to half of the file descriptors: a connection may need
    /// another descriptor upstream.
    pub(super) fn effective_max_connections(&self) -> usize {
        let affordable = descriptor_limit().map_or(usize::MAX, |limit| (limit / 2).max(16));
        self.max_connections.min(affordable).max(1)
    }
}

/// Returns the limit of open file descriptors.
#[cfg(unix)]
fn descriptor_limit() -> Option<usize> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    usize::try_from(limit).ok()
}

/// Returns the limit of open file descriptors.
#[cfg(not(unix))]
fn descriptor_limit() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::HttpLimits;

    #[test]
    fn the_timeout_of_a_body_follows_from_the_lowest_rate() {
        let limits = HttpLimits::default();
        let check = |bytes, expect| assert_eq!(limits.transfer_timeout(bytes).as_secs(), expect, "{bytes}");
        check(0, 10);
        check(100, 10);
        check(80 << 10, 20);
        check(64 << 20, 120);
    }

    #[test]
    fn connections_leave_descriptors_for_upstream_connections() {
        assert!(HttpLimits::default().effective_max_connections() >= 16);
        assert_eq!(HttpLimits { max_connections: 3, ..HttpLimits::default() }.effective_max_connections(), 3);
    }
}
