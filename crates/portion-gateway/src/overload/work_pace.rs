//! Estimates how long queued computations take, by the rate at which others are completed (Little's law).

use std::time::Duration;

use crate::offload::QueueLoad;

/// Weight of earlier measurements after each new one.
const DECAY: f64 = 0.9;

/// Rate at which computations are completed while all processors are busy.
#[derive(Debug, Default)]
pub(super) struct WorkPace {
    busy_seconds: f64,
    completed: f64,
}

impl WorkPace {
    /// Adds a time during which all processors were busy, and the number of computations that were completed.
    pub(super) fn add(&mut self, time: Duration, completed: usize) {
        self.busy_seconds = self.busy_seconds * DECAY + time.as_secs_f64();
        self.completed = self.completed * DECAY + completed as f64;
    }

    /// Returns the mean time between two completions; zero before the first measurement.
    pub(super) fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.busy_seconds / self.completed.max(1.0))
    }
}

/// Returns how long a further computation takes if one is completed per `interval`. Zero if it need not wait: then it
/// shares the processors, but is not queued.
pub(super) fn queue_delay(load: QueueLoad, interval: Duration) -> Duration {
    if !load.has_waiting() {
        return Duration::ZERO;
    }
    interval.saturating_mul(u32::try_from(load.queued).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::MAX_CONCURRENT;

    const TICK: Duration = Duration::from_millis(20);

    #[track_caller]
    fn check(measured: &[(usize, usize)], expect_micros: std::ops::Range<u128>) {
        let mut pace = WorkPace::default();
        for (times, completed) in measured {
            (0..*times).for_each(|_| pace.add(TICK, *completed));
        }
        let interval = pace.interval().as_micros();
        assert!(expect_micros.contains(&interval), "{measured:?}: {interval} µs");
    }

    #[test]
    fn the_interval_follows_the_rate_of_completions() {
        check(&[], 0..1);
        check(&[(1, 8)], 2400..2600);
        check(&[(50, 8)], 2400..2600);
        // Threads that share the processors complete their computations together.
        check(&[(3, 0), (1, 32), (3, 0), (1, 32), (3, 0), (1, 32)], 1900..2600);
        // Nothing is completed: the time so far counts.
        check(&[(3, 0)], 50_000..61_000);
        // Cheap computations after expensive ones.
        check(&[(100, 0), (10, 20)], 1000..2000);
    }

    #[test]
    fn only_a_queue_with_waiting_computations_has_a_delay() {
        let load = |queued| QueueLoad { queued, completed: 0 };
        let interval = Duration::from_millis(5);
        assert_eq!(queue_delay(load(MAX_CONCURRENT), interval), Duration::ZERO);
        let delay = queue_delay(load(MAX_CONCURRENT + 1), interval);
        assert_eq!(delay, interval * (MAX_CONCURRENT as u32 + 1));
        assert_eq!(queue_delay(load(usize::MAX), Duration::ZERO), Duration::ZERO);
    }
}
