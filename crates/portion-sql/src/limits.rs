//! How much a question may cost, and the clock that tells when it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// What a question may cost at most.
#[derive(Clone, Debug)]
pub struct QueryLimits {
    /// How long it may take.
    pub timeout: Duration,
    /// Rows of the answer; those after are left out, and [`QueryResult::is_truncated`](crate::QueryResult::is_truncated) says so.
    pub max_rows: usize,
    /// Bytes of the answer's JSON; rows after are left out as well.
    pub max_bytes: usize,
    /// Bytes that SQLite may hold meanwhile: sorting, grouping, joining.
    pub max_heap_bytes: usize,
    /// Bytes of one value: a record, a text, the result of a function.
    pub max_value_bytes: usize,
    /// Bytes of the question.
    pub max_sql_bytes: usize,
    /// Set by another thread to end the question, which then is [`TooCostly`](crate::QueryError::TooCostly).
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

/// Why a question was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Its time is over.
    Time,
    /// It holds too much.
    Memory,
}

/// Time and memory of one question, looked at from wherever work is done for it.
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

    /// Whether it is over, which it then stays.
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
        // The first reason is the one that is told.
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
