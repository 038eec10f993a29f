//! Limits the concurrent queries of a session, and cancels queries.
//!
//! ```
//! use portion_gateway::query_limiter::CancelFlag;
//!
//! let flag = CancelFlag::default();
//! drop(flag.cancel_on_drop());
//! assert!(flag.is_cancelled());
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Largest number of running queries per session.
pub const MAX_CONCURRENT_QUERIES: usize = 4;
/// Largest number of queued queries per session. Further ones are refused.
pub const MAX_WAITING_QUERIES: usize = 60;

/// Cancels a query; shared by the requester and the worker.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(pub(crate) Arc<AtomicBool>);

impl CancelFlag {
    /// Cancels the query.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if the query is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Cancels when the returned guard is dropped: work on another thread ends with the future that waits for
    /// it.
    pub fn cancel_on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// Sets a [`CancelFlag`] when dropped.
pub struct CancelOnDrop(CancelFlag);

impl CancelOnDrop {
    /// Disarms the guard, because the work has ended.
    pub fn disarm(mut self) {
        self.0 = CancelFlag::default();
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Limits the queries of one session.
#[derive(Debug)]
pub struct QueryLimiter {
    permits: Semaphore,
    entered_count: AtomicUsize,
}

/// Permit to run a query, until it is dropped.
pub struct QueryPermit<'a> {
    _permit: SemaphorePermit<'a>,
    _entered: EnteredGuard<'a>,
}

struct EnteredGuard<'a>(&'a AtomicUsize);

impl Drop for EnteredGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for QueryLimiter {
    fn default() -> Self {
        Self { permits: Semaphore::new(MAX_CONCURRENT_QUERIES), entered_count: AtomicUsize::new(0) }
    }
}

impl QueryLimiter {
    /// Waits for a permit. `None` if too many queries are queued.
    pub async fn acquire(&self) -> Option<QueryPermit<'_>> {
        let before = self.entered_count.fetch_add(1, Ordering::Relaxed);
        let entered = EnteredGuard(&self.entered_count);
        if before >= MAX_CONCURRENT_QUERIES + MAX_WAITING_QUERIES {
            return None;
        }
        let permit = self.permits.acquire().await.ok()?;
        Some(QueryPermit { _permit: permit, _entered: entered })
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::{CancelFlag, MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES, QueryLimiter};

    #[tokio::test]
    async fn running_and_queued_queries_are_limited() {
        let limiter = QueryLimiter::default();
        let mut places = Vec::new();
        for _ in 0..MAX_CONCURRENT_QUERIES {
            places.push(limiter.acquire().await.expect("there is room"));
        }
        let mut waiting: Vec<_> = (0..MAX_WAITING_QUERIES).map(|_| Box::pin(limiter.acquire())).collect();
        for next in &mut waiting {
            let mut context = Context::from_waker(Waker::noop());
            assert!(next.as_mut().poll(&mut context).is_pending());
        }
        assert!(limiter.acquire().await.is_none());
        places.pop();
        assert!(waiting.remove(0).await.is_some());
        drop(waiting);
        assert!(limiter.acquire().await.is_some(), "who waits no longer takes no place");
    }

    #[test]
    fn dropping_the_guard_cancels() {
        let stop = CancelFlag::default();
        let guard = stop.cancel_on_drop();
        assert!(!stop.is_cancelled());
        drop(guard);
        assert!(stop.is_cancelled());
    }
}
