//! Limits of a query, and its deadline.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// Limits of a query.
#[derive(Clone, Debug)]
pub struct QueryLimits {
    /// Maximum duration.
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

/// The reason for stopping a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The deadline was reached, or the query was cancelled.
    Time,
    /// It allocated too much memory.
    Memory,
}

/// Deadline and stop reason of one query, checked wherever work is done for it.
#[derive(Debug)]
pub(crate) struct QueryDeadline {
    ends_at: Instant,
    cancel_flag: Option<Arc<AtomicBool>>,
    stop_code: AtomicU8,
}

impl QueryDeadline {
    pub(crate) fn new(limits: &QueryLimits) -> Self {
        let now = Instant::now();
        let end = now.checked_add(limits.timeout).unwrap_or(now + Duration::from_hours(1));
        Self { ends_at: end, cancel_flag: limits.cancel_flag.clone(), stop_code: AtomicU8::new(0) }
    }

    /// Returns true once the query must stop.
    pub(crate) fn is_over(&self) -> bool {
        let is_stopped = || self.cancel_flag.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if self.stop_reason().is_none() && (is_stopped() || Instant::now() >= self.ends_at) {
            self.stop(StopReason::Time);
        }
        self.stop_reason().is_some()
    }

    pub(crate) fn stop(&self, why: StopReason) {
        let code = match why {
            StopReason::Time => 1,
            StopReason::Memory => 2,
        };
        // The first reason is kept.
        let _ = self.stop_code.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        match self.stop_code.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(StopReason::Time),
            _ => Some(StopReason::Memory),
        }
    }
}
