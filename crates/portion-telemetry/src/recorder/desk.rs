//! What those who tell and the one who writes know of each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How recording goes, since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Events that are in the file.
    pub written: u64,
    /// Events that found no place in the queue, or could not be kept.
    pub dropped: u64,
    /// Writes that failed; what they were to write is tried again.
    pub failed: u64,
    /// Events that wait.
    pub queue: usize,
    /// How long ago the last event was dropped.
    pub lost: Option<Duration>,
    /// What was wrong with the file when it was last to be written; `None` where nothing was.
    pub trouble: Option<String>,
}

/// Counters, and where one waits for the writer.
#[derive(Debug, Default)]
pub(super) struct Desk {
    written: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
    queue: AtomicUsize,
    /// Dropped events that the log does not know of yet.
    untold: AtomicU64,
    wrong: Mutex<Wrong>,
    /// Somebody waits: whatever failed is tried again at once.
    hurry: AtomicBool,
    /// Nobody will tell anything more.
    closing: AtomicBool,
    /// Whether the writer has ended.
    ended: Mutex<bool>,
    turned: Condvar,
}

/// What goes wrong, or went wrong.
#[derive(Debug, Default)]
struct Wrong {
    lost: Option<Instant>,
    trouble: Option<String>,
}

impl Desk {
    pub(super) fn figures(&self) -> Figures {
        let wrong = lock(&self.wrong);
        Figures {
            written: self.written.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            failed: self.failed.load(Relaxed),
            queue: self.queue.load(Relaxed),
            lost: wrong.lost.map(|lost| lost.elapsed()),
            trouble: wrong.trouble.clone(),
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
        self.untold.fetch_add(events as u64, Relaxed);
        self.queue.fetch_sub(events, Relaxed);
        lock(&self.wrong).lost = Some(Instant::now());
    }

    /// How many were dropped since that was last told.
    pub(super) fn take_untold(&self) -> u64 {
        self.untold.swap(0, Relaxed)
    }

    /// A write failed, for that reason.
    pub(super) fn fail(&self, why: String) {
        self.failed.fetch_add(1, Relaxed);
        self.stops(why);
    }

    /// Nothing is written, for that reason.
    pub(super) fn stops(&self, why: String) {
        lock(&self.wrong).trouble = Some(why);
    }

    /// All that waited is in the file.
    pub(super) fn succeed(&self) {
        lock(&self.wrong).trouble = None;
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
        *lock(&self.ended) |= ended;
        self.turned.notify_all();
    }

    /// Waits until nothing waits any more, or a write failed; whether nothing does.
    pub(super) fn flush(&self, within: Duration, wake: impl FnOnce()) -> bool {
        let failed = self.failed.load(Relaxed);
        self.hurry.store(true, Relaxed);
        let waits =
            |ended: &mut bool| !*ended && self.queue.load(Relaxed) > 0 && self.failed.load(Relaxed) == failed;
        let guard = lock(&self.ended);
        wake();
        drop(self.turned.wait_timeout_while(guard, within, waits));
        self.queue.load(Relaxed) == 0
    }

    /// Nobody will tell anything more; whether that is new.
    pub(super) fn close(&self) -> bool {
        !self.closing.swap(true, Relaxed)
    }

    /// Waits until the writer has ended.
    pub(super) fn wait(&self, within: Duration, wake: impl FnOnce()) {
        let guard = lock(&self.ended);
        wake();
        drop(self.turned.wait_timeout_while(guard, within, |ended| !*ended));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_told_once_and_counted_for_good() {
        let desk = Desk::default();
        assert_eq!((desk.take_untold(), desk.figures().lost), (0, None));
        assert_eq!([desk.comes(), desk.comes(), desk.comes()], [1, 2, 3]);
        desk.drops();
        desk.lose(2);
        assert_eq!((desk.take_untold(), desk.take_untold()), (3, 0));
        let figures = desk.figures();
        assert_eq!((figures.dropped, figures.queue), (3, 0));
        assert!(figures.lost.is_some());
        assert!(desk.close() && !desk.close(), "it ends once");
    }
}
