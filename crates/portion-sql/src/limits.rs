//! Limits of a query, and its deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Limits of a query.
#[derive(Clone, Debug)]
pub struct QueryLimits {
    /// Maximum processor time of the thread. A query that waits for a busy processor may take
    /// five times as long. Systems without such a clock limit the elapsed time.
    pub timeout: Duration,
    /// Maximum rows of the result; the rest is left out, and
    /// [`QueryResult::is_truncated`](crate::QueryResult::is_truncated) is set.
    pub max_rows: usize,
    /// Maximum bytes of the result's JSON; rows beyond are left out as well.
    pub max_bytes: usize,
    /// Maximum bytes that SQLite may allocate, for sorting, grouping and joining.
    pub max_heap_bytes: usize,
    /// Maximum bytes of one value: a record, a text, the result of a function.
    pub max_value_bytes: usize,
    /// Maximum bytes of the statement.
    pub max_sql_bytes: usize,
    /// Set by another thread to end the query with [`TooCostly`](crate::QueryError::TooCostly).
    pub cancel_flag: Option<Arc<AtomicBool>>,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(2),
            max_rows: 100_000,
            max_bytes: 64 << 20,
            max_heap_bytes: 256 << 20,
            max_value_bytes: 16 << 20,
            max_sql_bytes: 64 << 10,
            cancel_flag: None,
        }
    }
}

/// Largest ratio of the elapsed time of a query to its processor time.
const MAX_WAIT_FACTOR: u32 = 5;

/// The reason for stopping a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The deadline was reached, or the query was cancelled.
    Time = 1,
    /// It allocated too much memory.
    Memory = 2,
}

/// Deadline and stop reason of one query, checked wherever work is done for it.
#[derive(Debug)]
pub(crate) struct QueryDeadline {
    started: Instant,
    started_processor_time: Option<Duration>,
    timeout: Duration,
    cancel_flag: Option<Arc<AtomicBool>>,
    stop_code: AtomicU8,
}

impl QueryDeadline {
    /// Starts the time of a query that this thread runs.
    pub(crate) fn new(limits: &QueryLimits) -> Self {
        Self {
            started: Instant::now(),
            started_processor_time: thread_processor_time(),
            timeout: limits.timeout,
            cancel_flag: limits.cancel_flag.clone(),
            stop_code: AtomicU8::new(0),
        }
    }

    /// Returns true once the query must stop.
    pub(crate) fn is_over(&self) -> bool {
        let is_stopped = || self.cancel_flag.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if self.stop_reason().is_none() && (is_stopped() || self.is_time_over()) {
            self.stop(StopReason::Time);
        }
        self.stop_reason().is_some()
    }

    /// The clock of processor time takes a system call, so it is read only after the timeout has elapsed.
    fn is_time_over(&self) -> bool {
        let elapsed = self.started.elapsed();
        if elapsed < self.timeout {
            return false;
        }
        match (self.started_processor_time, thread_processor_time()) {
            (Some(start), Some(now)) => {
                now.saturating_sub(start) >= self.timeout
                    || elapsed >= self.timeout.saturating_mul(MAX_WAIT_FACTOR)
            }
            _ => true,
        }
    }

    pub(crate) fn stop(&self, why: StopReason) {
        // The first reason is kept.
        let _ = self.stop_code.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        match self.stop_code.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(StopReason::Time),
            _ => Some(StopReason::Memory),
        }
    }
}

/// Returns the processor time that this thread has used; `None` where the system does not tell.
#[cfg(unix)]
fn thread_processor_time() -> Option<Duration> {
    use rustix::time::{ClockId, clock_gettime};

    let time = clock_gettime(ClockId::ThreadCPUTime);
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(not(unix))]
fn thread_processor_time() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deadline(timeout: Duration) -> QueryDeadline {
        QueryDeadline::new(&QueryLimits { timeout, ..QueryLimits::default() })
    }

    #[cfg(unix)]
    #[test]
    fn waiting_uses_none_of_the_timeout_and_work_all_of_it() {
        let deadline = deadline(Duration::from_millis(100));
        std::thread::sleep(Duration::from_millis(150));
        assert!(!deadline.is_over(), "this thread used hardly any processor time");
        while !deadline.is_over() {
            std::hint::spin_loop();
        }
        assert_eq!(deadline.stop_reason(), Some(StopReason::Time));
    }

    #[test]
    fn a_query_that_only_waits_ends_too() {
        let deadline = deadline(Duration::from_millis(1));
        std::thread::sleep(Duration::from_millis(1) * MAX_WAIT_FACTOR);
        assert!(deadline.is_over());
    }

    #[test]
    fn the_longest_timeout_is_never_over() {
        assert!(!deadline(Duration::MAX).is_over());
    }
}
