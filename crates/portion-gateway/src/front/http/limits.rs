//! What clients of one listener may use up.

use std::time::Duration;

/// Bytes a second that a body has to arrive with, once its first seconds are over.
const MIN_BYTES_PER_SECOND: u32 = 8 << 10;

/// What a client may use up.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Connections at the same time. A further one takes the place of the one that is idle longest.
    pub max_connections: usize,
    /// Bytes of a request's body.
    pub max_body_bytes: usize,
    /// Bytes of the bodies of all requests that are not answered yet.
    pub max_total_body_bytes: usize,
    /// Bytes of a request's head.
    pub max_head_bytes: usize,
    /// How long a head may take to arrive, and how long a body may make no progress.
    pub stall_timeout: Duration,
    /// How long a connection may be idle between two requests.
    pub idle_timeout: Duration,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
    /// How long requests may take to finish once the listener is to end.
    pub drain_timeout: Duration,
    /// File descriptors kept back, so that a connection can be taken when the process has no others left.
    pub reserved_descriptors: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            max_connections: 4096,
            max_body_bytes: 64 << 20,
            max_total_body_bytes: 128 << 20,
            max_head_bytes: 64 << 10,
            stall_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(90),
            body_timeout: Duration::from_mins(2),
            drain_timeout: Duration::from_secs(30),
            reserved_descriptors: 4,
        }
    }
}

impl HttpLimits {
    /// Sets the bytes of a body. Two of the largest may be under way at once.
    #[must_use]
    pub fn with_max_body_bytes(self, body: usize) -> Self {
        Self { max_body_bytes: body, max_total_body_bytes: body.saturating_mul(2), ..self }
    }

    /// How long the first `bytes` of a body may take to arrive: a slow client is told from one that stalls by its rate.
    pub(super) fn transfer_timeout(&self, bytes: usize) -> Duration {
        let at_slowest = Duration::from_secs(bytes as u64) / MIN_BYTES_PER_SECOND;
        self.stall_timeout.saturating_add(at_slowest).min(self.body_timeout)
    }

    /// Connections at the same time, as far as the process has file descriptors for them and what they lead to.
    pub(super) fn effective_max_connections(&self) -> usize {
        let affordable = descriptor_limit().map_or(usize::MAX, |limit| (limit / 2).max(16));
        self.max_connections.min(affordable).max(1)
    }
}

/// File descriptors that the process may have open.
#[cfg(unix)]
fn descriptor_limit() -> Option<usize> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    usize::try_from(limit).ok()
}

/// File descriptors that the process may have open.
#[cfg(not(unix))]
fn descriptor_limit() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::HttpLimits;

    #[test]
    fn a_body_must_arrive_at_a_rate() {
        let limits = HttpLimits::default();
        let check = |bytes, expect| assert_eq!(limits.transfer_timeout(bytes).as_secs(), expect, "{bytes}");
        check(0, 10);
        check(100, 10);
        check(80 << 10, 20);
        check(64 << 20, 120);
    }

    #[test]
    fn connections_leave_descriptors_for_what_they_lead_to() {
        assert!(HttpLimits::default().effective_max_connections() >= 16);
        assert_eq!(HttpLimits { max_connections: 3, ..HttpLimits::default() }.effective_max_connections(), 3);
    }
}
