//! Tells an idle connection from one whose client is slow, and says when either is to be closed.
//!
//! | phase | begins with | may last |
//! | --- | --- | --- |
//! | [`Phase::Head`] | the connection, or the first byte after an answer | [`HttpLimits::stall_timeout`] |
//! | [`Phase::Busy`] | a whole head | as long as the answer takes; `intake` bounds the body |
//! | [`Phase::Idle`] | the end of an answer | [`HttpLimits::idle_timeout`] since the last byte was taken |

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::limits::HttpLimits;

/// What a connection is doing. Its wire, its service and those who look for a place share it.
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
    /// No further request is to begin.
    is_closing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Head,
    Busy,
}

/// An answer on its way: when this is dropped, the connection is idle.
#[derive(Debug)]
pub(super) struct ResponseGuard(ConnectionActivity);

impl ConnectionActivity {
    /// The pace of a connection that has just been taken.
    pub(super) fn new() -> Self {
        let state = Mutex::new(ActivityState {
            phase: Phase::Head,
            phase_started_at: Instant::now(),
            is_closing: false,
        });
        Self(Arc::new(ActivityShared { state, evicted: Notify::new() }))
    }

    /// Notes that bytes of the client have arrived.
    pub(super) fn on_read(&self) {
        let mut state = self.state();
        if state.phase == Phase::Idle {
            (state.phase, state.phase_started_at) = (Phase::Head, Instant::now());
        }
    }

    /// Notes that the client has taken bytes.
    pub(super) fn on_write(&self) {
        let mut state = self.state();
        if state.phase == Phase::Idle {
            state.phase_started_at = Instant::now();
        }
    }

    /// Notes that a head is whole.
    pub(super) fn on_request(&self) -> ResponseGuard {
        self.state().phase = Phase::Busy;
        ResponseGuard(self.clone())
    }

    /// Allows no further request: a head that is not whole by now is given up.
    pub(super) fn begin_closing(&self) {
        self.state().is_closing = true;
    }

    /// The phase, and since when.
    pub(super) fn phase(&self) -> (Phase, Instant) {
        let state = self.state();
        (state.phase, state.phase_started_at)
    }

    /// Closes the connection to make room for another.
    pub(super) fn evict(&self) {
        self.0.evicted.notify_one();
    }

    /// Waits until the connection is to make room.
    pub(super) async fn wait_evicted(&self) {
        self.0.evicted.notified().await;
    }

    /// Waits until the client has been slow, or idle, for too long. To be polled by the task of the connection, after it.
    pub(super) async fn wait_timed_out(&self, limits: &HttpLimits) {
        let mut sleep = pin!(sleep(limits.stall_timeout));
        poll_fn(|cx| {
            // A connection that is busy moves before its phase does, and so this is polled again.
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
        let ActivityState { phase, phase_started_at: since, is_closing: ending } = *self.state();
        match phase {
            Phase::Head if ending => Some(since),
            Phase::Head => Some(since + limits.stall_timeout),
            Phase::Idle => Some(since + limits.idle_timeout),
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
