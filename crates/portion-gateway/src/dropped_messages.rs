//! Counts messages of a server that are not relayed, and logs them at a bounded rate.
//!
//! A log line names the reason and the size, never the content.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Largest number of log lines of one kind per [`LOG_WINDOW`]; further ones are only counted.
const MAX_LINES_PER_WINDOW: u32 = 5;
/// Length of a window.
const LOG_WINDOW: Duration = Duration::from_secs(10);

/// Reason why a message of a server was not relayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// No pending request: a duplicate response, or one without a request.
    Unsolicited,
    /// Response to a request that its client cancelled.
    Cancelled,
    /// Not a JSON-RPC 2.0 message.
    Invalid,
    /// The message, or a member of it, exceeds the limit of its kind and cannot be served in portions.
    Oversized,
}

/// Counts of messages that were not relayed, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts {
    /// Responses without a pending request.
    pub unsolicited: u64,
    /// Responses to cancelled requests.
    pub cancelled: u64,
    /// Lines and events that are not JSON-RPC 2.0 messages.
    pub invalid: u64,
    /// Notifications, requests and extra members that are too large.
    pub oversized: u64,
}

/// Counts dropped messages.
#[derive(Debug, Default)]
pub(crate) struct DropCounter([ReasonCounter; 4]);

#[derive(Debug, Default)]
struct ReasonCounter {
    count: AtomicU64,
    log_rate_limit: LogRateLimit,
}

impl DropCounter {
    /// Counts a message of `bytes` bytes. `why` describes the problem.
    pub(crate) fn record(&self, dropped: DropReason, bytes: usize, why: &str, now: Instant) {
        let kind = &self.0[dropped as usize];
        kind.count.fetch_add(1, Ordering::Relaxed);
        let Some(unlogged) = kind.log_rate_limit.acquire(now) else { return };
        if dropped == DropReason::Cancelled {
            tracing::debug!(bytes, unlogged, "dropped {why}");
        } else {
            tracing::warn!(bytes, unlogged, "dropped {why}");
        }
    }

    /// Returns the counts since the start.
    pub(crate) fn counts(&self) -> DropCounts {
        let count = |dropped: DropReason| self.0[dropped as usize].count.load(Ordering::Relaxed);
        DropCounts {
            unsolicited: count(DropReason::Unsolicited),
            cancelled: count(DropReason::Cancelled),
            invalid: count(DropReason::Invalid),
            oversized: count(DropReason::Oversized),
        }
    }
}

/// Limits the rate of a log line.
#[derive(Debug, Default)]
pub struct LogRateLimit(Mutex<LogWindow>);

#[derive(Debug, Default)]
struct LogWindow {
    started_at: Option<Instant>,
    logged_count: u32,
    suppressed_count: u64,
}

impl LogRateLimit {
    /// Returns the number of lines suppressed since the last one if a line may be logged now, else `None`.
    pub fn acquire(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock();
        if window.started_at.is_none_or(|begun| now.saturating_duration_since(begun) >= LOG_WINDOW) {
            (window.started_at, window.logged_count) = (Some(now), 0);
        }
        if window.logged_count >= MAX_LINES_PER_WINDOW {
            window.suppressed_count += 1;
            return None;
        }
        window.logged_count += 1;
        Some(std::mem::take(&mut window.suppressed_count))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{DropCounter, DropCounts, DropReason, LOG_WINDOW, LogRateLimit, MAX_LINES_PER_WINDOW};

    #[test]
    fn logs_a_limited_number_per_window_and_counts_the_rest() {
        let (pace, now) = (LogRateLimit::default(), Instant::now());
        for _ in 0..MAX_LINES_PER_WINDOW {
            assert_eq!(pace.acquire(now), Some(0));
        }
        for after in [Duration::ZERO, LOG_WINDOW / 2] {
            assert_eq!(pace.acquire(now + after), None);
        }
        assert_eq!(pace.acquire(now + LOG_WINDOW), Some(2));
        assert_eq!(pace.acquire(now + LOG_WINDOW), Some(0));
    }

    #[test]
    fn counts_each_reason_separately() {
        let drops = DropCounter::default();
        for dropped in
            [DropReason::Unsolicited, DropReason::Unsolicited, DropReason::Cancelled, DropReason::Oversized]
        {
            drops.record(dropped, 1, "a test", Instant::now());
        }
        assert_eq!(drops.counts(), DropCounts { unsolicited: 2, cancelled: 1, invalid: 0, oversized: 1 });
    }
}
