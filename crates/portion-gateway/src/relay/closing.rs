//! The one deadline of a stop.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::time::sleep;

/// How long a stop may take in all. The official SDKs kill us 2 s after they have closed our stdin or sent a signal, and
/// then nobody would end the server gently.
const IN_ALL: Duration = Duration::from_millis(1900);

/// When a process began to stop, and how much time each step has from then on. Clones tell of the same stop.
///
/// | step | is over after |
/// | --- | --- |
/// | the server leaves by itself | 0.9 s |
/// | the server was asked to leave (SIGTERM); then it is killed | 1.3 s |
/// | the last messages go to the client | 1.6 s |
/// | all else: records, exports | 1.9 s |
#[derive(Clone, Debug, Default)]
pub struct Closing(Arc<OnceLock<Instant>>);

/// A step of a stop.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Leaving,
    Asked,
    LastWords,
}

impl Closing {
    /// The time for all of it that is left; None where no stop has begun.
    pub fn rest(&self) -> Option<Duration> {
        Some(self.left(IN_ALL)?.max(Duration::from_millis(50)))
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
    pub(super) fn step(&self, step: Step, usual: Duration) -> Duration {
        let by = match step {
            Step::Leaving => Duration::from_millis(900),
            Step::Asked => Duration::from_millis(1300),
            Step::LastWords => Duration::from_millis(1600),
        };
        self.left(by).map_or(usual, |left| left.min(usual))
    }

    /// Waits until the last messages should have gone; for ever where no stop begins.
    pub(super) async fn over(&self) {
        // A stop may begin while somebody waits.
        loop {
            match self.left(Duration::from_millis(1600)) {
                Some(Duration::ZERO) => return,
                Some(left) => sleep(left).await,
                None => sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn left(&self, by: Duration) -> Option<Duration> {
        Some((*self.0.get()? + by).saturating_duration_since(Instant::now()))
    }
}
