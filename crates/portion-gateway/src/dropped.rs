//! Counts messages of a server that are not relayed, and logs them at a bounded rate.
//!
//! A log line names the reason and the size, never the content.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Log lines of one kind within a [`WINDOW`]; those after are counted.
const BURST: u32 = 5;
/// How long a window of log lines is.
const WINDOW: Duration = Duration::from_secs(10);

/// Why a message of a server was not relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// It answers no request that is pending: a second answer, or one that nobody asked for.
    Unasked,
    /// It answers a request that its client has cancelled.
    Cancelled,
    /// It is no JSON-RPC 2.0 message.
    Invalid,
    /// It, or a member of it, is larger than the limit of its kind and cannot be served in portions.
    Oversized,
}

/// How many messages were not relayed, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Answers to no pending request.
    pub unasked: u64,
    /// Answers to requests that their clients had cancelled.
    pub cancelled: u64,
    /// Lines and events that are no JSON-RPC 2.0 message.
    pub invalid: u64,
    /// Notifications, requests and members beside a result that are too large.
    pub oversized: u64,
}

/// Counts dropped messages.
#[derive(Debug, Default)]
pub(crate) struct Drops([Kind; 4]);

#[derive(Debug, Default)]
struct Kind {
    count: AtomicU64,
    pace: Pace,
}

impl Drops {
    /// Counts a message of so many bytes. `why` says what is wrong with it.
    pub(crate) fn count(&self, dropped: Dropped, bytes: usize, why: &str, now: Instant) {
        let kind = &self.0[dropped as usize];
        kind.count.fetch_add(1, Ordering::Relaxed);
        let Some(unlogged) = kind.pace.allows(now) else { return };
        if dropped == Dropped::Cancelled {
            tracing::debug!(bytes, unlogged, "dropped {why}");
        } else {
            tracing::warn!(bytes, unlogged, "dropped {why}");
        }
    }

    /// How many were dropped since the start.
    pub(crate) fn figures(&self) -> Figures {
        let count = |dropped: Dropped| self.0[dropped as usize].count.load(Ordering::Relaxed);
        Figures {
            unasked: count(Dropped::Unasked),
            cancelled: count(Dropped::Cancelled),
            invalid: count(Dropped::Invalid),
            oversized: count(Dropped::Oversized),
        }
    }
}

/// Bounds how often something is logged.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    begun: Option<Instant>,
    logged: u32,
    unlogged: u64,
}

impl Pace {
    /// Whether to log now: how many times it was not logged since the last time. `None`: not now.
    pub(crate) fn allows(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.begun.is_none_or(|begun| now.saturating_duration_since(begun) >= WINDOW) {
            (window.begun, window.logged) = (Some(now), 0);
        }
        if window.logged >= BURST {
            window.unlogged += 1;
            return None;
        }
        window.logged += 1;
        Some(std::mem::take(&mut window.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{BURST, Dropped, Drops, Figures, Pace, WINDOW};

    #[test]
    fn logs_so_many_within_a_window_and_tells_how_many_it_did_not() {
        let (pace, now) = (Pace::default(), Instant::now());
        for _ in 0..BURST {
            assert_eq!(pace.allows(now), Some(0));
        }
        for after in [Duration::ZERO, WINDOW / 2] {
            assert_eq!(pace.allows(now + after), None);
        }
        assert_eq!(pace.allows(now + WINDOW), Some(2));
        assert_eq!(pace.allows(now + WINDOW), Some(0));
    }

    #[test]
    fn counts_each_reason_by_itself() {
        let drops = Drops::default();
        for dropped in [Dropped::Unasked, Dropped::Unasked, Dropped::Cancelled, Dropped::Oversized] {
            drops.count(dropped, 1, "a test", Instant::now());
        }
        assert_eq!(drops.figures(), Figures { unasked: 2, cancelled: 1, invalid: 0, oversized: 1 });
    }
}
