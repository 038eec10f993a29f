//! What those who tell and the one who writes know of each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How recording goes, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Events that are in the file.
    pub written: u64,
    /// Events that found no place in the queue, or could not be kept.
    pub dropped: u64,
    /// Writes that failed; what they were to write is tried again.
    pub failed: u64,
    /// Events that wait.
    pub queue: usize,
}

/// Counters, and where one waits for the writer.
#[derive(Debug, Default)]
pub(super) struct Desk {
    written: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    queue: AtomicUsize,
    /// Somebody waits: whatever failed is tried again at once.
    hurry: AtomicBool,
    /// Nobody will tell anything more.
    closing: AtomicBool,
    /// Whether the writer has ended.
    ended: Mutex<bool>,
    turned: Condvar,
}

impl Desk {
    pub(super) fn figures(&self) -> Figures {
        Figures {
            written: self.written.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            failed: self.failed.load(Relaxed),
            queue: self.queue.load(Relaxed),
        }
    }

    /// An event comes; how many wait with it.
    pub(super) fn comes(&self) -> usize {
        self.queue.fetch_add(1, Relaxed) + 1
    }

    /// It found no place.
    pub(super) fn drops(&self) {
        self.lose(1);
    }

    /// So many are in the file.
    pub(super) fn wrote(&self, events: usize) {
        self.written.fetch_add(events as u64, Relaxed);
        self.queue.fetch_sub(events, Relaxed);
    }

    /// So many cannot be kept.
    pub(super) fn lose(&self, events: usize) {
        self.dropped.fetch_add(events as u64, Relaxed);
        self.queue.fetch_sub(events, Relaxed);
    }

    /// A write failed.
    pub(super) fn fail(&self) {
        self.failed.fetch_add(1, Relaxed);
    }

    /// Whether somebody waits; told once.
    pub(super) fn take_hurry(&self) -> bool {
        self.hurry.swap(false, Relaxed) || self.is_closing()
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    /// The writer has done what it could for now, or for good.
    pub(super) fn turn(&self, ended: bool) {
        *self.lock() |= ended;
        self.turned.notify_all();
    }

    /// Waits until nothing waits any more, or a write failed; whether nothing does.
    pub(super) fn flush(&self, within: Duration, wake: impl FnOnce()) -> bool {
        let failed = self.failed.load(Relaxed);
        self.hurry.store(true, Relaxed);
        let waits =
            |ended: &mut bool| !*ended && self.queue.load(Relaxed) > 0 && self.failed.load(Relaxed) == failed;
        let guard = self.lock();
        wake();
        drop(self.turned.wait_timeout_while(guard, within, waits));
        self.queue.load(Relaxed) == 0
    }

    /// Ends the writer, and waits for that.
    pub(super) fn close(&self, within: Duration, wake: impl FnOnce()) {
        self.closing.store(true, Relaxed);
        let guard = self.lock();
        wake();
        drop(self.turned.wait_timeout_while(guard, within, |ended| !*ended));
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
