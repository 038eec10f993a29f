//! Gate that each message of a direction passes: shows if a message is being processed, and can be closed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::message_processor::MessageProcessor;

/// Interval at which a waiting task checks the gate.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct DirectionGate {
    is_closed: AtomicBool,
    passing: Mutex<()>,
}

impl DirectionGate {
    /// Returns a guard to hold while a message is processed; `None` once the gate is closed.
    pub(super) fn enter(&self) -> Option<MutexGuard<'_, ()>> {
        let passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.is_closed.load(Ordering::Acquire)).then_some(passing)
    }

    /// Closes the gate and waits until the last message has passed.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.wait_until_idle().await;
    }

    /// Waits until no message is passing.
    pub(super) async fn wait_until_idle(&self) {
        while self.is_busy() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until no message is held back that a message of this direction releases. `progress` is notified after each of these.
    pub(super) async fn wait_until_released(&self, processor: &impl MessageProcessor, progress: &Notify) {
        loop {
            while processor.has_held_messages() {
                progress.notified().await;
            }
            // A released message is queued only after the message that released it has passed the gate.
            self.wait_until_idle().await;
            // That message may be a page of a list whose next page is requested.
            if !processor.has_held_messages() {
                return;
            }
        }
    }

    /// Waits until the gate was idle for `limit` in sum.
    pub(super) async fn wait_idle_for(&self, limit: Duration) {
        let mut idle = Duration::ZERO;
        while idle < limit {
            tokio::time::sleep(POLL_INTERVAL).await;
            if !self.is_busy() {
                idle += POLL_INTERVAL;
            }
        }
    }

    fn is_busy(&self) -> bool {
        matches!(self.passing.try_lock(), Err(TryLockError::WouldBlock))
    }
}
