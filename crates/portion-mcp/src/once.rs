//! A flag that is set once, by a thread, and awaited by tasks; and an attempt that runs once for all callers that need its
//! outcome at the same time.
//!
//! ```
//! use portion_mcp::once::OneShotFlag;
//!
//! let flag = OneShotFlag::default();
//! assert!(!flag.is_set());
//! flag.set();
//! assert!(flag.is_set());
//! ```

use std::future::Future;
use std::pin::pin;

use parking_lot::Mutex;
use tokio::sync::{Notify, SetOnce, watch};

/// A flag that is set once and stays set.
#[derive(Debug, Default)]
pub struct OneShotFlag(SetOnce<()>);

impl OneShotFlag {
    /// Sets the flag.
    pub fn set(&self) {
        let _ = self.0.set(());
    }

    /// Returns true if the flag is set.
    pub fn is_set(&self) -> bool {
        self.0.initialized()
    }

    /// Waits until the flag is set; returns at once if it already is.
    pub async fn wait(&self) {
        self.0.wait().await;
    }
}

/// Sets a flag when it is dropped, also by a panic: nobody waits in vain for the work of a thread or task.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a OneShotFlag);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Waits until a condition is true. `changed` is notified whenever it may have become true.
pub(crate) async fn wait_until(changed: &Notify, is_true: impl Fn() -> bool) {
    loop {
        let mut notified = pin!(changed.notified());
        notified.as_mut().enable();
        if is_true() {
            return;
        }
        notified.await;
    }
}

/// Receives the outcome of an attempt; it is `None` while the attempt runs.
type Outcome<T> = watch::Receiver<Option<T>>;

/// Runs one attempt at a time.
///
/// With a mutex held during the attempt, callers that wait for one that fails would repeat it one after the other, and the
/// last of them would wait for the sum of all timeouts.
pub struct SharedAttempt<T>(Mutex<Option<Outcome<T>>>);

impl<T> Default for SharedAttempt<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone + Send + Sync + 'static> SharedAttempt<T> {
    /// Returns the outcome of the running attempt; starts one if none runs. It has a task of its own, so that it does not end
    /// with the caller that started it. Returns `None` if it panicked.
    pub async fn join_or_start<F>(&self, start: impl FnOnce() -> F) -> Option<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let outcome = {
            let mut running = self.0.lock();
            if let Some(outcome) = running.as_ref().filter(|outcome| is_running(outcome)) {
                outcome.clone()
            } else {
                let (sender, outcome) = watch::channel(None);
                let attempt = start();
                tokio::spawn(async move { sender.send_replace(Some(attempt.await)) });
                running.insert(outcome).clone()
            }
        };
        wait(outcome).await
    }

    /// Waits until no attempt runs.
    pub(crate) async fn ended(&self) {
        let outcome = self.0.lock().clone();
        if let Some(outcome) = outcome {
            wait(outcome).await;
        }
    }
}

fn is_running<T>(outcome: &Outcome<T>) -> bool {
    // The sender is gone without an outcome if the attempt panicked.
    outcome.has_changed().is_ok() && outcome.borrow().is_none()
}

async fn wait<T: Clone>(mut outcome: Outcome<T>) -> Option<T> {
    outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone())
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::task::Poll;

    use tokio::sync::Semaphore;

    use super::SharedAttempt;

    #[tokio::test]
    async fn callers_that_wait_share_an_outcome_and_later_ones_try_again() {
        let (attempts, count, gate) =
            (SharedAttempt::default(), Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let join = || {
            attempts.join_or_start(|| {
                let (number, gate) = (count.fetch_add(1, Relaxed), Arc::clone(&gate));
                async move {
                    gate.acquire().await.expect("open").forget();
                    number
                }
            })
        };
        for round in 0..3 {
            let mut waiting: Vec<_> = (0..5).map(|_| Box::pin(join())).collect();
            for caller in &mut waiting {
                let polled = poll_fn(|cx| Poll::Ready(caller.as_mut().poll(cx))).await;
                assert!(polled.is_pending());
            }
            // The caller that started it leaves.
            drop(waiting.remove(0));
            gate.add_permits(1);
            for caller in waiting {
                assert_eq!(caller.await, Some(round));
            }
            attempts.ended().await;
        }
        assert_eq!(count.load(Relaxed), 3);
    }

    #[tokio::test]
    async fn an_attempt_that_panics_is_over() {
        let attempts = SharedAttempt::<u8>::default();
        assert_eq!(attempts.join_or_start(|| async { panic!("as expected") }).await, None);
        assert_eq!(attempts.join_or_start(|| async { 7 }).await, Some(7));
        attempts.ended().await;
    }
}
