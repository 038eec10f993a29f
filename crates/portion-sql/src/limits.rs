//! How much a question may cost, and the clock that tells when it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// What a question may cost at most.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long it may take.
    pub deadline: Duration,
    /// Rows of the answer; those after are left out, and [`Answer::cut`](crate::Answer::cut) says so.
    pub rows: usize,
    /// Bytes of the answer's JSON; rows after are left out as well.
    pub bytes: usize,
    /// Bytes that SQLite may hold meanwhile: sorting, grouping, joining.
    pub heap: usize,
    /// Bytes of one value: a record, a text, the result of a function.
    pub value: usize,
    /// Bytes of the question.
    pub sql: usize,
    /// Set by another thread to end the question, which then is [`TooCostly`](crate::QueryError::TooCostly).
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(2),
            rows: 100_000,
            bytes: 64 << 20,
            heap: 256 << 20,
            value: 16 << 20,
            sql: 64 << 10,
            stop: None,
        }
    }
}

/// Why a question was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// Its time is over.
    Time,
    /// It holds too much.
    Memory,
}

/// Time and memory of one question, looked at from wherever work is done for it.
#[derive(Debug)]
pub(crate) struct Clock {
    end: Instant,
    stop: Option<Arc<AtomicBool>>,
    stopped: AtomicU8,
}

impl Clock {
    pub(crate) fn new(limits: &Limits) -> Self {
        let now = Instant::now();
        let end = now.checked_add(limits.deadline).unwrap_or(now + Duration::from_hours(1));
        Self { end, stop: limits.stop.clone(), stopped: AtomicU8::new(0) }
    }

    /// Whether it is over, which it then stays.
    pub(crate) fn is_over(&self) -> bool {
        let is_stopped = || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if self.stopped().is_none() && (is_stopped() || Instant::now() >= self.end) {
            self.stop(Stopped::Time);
        }
        self.stopped().is_some()
    }

    pub(crate) fn stop(&self, why: Stopped) {
        let code = match why {
            Stopped::Time => 1,
            Stopped::Memory => 2,
        };
        // The first reason is the one that is told.
        let _ = self.stopped.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> Option<Stopped> {
        match self.stopped.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Stopped::Time),
            _ => Some(Stopped::Memory),
        }
    }
}
