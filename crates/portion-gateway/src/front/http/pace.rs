//! Tells an idle connection from one whose client is slow, and says when either is to be closed.
//!
//! | phase | begins with | may last |
//! | --- | --- | --- |
//! | [`Phase::Head`] | the connection, or the first byte after an answer | [`Limits::slow`] |
//! | [`Phase::Busy`] | a whole head | as long as the answer takes; `intake` bounds the body |
//! | [`Phase::Idle`] | the end of an answer | [`Limits::idle`] since the last byte was taken |

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::limits::Limits;

/// What a connection is doing. Its wire, its service and those who look for a place share it.
#[derive(Clone, Debug)]
pub(super) struct Pace(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    evicted: Notify,
}

#[derive(Clone, Copy, Debug)]
struct State {
    phase: Phase,
    since: Instant,
    /// No further request is to begin.
    ending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    Head,
    Busy,
}

/// An answer on its way: when this is dropped, the connection is idle.
#[derive(Debug)]
pub(super) struct Answer(Pace);

impl Pace {
    /// The pace of a connection that has just been taken.
    pub(super) fn new() -> Self {
        let state = Mutex::new(State { phase: Phase::Head, since: Instant::now(), ending: false });
        Self(Arc::new(Shared { state, evicted: Notify::new() }))
    }

    /// Notes that bytes of the client have arrived.
    pub(super) fn read(&self) {
        let mut state = self.state();
        if state.phase == Phase::Idle {
            (state.phase, state.since) = (Phase::Head, Instant::now());
        }
    }

    /// Notes that the client has taken bytes.
    pub(super) fn wrote(&self) {
        let mut state = self.state();
        if state.phase == Phase::Idle {
            state.since = Instant::now();
        }
    }

    /// Notes that a head is whole.
    pub(super) fn asked(&self) -> Answer {
        self.state().phase = Phase::Busy;
        Answer(self.clone())
    }

    /// Allows no further request: a head that is not whole by now is given up.
    pub(super) fn end(&self) {
        self.state().ending = true;
    }

    /// The phase, and since when.
    pub(super) fn phase(&self) -> (Phase, Instant) {
        let state = self.state();
        (state.phase, state.since)
    }

    /// Closes the connection to make room for another.
    pub(super) fn evict(&self) {
        self.0.evicted.notify_one();
    }

    /// Waits until the connection is to make room.
    pub(super) async fn evicted(&self) {
        self.0.evicted.notified().await;
    }

    /// Waits until the client has been slow, or idle, for too long. To be polled by the task of the connection, after it.
    pub(super) async fn overdue(&self, limits: &Limits) {
        let mut sleep = pin!(sleep(limits.slow));
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

    fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let State { phase, since, ending } = *self.state();
        match phase {
            Phase::Head if ending => Some(since),
            Phase::Head => Some(since + limits.slow),
            Phase::Idle => Some(since + limits.idle),
            Phase::Busy => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let mut state = self.0.state();
        (state.phase, state.since) = (Phase::Idle, Instant::now());
    }
}
