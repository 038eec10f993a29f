//! What a direction passes with each message: it tells a waiting pump from a working one, and can be closed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// How often a waiting task looks.
const GLANCE: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct Gate {
    closed: AtomicBool,
    passing: Mutex<()>,
}

impl Gate {
    /// To be held while a message is dealt with; None once the gate is closed.
    pub(super) fn pass(&self) -> Option<MutexGuard<'_, ()>> {
        let passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.closed.load(Ordering::Acquire)).then_some(passing)
    }

    /// Lets no further message pass, and waits until the last one has.
    pub(super) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.passed().await;
    }

    /// Waits until no message is passing.
    pub(super) async fn passed(&self) {
        while self.is_busy() {
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Waits until nothing was passing for `limit` in all.
    pub(super) async fn idle(&self, limit: Duration) {
        let mut idle = Duration::ZERO;
        while idle < limit {
            tokio::time::sleep(GLANCE).await;
            if !self.is_busy() {
                idle += GLANCE;
            }
        }
    }

    fn is_busy(&self) -> bool {
        matches!(self.passing.try_lock(), Err(TryLockError::WouldBlock))
    }
}
