//! Counters of one exported signal. A failure is logged once when it starts and once when it ends.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use opentelemetry_sdk::error::OTelSdkResult;

/// Counters of one exported signal.
#[derive(Debug)]
pub(crate) struct QueueStats {
    /// Name of the signal: `traces` or `metrics`.
    signal: &'static str,
    /// Export fails, and that is logged.
    failing: AtomicBool,
    /// The process is shutting down; exports are not retried.
    closing: AtomicBool,
    /// Items queued or in flight.
    waiting: AtomicUsize,
    /// Items lost since export began to fail.
    lost: AtomicU64,
    /// Error of the last exchange without a response.
    last_error: Mutex<Option<String>>,
}

impl QueueStats {
    pub(crate) fn new(signal: &'static str) -> Self {
        Self {
            signal,
            failing: AtomicBool::new(false),
            closing: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
            last_error: Mutex::new(None),
        }
    }

    /// Counts an item into the queue. Returns false if `capacity` items are queued already.
    pub(crate) fn try_admit(&self, capacity: usize) -> bool {
        if self.waiting.fetch_add(1, Relaxed) < capacity {
            return true;
        }
        self.waiting.fetch_sub(1, Relaxed);
        self.lost.fetch_add(1, Relaxed);
        self.log_failure("spans arrive faster than the collector accepts them");
        false
    }

    /// Counts items out of the queue.
    pub(crate) fn dequeued(&self, items: usize) {
        self.waiting.fetch_sub(items, Relaxed);
    }

    /// Stores the error of an exchange without a response.
    pub(crate) fn no_response(&self, why: String) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// Counts the result of exporting `items` items.
    pub(crate) fn record_export(&self, items: usize, result: &OTelSdkResult) {
        let last_error = self.last_error.lock().unwrap_or_else(PoisonError::into_inner).take();
        match result {
            Ok(()) => {
                let lost = self.lost.swap(0, Relaxed);
                if self.failing.swap(false, Relaxed) {
                    tracing::info!(signal = self.signal, lost, "the collector accepts data again");
                }
            }
            Err(error) => {
                self.lost.fetch_add(items as u64, Relaxed);
                self.log_failure(&last_error.unwrap_or_else(|| error.to_string()));
            }
        }
    }

    /// Marks the signal as closing. Returns true if export did not fail until now.
    pub(crate) fn close(&self) -> bool {
        self.closing.store(true, Relaxed);
        !self.failing.load(Relaxed)
    }

    /// Logs the number of items lost at the end.
    pub(crate) fn log_lost(&self) {
        let lost = self.lost.load(Relaxed) + self.waiting.load(Relaxed) as u64;
        if lost > 0 {
            let signal = self.signal;
            tracing::warn!(signal, lost, "data was not delivered to the collector before shutdown");
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    fn log_failure(&self, why: &str) {
        if !self.failing.swap(true, Relaxed) {
            let signal = self.signal;
            tracing::warn!(signal, why, "export to the collector fails; requests are served");
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_sdk::error::OTelSdkError;

    use super::*;

    #[test]
    fn what_finds_no_room_is_lost_and_counted_until_it_goes_well() {
        let stats = QueueStats::new("traces");
        let come = |items: usize| (0..items).filter(|_| stats.try_admit(3)).count();
        assert_eq!(come(5), 3);
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (2, true));
        stats.dequeued(3);
        stats.record_export(3, &Err(OTelSdkError::InternalFailure("status 500".into())));
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (5, true));
        assert_eq!(come(1), 1);
        stats.dequeued(1);
        stats.record_export(1, &Ok(()));
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (0, false));
    }
}
