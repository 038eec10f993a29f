//! Moves long computations off the event loop: indexing 100 MB takes longer than a relay may block.
//!
//! Each thread that counts tokens keeps about 1.5 MiB for that, and the runtime starts up to 512 blocking threads. So the
//! number of computations at the same time is limited.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Largest payload, in bytes, for which moving work to another thread costs more than it saves.
const INLINE_MAX_BYTES: usize = 128 << 10;
/// Largest number of computations at the same time in this process. More than there are processors, so that a short one
/// need not wait for queries that take seconds.
pub(crate) const MAX_CONCURRENT: usize = 32;

static PERMITS: Semaphore = Semaphore::const_new(MAX_CONCURRENT);
/// Number of computations that wait or run.
static QUEUED: AtomicUsize = AtomicUsize::new(0);
/// Number of computations that have ended; wraps.
static COMPLETED: AtomicUsize = AtomicUsize::new(0);

/// Queue of the computations of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLoad {
    /// Number of computations that wait or run.
    pub(crate) queued: usize,
    /// Number of computations that have ended; wraps.
    pub(crate) completed: usize,
}

/// Returns the present queue.
pub(crate) fn queue_load() -> QueueLoad {
    QueueLoad { queued: QUEUED.load(Ordering::Relaxed), completed: COMPLETED.load(Ordering::Relaxed) }
}

impl QueueLoad {
    /// Returns true if computations wait for others to end.
    pub(crate) fn has_waiting(self) -> bool {
        self.queued > MAX_CONCURRENT
    }
}

/// A computation that waits or runs; dropping it ends it.
struct QueuedComputation;

impl QueuedComputation {
    fn begin() -> Self {
        QUEUED.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for QueuedComputation {
    fn drop(&mut self) {
        QUEUED.fetch_sub(1, Ordering::Relaxed);
        COMPLETED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs work on a payload of `bytes` bytes: inline if it is small, else on a blocking thread.
pub(crate) async fn offload<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes <= INLINE_MAX_BYTES || Handle::try_current().is_err() {
        return work();
    }
    let queued = QueuedComputation::begin();
    // The work keeps the permit: it goes on if this future is dropped.
    let permit = PERMITS.acquire().await;
    let done = spawn_blocking(move || {
        let done = work();
        drop(permit);
        drop(queued);
        done
    });
    match done.await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, together with this task.
            Err(_) => pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Barrier};

    use super::{INLINE_MAX_BYTES, MAX_CONCURRENT, offload, queue_load};

    #[test]
    fn the_number_of_concurrent_computations_is_limited() {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
        let (running, max) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        // No computation ends before as many run as may.
        let barrier = Arc::new(Barrier::new(MAX_CONCURRENT));
        let compute = || {
            let (running, max, barrier) = (Arc::clone(&running), Arc::clone(&max), Arc::clone(&barrier));
            runtime.spawn(offload(INLINE_MAX_BYTES + 1, move || {
                max.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                barrier.wait();
                running.fetch_sub(1, Ordering::SeqCst);
            }))
        };
        let all: Vec<_> = (0..10 * MAX_CONCURRENT).map(|_| compute()).collect();
        for one in all {
            runtime.block_on(one).expect("nothing panics");
        }
        assert_eq!(max.load(Ordering::SeqCst), MAX_CONCURRENT);
        assert!(queue_load().completed >= 10 * MAX_CONCURRENT);
    }
}
