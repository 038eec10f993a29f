//! Tracks the phase of a connection, and when an idle or slow one must be closed.
//!
//! | phase | begins with | time limit |
//! | --- | --- | --- |
//! | [`Phase::Head`] | the connection, or the first byte after a response | [`HttpLimits::stall_timeout`] |
//! | [`Phase::Busy`] | a complete head | none; `request_body` limits the time of the body |
//! | [`Phase::Idle`] | the end of a response | [`HttpLimits::idle_timeout`] since the last byte was written |

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::limits::HttpLimits;

/// Activity of a connection; shared by its IO, its service and the connection limiter.
#[derive(Clone, Debug)]
pub(super) struct ConnectionActivity(Arc<ActivityShared>);

#[derive(Debug)]
struct ActivityShared {
    state: Mutex<ActivityState>,
    evicted: Notify,
}

#[derive(Clone, Copy, Debug)]
struct ActivityState {
    phase: Phase,
    phase_started_at: Instant,
    /// True if no further request may begin.
    is_closing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Head,
    Busy,
}

/// A response in progress; the connection is idle once this is dropped.
#[derive(Debug)]
pub(super) struct ResponseGuard(ConnectionActivity);

impl ConnectionActivity {
    /// Creates the activity of a new connection.
    pub(super) fn new() -> Self {
        let state = Mutex::new(ActivityState {
            phase: Phase::Head,
            phase_started_at: Instant::now(),
            is_closing: false,
        });
        Self(Arc::new(ActivityShared { state, evicted: Notify::new() }))
    }

    /// Records that bytes were received.
    pub(super) fn on_read(&self) {
        let mut state = self.state();
        if state.phase == Phase::Idle {
            (state.phase, state.phase_started_at) = (Phase::Head, Instant::now());
        }
    }

    /// Records that bytes were written to the client.
    pub(super) fn on_write(&self) {
        let mut state = self.state();
        if state.phase == Phase::Idle {
            state.phase_started_at = Instant::now();
        }
    }

    /// Records that a head is complete.
    pub(super) fn on_request(&self) -> ResponseGuard {
        self.state().phase = Phase::Busy;
        ResponseGuard(self.clone())
    }

    /// Allows no further request: an incomplete head is dropped.
    pub(super) fn begin_closing(&self) {
        self.state().is_closing = true;
    }

    /// Returns the phase and its start.
    pub(super) fn phase(&self) -> (Phase, Instant) {
        let state = self.state();
        (state.phase, state.phase_started_at)
    }

    /// Closes the connection in favour of another.
    pub(super) fn evict(&self) {
        self.0.evicted.notify_one();
    }

    /// Waits until the connection is evicted.
    pub(super) async fn wait_evicted(&self) {
        self.0.evicted.notified().await;
    }

    /// Waits until the client has been slow or idle for too long. Must be polled by the task of the connection, after
    /// it.
    pub(super) async fn wait_timed_out(&self, limits: &HttpLimits) {
        let mut sleep = pin!(sleep(limits.stall_timeout));
        poll_fn(|cx| {
            // A busy connection is polled before its phase changes, so this is polled again.
            let Some(deadline) = self.deadline(limits) else { return Poll::Pending };
            if sleep.deadline() != deadline {
                sleep.as_mut().reset(deadline);
            }
            ready!(sleep.as_mut().poll(cx));
            Poll::Ready(())
        })
        .await;
    }

    fn deadline(&self, limits: &HttpLimits) -> Option<Instant> {
        let ActivityState { phase, phase_started_at, is_closing } = *self.state();
        match phase {
            Phase::Head if is_closing => Some(phase_started_at),
            Phase::Head => Some(phase_started_at + limits.stall_timeout),
            Phase::Idle => Some(phase_started_at + limits.idle_timeout),
            Phase::Busy => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.phase, state.phase_started_at) = (Phase::Idle, Instant::now());
    }
}
