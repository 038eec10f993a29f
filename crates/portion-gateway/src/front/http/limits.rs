//! What clients of one listener may use up.

use std::time::Duration;

/// Bytes a second that a body has to arrive with, once its first seconds are over.
const SLOWEST: u32 = 8 << 10;

/// What a client may use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at the same time. A further one takes the place of the one that is idle longest.
    pub connections: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Bytes of the bodies of all requests that are not answered yet.
    pub bodies: usize,
    /// Bytes of a request's head.
    pub head: usize,
    /// How long a head may take to arrive, and how long a body may make no progress.
    pub slow: Duration,
    /// How long a connection may be idle between two requests.
    pub idle: Duration,
    /// How long a body may take to arrive.
    pub sending: Duration,
    /// How long requests may take to finish once the listener is to end.
    pub drain: Duration,
    /// File descriptors kept back, so that a connection can be taken when the process has no others left.
    pub reserve: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            body: 64 << 20,
            bodies: 128 << 20,
            head: 64 << 10,
            slow: Duration::from_secs(10),
            idle: Duration::from_secs(90),
            sending: Duration::from_mins(2),
            drain: Duration::from_secs(30),
            reserve: 4,
        }
    }
}

impl Limits {
    /// Sets the bytes of a body. Two of the largest may be under way at once.
    #[must_use]
    pub fn with_body(self, body: usize) -> Self {
        Self { body, bodies: body.saturating_mul(2), ..self }
    }

    /// How long the first `bytes` of a body may take to arrive: a slow client is told from one that stalls by its rate.
    pub(super) fn time_for(&self, bytes: usize) -> Duration {
        let at_slowest = Duration::from_secs(bytes as u64) / SLOWEST;
        self.slow.saturating_add(at_slowest).min(self.sending)
    }

    /// Connections at the same time, as far as the process has file descriptors for them and what they lead to.
    pub(super) fn seats(&self) -> usize {
        let affordable = descriptors().map_or(usize::MAX, |limit| (limit / 2).max(16));
        self.connections.min(affordable).max(1)
    }
}

/// File descriptors that the process may have open.
#[cfg(unix)]
fn descriptors() -> Option<usize> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current?;
    usize::try_from(limit).ok()
}

/// File descriptors that the process may have open.
#[cfg(not(unix))]
fn descriptors() -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn a_body_must_arrive_at_a_rate() {
        let limits = Limits::default();
        let check = |bytes, expect| assert_eq!(limits.time_for(bytes).as_secs(), expect, "{bytes}");
        check(0, 10);
        check(100, 10);
        check(80 << 10, 20);
        check(64 << 20, 120);
    }

    #[test]
    fn connections_leave_descriptors_for_what_they_lead_to() {
        assert!(Limits::default().seats() >= 16);
        assert_eq!(Limits { connections: 3, ..Limits::default() }.seats(), 3);
    }
}
