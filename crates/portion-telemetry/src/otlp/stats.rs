//! Counters of one exported signal. A failure is logged once when it starts and once when it ends.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
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
            lost: AtomicU64::new(0),
            last_error: Mutex::new(None),
        }
    }

    /// Counts an item that found the queue full.
    pub(crate) fn rejected(&self) {
        self.lost.fetch_add(1, Relaxed);
        self.log_failure("spans arrive faster than the collector accepts them");
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

    /// Logs the number of items lost at the end, with those that are still pending.
    pub(crate) fn log_lost(&self, pending: usize) {
        let lost = self.lost.load(Relaxed) + pending as u64;
        if lost > 0 {
            let signal = self.signal;
            tracing::warn!(signal, lost, "data was not delivered to the collector before shutdown");
        }
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Relaxed)
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
        (0..2).for_each(|_| stats.rejected());
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (2, true));
        stats.record_export(3, &Err(OTelSdkError::InternalFailure("status 500".into())));
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (5, true));
        stats.record_export(1, &Ok(()));
        assert_eq!((stats.lost.load(Relaxed), stats.failing.load(Relaxed)), (0, false));
    }
}
