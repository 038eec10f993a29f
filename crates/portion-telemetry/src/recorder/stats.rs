//! Counters shared by event producers and the writer thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// State of the recorder's queue, with counts since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueSnapshot {
    /// Events written to the file.
    pub written: u64,
    /// Events dropped: the queue was full, or they could not be stored.
    pub dropped: u64,
    /// Failed writes. Their events are retried.
    pub failed: u64,
    /// Events that wait to be written.
    pub queued: usize,
    /// Time since the last dropped event.
    pub last_drop: Option<Duration>,
    /// Error of the last write; `None` if it succeeded.
    pub last_error: Option<String>,
}

/// Counters of the recorder.
#[derive(Debug, Default)]
pub(super) struct QueueStats {
    written: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    /// Dropped events that are not in the log yet.
    unreported: AtomicU64,
    problems: Mutex<Problems>,
    /// The losses at the end are in the log.
    reported: AtomicBool,
}

/// Last drop and last error.
#[derive(Debug, Default)]
struct Problems {
    last_drop: Option<Instant>,
    last_error: Option<String>,
}

impl QueueStats {
    /// Returns the counts, with the number of events that wait.
    pub(super) fn snapshot(&self, queued: usize) -> QueueSnapshot {
        let problems = lock(&self.problems);
        QueueSnapshot {
            written: self.written.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            failed: self.failed.load(Relaxed),
            queued,
            last_drop: problems.last_drop.map(|last_drop| last_drop.elapsed()),
            last_error: problems.last_error.clone(),
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Counts events written to the file.
    pub(super) fn wrote(&self, events: usize) {
        self.written.fetch_add(events as u64, Relaxed);
    }

    /// Counts events that found the queue full, or cannot be stored.
    pub(super) fn discarded(&self, events: usize) {
        self.dropped.fetch_add(events as u64, Relaxed);
        self.unreported.fetch_add(events as u64, Relaxed);
        lock(&self.problems).last_drop = Some(Instant::now());
    }

    /// Returns the number of drops since the last call.
    pub(super) fn take_unreported(&self) -> u64 {
        self.unreported.swap(0, Relaxed)
    }

    /// Counts a failed write and stores its reason.
    pub(super) fn write_failed(&self, why: String) {
        self.failed.fetch_add(1, Relaxed);
        self.set_error(why);
    }

    /// Stores the reason why nothing is written.
    pub(super) fn set_error(&self, why: String) {
        lock(&self.problems).last_error = Some(why);
    }

    /// Clears the last error after all queued events were written.
    pub(super) fn clear_error(&self) {
        lock(&self.problems).last_error = None;
    }

    /// Returns false at the first call: the losses at the end are reported once.
    pub(super) fn is_reported(&self) -> bool {
        self.reported.swap(true, Relaxed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_events_are_reported_once_and_counted_for_good() {
        let stats = QueueStats::default();
        assert_eq!((stats.take_unreported(), stats.snapshot(0).last_drop), (0, None));
        stats.discarded(1);
        stats.discarded(2);
        assert_eq!((stats.take_unreported(), stats.take_unreported()), (3, 0));
        let snapshot = stats.snapshot(7);
        assert_eq!((snapshot.dropped, snapshot.queued), (3, 7));
        assert!(snapshot.last_drop.is_some());
        assert!(!stats.is_reported() && stats.is_reported(), "the end is reported once");
    }
}
