//! The deadline of a shutdown, shared by all its steps.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use portion_net::worker::Deadline;
use tokio::time::sleep;

/// Longest time of a whole shutdown. The official SDKs kill us 2 s after they have closed our stdin or sent a signal;
/// the server would then get no chance to exit cleanly.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1900);

/// Start of the shutdown of a process, and the deadline of each step. Clones share the same start.
///
/// | step | ends after |
/// | --- | --- |
/// | the server exits by itself | 0.9 s |
/// | the server exits after SIGTERM; then it is killed | 1.3 s |
/// | the last messages are written to the client | 1.6 s |
/// | everything else: records, exports | 1.9 s |
#[derive(Clone, Debug, Default)]
pub struct ShutdownDeadline(Arc<OnceLock<Instant>>);

/// Step of a shutdown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ShutdownStep {
    ServerExit,
    ServerTermination,
    FinalMessages,
}

impl ShutdownDeadline {
    /// Returns the end of the shutdown, at least 50 ms from now. Begins it if it has not begun.
    pub fn deadline(&self) -> Deadline {
        self.begin();
        let remaining = self.remaining_until(SHUTDOWN_TIMEOUT).unwrap_or(SHUTDOWN_TIMEOUT);
        Deadline::after(remaining.max(Duration::from_millis(50)))
    }

    /// Begins the shutdown, unless it has begun.
    pub fn begin(&self) {
        self.begin_at(Instant::now());
    }

    /// Begins the shutdown as of an earlier moment, unless it has begun.
    pub(crate) fn begin_at(&self, since: Instant) {
        let _ = self.0.set(since);
    }

    /// Returns the time left for a step, at most `usual`.
    pub(crate) fn step_timeout(&self, step: ShutdownStep, usual: Duration) -> Duration {
        let limit = match step {
            ShutdownStep::ServerExit => Duration::from_millis(900),
            ShutdownStep::ServerTermination => Duration::from_millis(1300),
            ShutdownStep::FinalMessages => Duration::from_millis(1600),
        };
        self.remaining_until(limit).map_or(usual, |remaining| remaining.min(usual))
    }

    /// Waits until the deadline of the last messages; forever if no shutdown begins.
    pub(crate) async fn wait_until_over(&self) {
        // A shutdown may begin during the wait.
        loop {
            match self.remaining_until(Duration::from_millis(1600)) {
                Some(Duration::ZERO) => return,
                Some(remaining) => sleep(remaining).await,
                None => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn remaining_until(&self, limit: Duration) -> Option<Duration> {
        Some((*self.0.get()? + limit).saturating_duration_since(Instant::now()))
    }
}
