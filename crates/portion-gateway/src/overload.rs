//! Notices that the processors have more work than they can do, so that listeners reject new requests early.
//!
//! Two queues have a limit of their delay:
//!
//! | queue | delay |
//! | --- | --- |
//! | tasks of the runtime | how late a sleeping task wakes: the least of the latest samples, because a burst is no overload |
//! | long computations | their number times the mean time between two completions, while some of them wait for others |
//!
//! Samples are taken while requests arrive. Few requests are never rejected: on a machine that others keep busy, waiting is
//! better. How long queued computations take is estimated by the rate at which others are completed (Little's law).
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! use portion_gateway::overload::{OverloadLimit, OverloadMonitor};
//!
//! let monitor = OverloadMonitor::new(OverloadLimit::default());
//! let _sampling = monitor.start();
//! assert!(monitor.admits_request(1_000));
//! # }
//! ```

use std::convert::Infallible;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::thread;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::offload::{MAX_CONCURRENT, QueueLoad, queue_load};

/// When a listener rejects new requests: beyond both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverloadLimit {
    /// Delay of work.
    pub delay: Duration,
    /// Number of requests in progress.
    pub requests: usize,
}

impl Default for OverloadLimit {
    /// 150 ms, and twice as many requests as compute at the same time.
    fn default() -> Self {
        Self { delay: Duration::from_millis(150), requests: 2 * MAX_CONCURRENT }
    }
}

/// Time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(20);
/// Number of samples without a new request after which sampling pauses.
const QUIET_SAMPLES: usize = 25;
/// Least time between two log entries about rejected requests.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Monitor of the work of this process, for one listener.
#[derive(Clone, Debug)]
pub struct OverloadMonitor(Arc<MonitorState>);

#[derive(Debug, Default)]
struct MonitorState {
    limit: OverloadLimit,
    /// True while the delay of the runtime exceeds the limit.
    is_runtime_late: AtomicBool,
    /// Mean time between two completed computations, in nanoseconds.
    completion_interval: AtomicU64,
    /// Number of requests so far; wraps.
    requests: AtomicUsize,
    /// Number of requests rejected since the last log entry.
    rejected: AtomicUsize,
    request_arrived: Notify,
}

/// Sampling of a monitor; it ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct SamplingTask(JoinHandle<Infallible>);

impl OverloadMonitor {
    /// Creates a monitor. It admits every request until it is [started](Self::start).
    pub fn new(limit: OverloadLimit) -> Self {
        Self(Arc::new(MonitorState { limit, ..MonitorState::default() }))
    }

    /// Starts sampling the runtime on which this is called.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub fn start(&self) -> SamplingTask {
        let sampler = Sampler {
            monitor: Arc::clone(&self.0),
            processors: thread::available_parallelism().map_or(1, NonZero::get),
            runtime_delay: StandingDelay::default(),
            pace: WorkPace::default(),
            logged_at: None,
        };
        SamplingTask(tokio::spawn(sampler.run()))
    }

    /// Returns false if a request that begins work now must be rejected. `in_progress`: the number of requests that the
    /// listener has in progress without it.
    pub fn admits_request(&self, in_progress: usize) -> bool {
        let monitor = &*self.0;
        monitor.requests.fetch_add(1, Relaxed);
        monitor.request_arrived.notify_one();
        let interval = Duration::from_nanos(monitor.completion_interval.load(Relaxed));
        let is_overloaded = in_progress >= monitor.limit.requests
            && (monitor.is_runtime_late.load(Relaxed)
                || queue_delay(queue_load(), interval) > monitor.limit.delay);
        if is_overloaded {
            monitor.rejected.fetch_add(1, Relaxed);
        }
        !is_overloaded
    }
}

impl Drop for SamplingTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Takes the samples of a monitor.
struct Sampler {
    monitor: Arc<MonitorState>,
    processors: usize,
    runtime_delay: StandingDelay,
    pace: WorkPace,
    logged_at: Option<Instant>,
}

/// State of the queue of computations at a time.
#[derive(Clone, Copy)]
struct QueueSample {
    at: Instant,
    load: QueueLoad,
}

impl QueueSample {
    fn take() -> Self {
        Self { at: Instant::now(), load: queue_load() }
    }
}

impl Sampler {
    async fn run(mut self) -> Infallible {
        loop {
            self.monitor.request_arrived.notified().await;
            self.sample_until_quiet().await;
        }
    }

    async fn sample_until_quiet(&mut self) {
        let (mut requests, mut quiet_samples) = (self.monitor.requests.load(Relaxed), 0);
        let mut previous = QueueSample::take();
        while quiet_samples < QUIET_SAMPLES {
            let due = Instant::now() + SAMPLE_INTERVAL;
            sleep_until(due).await;
            let sample = QueueSample::take();
            self.add_runtime_delay(sample.at.saturating_duration_since(due));
            self.add_computations(previous, sample);
            self.log_rejected(sample.at);
            previous = sample;
            let requests_now = self.monitor.requests.load(Relaxed);
            quiet_samples = if requests_now == requests { quiet_samples + 1 } else { 0 };
            requests = requests_now;
        }
        self.runtime_delay = StandingDelay::default();
        self.monitor.is_runtime_late.store(false, Relaxed);
    }

    fn add_runtime_delay(&mut self, delay: Duration) {
        self.runtime_delay.add(delay);
        let is_late = self.runtime_delay.shortest() > self.monitor.limit.delay;
        self.monitor.is_runtime_late.store(is_late, Relaxed);
    }

    /// Adds the time between two samples, if all processors had work.
    fn add_computations(&mut self, from: QueueSample, to: QueueSample) {
        if from.load.queued.min(to.load.queued) < self.processors {
            return;
        }
        let completed = to.load.completed.wrapping_sub(from.load.completed);
        self.pace.add(to.at.saturating_duration_since(from.at), completed);
        let nanoseconds = u64::try_from(self.pace.interval().as_nanos()).unwrap_or(u64::MAX);
        self.monitor.completion_interval.store(nanoseconds, Relaxed);
    }

    fn log_rejected(&mut self, now: Instant) {
        if self.logged_at.is_some_and(|at| now.saturating_duration_since(at) < LOG_INTERVAL) {
            return;
        }
        let rejected = self.monitor.rejected.swap(0, Relaxed);
        if rejected > 0 {
            tracing::warn!(rejected, "the processors are overloaded: new requests are rejected");
            self.logged_at = Some(now);
        }
    }
}

/// Number of samples that must all be late.
const SAMPLES: usize = 5;

/// The latest samples of a delay.
#[derive(Debug, Default)]
struct StandingDelay {
    samples: [Duration; SAMPLES],
    next: usize,
}

impl StandingDelay {
    /// Adds a sample.
    fn add(&mut self, delay: Duration) {
        self.samples[self.next] = delay;
        self.next = (self.next + 1) % SAMPLES;
    }

    /// Returns the least of the latest samples; zero until there are enough.
    fn shortest(&self) -> Duration {
        self.samples.into_iter().min().unwrap_or_default()
    }
}

/// Weight of earlier measurements after each new one.
const DECAY: f64 = 0.9;

/// Rate at which computations are completed while all processors are busy.
#[derive(Debug, Default)]
struct WorkPace {
    busy_seconds: f64,
    completed: f64,
}

impl WorkPace {
    /// Adds a time during which all processors were busy, and the number of computations that were completed.
    fn add(&mut self, time: Duration, completed: usize) {
        self.busy_seconds = self.busy_seconds * DECAY + time.as_secs_f64();
        self.completed = self.completed * DECAY + completed as f64;
    }

    /// Returns the mean time between two completions; zero before the first measurement.
    fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.busy_seconds / self.completed.max(1.0))
    }
}

/// Returns how long a further computation takes if one is completed per `interval`. Zero if it need not wait: then it
/// shares the processors, but is not queued.
fn queue_delay(load: QueueLoad, interval: Duration) -> Duration {
    if !load.has_waiting() {
        return Duration::ZERO;
    }
    interval.saturating_mul(u32::try_from(load.queued).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    /// Far longer than any step takes.
    const HANG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn requests_are_rejected_while_the_runtime_is_late_and_admitted_after_a_pause() {
        // Every task wakes a little late.
        let monitor = OverloadMonitor::new(OverloadLimit { delay: Duration::ZERO, requests: 9 });
        assert!(monitor.admits_request(9), "nothing was measured yet");
        let _sampling = monitor.start();
        let rejected = async {
            while monitor.admits_request(9) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(HANG, rejected).await.expect("the delay is noticed");
        assert!(monitor.admits_request(8), "few requests wait");
        let admitted = async {
            while !monitor.admits_request(9) {
                sleep(Duration::from_secs(2)).await;
            }
        };
        timeout(HANG, admitted).await.expect("a pause ends it");
    }

    #[tokio::test]
    async fn a_runtime_that_is_not_late_admits_requests() {
        let monitor = OverloadMonitor::new(OverloadLimit { delay: HANG, requests: 9 });
        let _sampling = monitor.start();
        for _ in 0..20 {
            assert!(monitor.admits_request(9));
            sleep(SAMPLE_INTERVAL).await;
        }
    }

    fn check(delays: &[u64], expect: u64) {
        let mut standing = StandingDelay::default();
        delays.iter().for_each(|delay| standing.add(Duration::from_millis(*delay)));
        assert_eq!(standing.shortest(), Duration::from_millis(expect), "{delays:?}");
    }

    #[test]
    fn a_burst_is_no_standing_delay() {
        check(&[], 0);
        check(&[900, 900, 900, 900], 0);
        check(&[900, 800, 700, 600, 500], 500);
        check(&[900, 900, 900, 900, 2, 900, 900], 2);
        check(&[2, 900, 900, 900, 900, 900], 900);
        check(&[900, 900, 900, 900, 900, 1], 1);
    }

    const TICK: Duration = Duration::from_millis(20);

    #[track_caller]
    fn check_interval(measured: &[(usize, usize)], expect_micros: std::ops::Range<u128>) {
        let mut pace = WorkPace::default();
        for (times, completed) in measured {
            (0..*times).for_each(|_| pace.add(TICK, *completed));
        }
        let interval = pace.interval().as_micros();
        assert!(expect_micros.contains(&interval), "{measured:?}: {interval} µs");
    }

    #[test]
    fn the_interval_follows_the_rate_of_completions() {
        check_interval(&[], 0..1);
        check_interval(&[(1, 8)], 2400..2600);
        check_interval(&[(50, 8)], 2400..2600);
        // Threads that share the processors complete their computations together.
        check_interval(&[(3, 0), (1, 32), (3, 0), (1, 32), (3, 0), (1, 32)], 1900..2600);
        // Nothing is completed: the time so far counts.
        check_interval(&[(3, 0)], 50_000..61_000);
        // Cheap computations after expensive ones.
        check_interval(&[(100, 0), (10, 20)], 1000..2000);
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
