//! Counters and wake-ups shared by event producers and the writer thread.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
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

/// Counters and wake-ups of the queue.
#[derive(Debug, Default)]
pub(super) struct QueueStats {
    written: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    queue: AtomicUsize,
    /// Dropped events that are not in the log yet.
    unreported: AtomicU64,
    problems: Mutex<Problems>,
    /// A caller waits in `flush`, so a failed write is retried at once.
    flush_requested: AtomicBool,
    /// No more events will be queued.
    closing: AtomicBool,
    /// The writer thread has ended.
    ended: Mutex<bool>,
    wakeup: Condvar,
}

/// Last drop and last error.
#[derive(Debug, Default)]
struct Problems {
    last_drop: Option<Instant>,
    last_error: Option<String>,
}

impl QueueStats {
    pub(super) fn snapshot(&self) -> QueueSnapshot {
        let problems = lock(&self.problems);
        QueueSnapshot {
            written: self.written.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            failed: self.failed.load(Relaxed),
            queued: self.queue.load(Relaxed),
            last_drop: problems.last_drop.map(|last_drop| last_drop.elapsed()),
            last_error: problems.last_error.clone(),
        }
    }

    /// Counts an event into the queue and returns the new length.
    pub(super) fn enqueued(&self) -> usize {
        self.queue.fetch_add(1, Relaxed) + 1
    }

    /// Counts an event that found the queue full.
    pub(super) fn rejected(&self) {
        self.discarded(1);
    }

    /// Counts events written to the file.
    pub(super) fn wrote(&self, events: usize) {
        self.written.fetch_add(events as u64, Relaxed);
        self.queue.fetch_sub(events, Relaxed);
    }

    /// Counts events that cannot be stored.
    pub(super) fn discarded(&self, events: usize) {
        self.dropped.fetch_add(events as u64, Relaxed);
        self.unreported.fetch_add(events as u64, Relaxed);
        self.queue.fetch_sub(events, Relaxed);
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

    /// Returns true if a flush was requested since the last call, or the queue is closed.
    pub(super) fn take_flush_request(&self) -> bool {
        self.flush_requested.swap(false, Relaxed) || self.is_closing()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    /// Wakes callers of `flush` and `wait_for_end`; `ended` marks the writer as ended.
    pub(super) fn notify(&self, ended: bool) {
        *lock(&self.ended) |= ended;
        self.wakeup.notify_all();
    }

    /// Waits until the queue is empty or a write fails, up to `within`. Returns true if the queue is empty.
    pub(super) fn flush(&self, within: Duration, wake: impl FnOnce()) -> bool {
        let failed = self.failed.load(Relaxed);
        self.flush_requested.store(true, Relaxed);
        let waits =
            |ended: &mut bool| !*ended && self.queue.load(Relaxed) > 0 && self.failed.load(Relaxed) == failed;
        let guard = lock(&self.ended);
        wake();
        drop(self.wakeup.wait_timeout_while(guard, within, waits));
        self.queue.load(Relaxed) == 0
    }

    /// Marks the queue as closed. Returns false if it was closed already.
    pub(super) fn close(&self) -> bool {
        !self.closing.swap(true, Relaxed)
    }

    /// Waits until the writer has ended, up to `within`.
    pub(super) fn wait_for_end(&self, within: Duration, wake: impl FnOnce()) {
        let guard = lock(&self.ended);
        wake();
        drop(self.wakeup.wait_timeout_while(guard, within, |ended| !*ended));
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
        assert_eq!((stats.take_unreported(), stats.snapshot().last_drop), (0, None));
        assert_eq!([stats.enqueued(), stats.enqueued(), stats.enqueued()], [1, 2, 3]);
        stats.rejected();
        stats.discarded(2);
        assert_eq!((stats.take_unreported(), stats.take_unreported()), (3, 0));
        let snapshot = stats.snapshot();
        assert_eq!((snapshot.dropped, snapshot.queued), (3, 0));
        assert!(snapshot.last_drop.is_some());
        assert!(stats.close() && !stats.close(), "it ends once");
    }
}
