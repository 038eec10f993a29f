//! The worker's side of a queue.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// The items of a queue, as its handler sees them.
#[derive(Debug)]
pub struct Items<T> {
    pub(super) receiver: Receiver<T>,
    pub(super) shared: Arc<Shared>,
}

/// Counts and wake-ups that both sides of a queue share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Items that are queued, or taken and not finished.
    pub(super) pending: AtomicUsize,
    /// Items ever admitted to the queue, and ever finished.
    pub(super) submitted: AtomicU64,
    pub(super) finished: AtomicU64,
    /// Times that a handler gave up for now.
    pub(super) failures: AtomicU64,
    /// True while a handler waits before it tries again.
    pub(super) pausing: AtomicBool,
    pub(super) flush_requested: AtomicBool,
    pub(super) closing: AtomicBool,
    /// Callers that wait for a change.
    pub(super) waiters: AtomicUsize,
    ended: Mutex<bool>,
    changed: Condvar,
}

impl<T> Items<T> {
    /// Returns the next queued item.
    pub fn take(&self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    /// Counts taken items as finished, which makes room for others.
    pub fn finish(&self, items: usize) {
        self.shared.finish(items);
    }

    /// Ends running flushes: what is pending fails for now and is tried again later.
    pub fn fail(&self) {
        self.shared.failures.fetch_add(1, SeqCst);
        self.shared.notify();
    }

    /// Returns true if a flush was requested since the last call, or the queue is closed: nothing should be put off.
    pub fn take_flush_request(&self) -> bool {
        self.shared.flush_requested.swap(false, SeqCst) || self.is_closing()
    }

    /// Returns true once the queue is closed.
    pub fn is_closing(&self) -> bool {
        self.shared.closing.load(SeqCst)
    }

    /// Waits for `duration`, or until the queue is closed. Flushes end meanwhile.
    ///
    /// The queue is polled again at once afterwards: a wake-up during the pause, such as that of the end, is not lost.
    pub fn pause(&self, duration: Duration) {
        let until = Instant::now() + duration;
        self.shared.pausing.store(true, SeqCst);
        self.shared.notify();
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|_| !self.is_closing()) {
            thread::park_timeout(left);
        }
        self.shared.pausing.store(false, SeqCst);
        thread::current().unpark();
    }
}

impl Shared {
    pub(super) fn finish(&self, items: usize) {
        self.pending.fetch_sub(items, SeqCst);
        self.finished.fetch_add(items as u64, SeqCst);
        if self.waiters.load(SeqCst) > 0 {
            self.notify();
        }
    }

    pub(super) fn notify(&self) {
        drop(self.ended.lock());
        self.changed.notify_all();
    }

    /// Marks the worker as ended.
    pub(super) fn end(&self) {
        *self.ended.lock() = true;
        self.changed.notify_all();
    }

    /// Waits up to `within` while `waits` returns true; not for a worker that has ended. Returns true if it has.
    pub(super) fn wait_while(&self, within: Duration, waits: impl Fn() -> bool) -> bool {
        self.waiters.fetch_add(1, SeqCst);
        let mut ended = self.ended.lock();
        self.changed.wait_while_for(&mut ended, |ended| !*ended && waits(), within);
        self.waiters.fetch_sub(1, SeqCst);
        *ended
    }
}
