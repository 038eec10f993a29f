//! The one deadline of a stop.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// How long a stop may take in all. The official SDKs kill us 2 s after they have closed our stdin or sent a signal, and
/// then nobody would end the server gently.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(1900);

/// When a process began to stop, and how much time each step has from then on. Clones tell of the same stop.
///
/// | step | is over after |
/// | --- | --- |
/// | the server leaves by itself | 0.9 s |
/// | the server was asked to leave (SIGTERM); then it is killed | 1.3 s |
/// | the last messages go to the client | 1.6 s |
/// | all else: records, exports | 1.9 s |
#[derive(Clone, Debug, Default)]
pub struct ShutdownDeadline(Arc<OnceLock<Instant>>);

/// A step of a stop.
#[derive(Clone, Copy, Debug)]
pub(super) enum ShutdownStep {
    ServerExit,
    ServerTermination,
    FinalMessages,
}

impl ShutdownDeadline {
    /// The time for all of it that is left; None where no stop has begun.
    pub fn remaining(&self) -> Option<Duration> {
        Some(self.remaining_until(SHUTDOWN_TIMEOUT)?.max(Duration::from_millis(50)))
    }

    /// Begins the stop, unless it has begun.
    pub(super) fn begin(&self) {
        self.begin_at(Instant::now());
    }

    /// Begins the stop at an earlier moment, unless it has begun.
    pub(super) fn begin_at(&self, since: Instant) {
        let _ = self.0.set(since);
    }

    /// The time that is left for a step, at most `usual`.
    pub(super) fn step_timeout(&self, step: ShutdownStep, usual: Duration) -> Duration {
        let by = match step {
            ShutdownStep::ServerExit => Duration::from_millis(900),
            ShutdownStep::ServerTermination => Duration::from_millis(1300),
            ShutdownStep::FinalMessages => Duration::from_millis(1600),
        };
        self.remaining_until(by).map_or(usual, |left| left.min(usual))
    }

    /// Waits until the last messages should have gone; for ever where no stop begins.
    pub(super) async fn wait_until_over(&self) {
        // A stop may begin while somebody waits.
        loop {
            match self.remaining_until(Duration::from_millis(1600)) {
                Some(Duration::ZERO) => return,
                Some(left) => sleep(left).await,
                None => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn remaining_until(&self, by: Duration) -> Option<Duration> {
        Some((*self.0.get()? + by).saturating_duration_since(Instant::now()))
    }
}
