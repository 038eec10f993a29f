//! Closes connections on which no request is in progress, and limits the requests of all connections.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::{Instant, sleep_until};

/// Requests in progress on a connection.
#[derive(Clone)]
pub(super) struct ConnectionActivity(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    idle: Notify,
}

struct State {
    request_count: usize,
    had_request: bool,
    idle_since: Instant,
}

/// A request in progress. It ends when this is dropped, with the body of its response.
pub(super) struct ActiveRequest {
    activity: ConnectionActivity,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionActivity {
    /// Creates the activity of a new connection.
    pub(super) fn new() -> Self {
        let state = State { request_count: 0, had_request: false, idle_since: Instant::now() };
        Self(Arc::new(Shared { state: Mutex::new(state), idle: Notify::new() }))
    }

    /// Begins a request. `permit` is released with it.
    pub(super) fn begin(&self, permit: OwnedSemaphorePermit) -> ActiveRequest {
        let mut state = self.state();
        (state.request_count, state.had_request) = (state.request_count + 1, true);
        drop(state);
        ActiveRequest { activity: self.clone(), _permit: permit }
    }

    /// Waits until no request has been in progress for this time: `first` before the first request, then `later`.
    pub(super) async fn wait_idle(&self, first: Duration, later: Duration) {
        loop {
            let deadline = {
                let state = self.state();
                let timeout = if state.had_request { later } else { first };
                (state.request_count == 0).then(|| state.idle_since + timeout)
            };
            match deadline {
                None => self.0.idle.notified().await,
                Some(deadline) if deadline <= Instant::now() => return,
                Some(deadline) => sleep_until(deadline).await,
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        state.request_count -= 1;
        if state.request_count == 0 {
            state.idle_since = Instant::now();
            self.activity.0.idle.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::Semaphore;
    use tokio::time::timeout;

    use super::ConnectionActivity;

    #[tokio::test]
    async fn a_connection_is_idle_without_requests_only() {
        let (activity, permits) = (ConnectionActivity::new(), Arc::new(Semaphore::new(2)));
        let permit = || Arc::clone(&permits).try_acquire_owned().expect("a permit");
        let hour = Duration::from_hours(1);
        let ends = async |first, later| {
            timeout(Duration::from_millis(50), activity.wait_idle(first, later)).await.is_ok()
        };
        assert!(ends(Duration::ZERO, hour).await && !ends(hour, Duration::ZERO).await);
        let is_idle = async || ends(Duration::ZERO, Duration::ZERO).await;
        assert!(is_idle().await);
        let (one, other) = (activity.begin(permit()), activity.begin(permit()));
        assert!(!is_idle().await && permits.available_permits() == 0);
        drop(one);
        assert!(!is_idle().await);
        drop(other);
        assert!(is_idle().await && permits.available_permits() == 2);
        assert!(ends(hour, Duration::ZERO).await && !ends(Duration::ZERO, hour).await);
    }
}
