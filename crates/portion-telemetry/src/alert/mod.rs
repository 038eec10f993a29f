//! Raises an alert when the share of oversized calls exceeds a threshold.
//!
//! By default only repeated calls count: those of a session that got an oversized result of the same endpoint before.
//! Calls are counted as they arrive, so the call that crosses the threshold raises the alert. A separate thread writes
//! the log, the record and the webhook. It also ends the alert when no more calls arrive.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use portion_telemetry::alert::{CountedCalls, Rule, Watch};
//!
//! let rule = Rule { counts: CountedCalls::Every, percent: 20.0, window: Duration::from_mins(5) };
//! let mut watch = Watch::new(rule);
//! let endpoint: Arc<str> = Arc::from("list_bookings");
//! let changes: Vec<_> =
//!     (0..40).filter_map(|call| watch.count(Duration::from_secs(call), Some(&endpoint))).collect();
//! assert!(changes[0].raised && watch.state().raised);
//! ```

mod watch;

use std::collections::HashSet;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use portion_core::event::{AlertChanged, Event, Observer, RequestServed};
use portion_net::worker::{Deadline, Handler, Items, Worker, WorkerOptions};

pub use watch::{AlertLevel, AlertState, CountedCalls, MIN_CALLS, Rule, Watch};

/// Name of the alert.
pub const OVERSIZED: &str = "oversized";
/// Default threshold: the share of oversized calls, 0 to 1.
pub const DEFAULT_SHARE: f64 = 0.05;
/// Queue of changes to send. The poll interval is the one at which the window advances without calls.
const WORKER: WorkerOptions = WorkerOptions {
    poll_interval: (Duration::from_secs(1), Duration::from_secs(1)),
    ..WorkerOptions::new("alerts")
};
/// Maximum time that dropping an alarm waits for changes to be sent.
const DROP_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of remembered pairs of session and endpoint in each of the two sets.
const MAX_PAIRS: usize = 4_096;
/// Arguments by which a caller says how much it wants.
const NARROWING: [&str; 3] = ["limit", "fields", "maxTokens"];

/// An alert that was raised or has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Event to record.
    pub alerted: AlertChanged,
    /// State of the window at that time.
    pub state: AlertState,
    /// Time at which the alert was raised, in microseconds since 1970.
    pub since: u64,
}

/// Observes requests and reports when too many are oversized.
#[derive(Debug)]
pub struct Alarm {
    shared: Arc<Shared>,
}

/// Sends changes, on the thread of the worker.
struct Notifier<F> {
    shared: Arc<Shared>,
    notify: F,
}

#[derive(Debug)]
struct Shared {
    started: Instant,
    monitor: Mutex<Monitor>,
}

#[derive(Debug)]
struct Monitor {
    /// `None` while alerts are off.
    watch: Option<Watch>,
    /// Sessions and endpoints with oversized results a short time ago.
    repeats: Repeats,
    /// Process number: the upper half of the request numbers of this process.
    process: u64,
    /// Time at which the alert was raised, in microseconds since 1970.
    since: Option<u64>,
    /// Sends changes. `None` if alerts have ended, or the thread could not be started.
    worker: Option<Worker<Change>>,
}

impl Alarm {
    /// Starts watching by `rule` and calls `notify` for each change, on a separate thread.
    pub fn start(rule: Option<Rule>, notify: impl FnMut(&Change) + Send + 'static) -> Self {
        let watch = rule.map(Watch::new);
        let monitor =
            Mutex::new(Monitor { watch, repeats: Repeats::default(), process: 0, since: None, worker: None });
        let shared = Arc::new(Shared { started: Instant::now(), monitor });
        let worker = Worker::start(&WORKER, Notifier { shared: Arc::clone(&shared), notify });
        let worker = worker
            .inspect_err(|error| tracing::warn!(%error, "cannot start the alert thread; no alert is sent"));
        shared.monitor.lock().worker = worker.ok();
        Self { shared }
    }

    /// Replaces the rule. If the window keeps its length and counts the same calls, the counts are kept and compared with the new rule.
    /// Otherwise counting restarts and a raised alert ends.
    pub fn set_rule(&self, rule: Option<Rule>) {
        let mut monitor = self.shared.monitor.lock();
        if let (Some(watch), Some(rule)) = (&mut monitor.watch, rule)
            && (watch.rule().window, watch.rule().counts) == (rule.window, rule.counts)
        {
            let transition = watch.set_rule(rule);
            return monitor.publish(transition);
        }
        let raised = monitor.watch.as_ref().map(Watch::state).filter(|state| state.raised);
        monitor.watch = rule.map(Watch::new);
        monitor.publish(raised.map(|state| AlertState { raised: false, ..state }));
    }

    /// Returns the current state, and the time since which an alert is raised, in microseconds since 1970. `None`
    /// while alerts are off.
    pub fn state(&self) -> Option<(AlertState, Option<u64>)> {
        let now = self.shared.started.elapsed();
        let mut monitor = self.shared.monitor.lock();
        monitor.tick(now);
        Some((monitor.watch.as_ref()?.state(), monitor.since))
    }

    /// Sends the changes found so far, for which it waits up to `deadline`, and stops sending.
    pub fn end(&self, deadline: Deadline) {
        let worker = self.shared.monitor.lock().worker.take();
        if let Some(worker) = worker {
            worker.close();
            worker.wait_for_end(deadline);
        }
    }
}

impl Observer for Alarm {
    fn observe(&self, event: Event) {
        if let Event::RequestServed(served) = event
            && let Some(is_oversized) = served.is_oversized()
        {
            let now = self.shared.started.elapsed();
            self.shared.monitor.lock().count(now, &served, is_oversized);
        }
    }
}

/// Sends pending changes first.
impl Drop for Alarm {
    fn drop(&mut self) {
        self.end(Deadline::after(DROP_TIMEOUT));
    }
}

impl<F: FnMut(&Change) + Send + 'static> Handler<Change> for Notifier<F> {
    fn poll(&mut self, changes: &Items<Change>) {
        self.shared.monitor.lock().tick(self.shared.started.elapsed());
        while let Some(change) = changes.take() {
            log(&change);
            (self.notify)(&change);
            changes.finish(1);
        }
    }
}

impl Monitor {
    fn count(&mut self, now: Duration, served: &RequestServed, is_oversized: bool) {
        self.process = (served.request >> 64) as u64;
        let Some(watch) = &mut self.watch else { return };
        let counts = is_oversized
            && match watch.rule().counts {
                CountedCalls::Every => true,
                CountedCalls::Repeated => self.repeats.add(now, watch.rule().window, served),
            };
        let transition = watch.count(now, counts.then_some(&served.endpoint));
        self.publish(transition);
    }

    fn tick(&mut self, now: Duration) {
        let transition = self.watch.as_mut().and_then(|watch| watch.tick(now));
        self.publish(transition);
    }

    /// Queues a change to be sent. If the worker has ended or its queue is full, the change is visible in
    /// [`Alarm::state`] only.
    fn publish(&mut self, transition: Option<AlertState>) {
        let Some(state) = transition else { return };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
        let since = self.since.take().unwrap_or(at);
        self.since = state.raised.then_some(at);
        let alerted = AlertChanged {
            at,
            alert_name: OVERSIZED.into(),
            is_raised: state.raised,
            share: state.share().unwrap_or_default(),
            threshold: state.rule.percent / 100.0,
            requests: state.requests,
            matching_requests: state.oversized,
            window: state.rule.window,
            process: self.process,
        };
        if let Some(worker) = &self.worker {
            drop(worker.submit(Change { alerted, state, since }));
        }
    }
}

/// Pairs of session and endpoint with an oversized result in the last window. A pair is remembered for one to two
/// windows, because the pairs are kept in two sets and the older one is dropped as a whole.
#[derive(Clone, Debug, Default)]
struct Repeats {
    /// Hashes of pairs.
    recent: HashSet<u64>,
    older: HashSet<u64>,
    /// Start of `recent`.
    since: Duration,
    hasher: foldhash::fast::RandomState,
}

impl Repeats {
    /// Adds an oversized call. Returns true if its session got an oversized result of the same endpoint before, and
    /// the call did not say how much it wants.
    fn add(&mut self, now: Duration, window: Duration, served: &RequestServed) -> bool {
        if now.saturating_sub(self.since) >= window * 2 {
            self.recent.clear();
        }
        if now.saturating_sub(self.since) >= window || self.recent.len() >= MAX_PAIRS {
            self.older = std::mem::take(&mut self.recent);
            self.since = now;
        }
        let pair = (served.session, &served.upstream, served.kind, &served.endpoint);
        let pair = self.hasher.hash_one(pair);
        let is_known = !self.recent.insert(pair) || self.older.contains(&pair);
        is_known && !served.arguments.iter().any(|name| NARROWING.contains(&name.as_str()))
    }
}

fn log(change: &Change) {
    let AlertChanged { share, threshold, requests, matching_requests: oversized, .. } = change.alerted;
    let alert = &*change.alerted.alert_name;
    let sentence = change.state.sentence();
    if change.alerted.is_raised {
        tracing::warn!(alert, share, threshold, requests, oversized, "{sentence}");
    } else {
        tracing::info!(alert, share, threshold, requests, oversized, "{sentence}");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn only_a_session_that_asks_again_counts() {
        let window = Duration::from_mins(5);
        let mut repeats = Repeats::default();
        let mut add = |seconds, session, endpoint: &str, arguments: &[&str]| {
            let arguments = arguments.iter().map(|name| (*name).to_owned()).collect();
            let endpoint = Arc::from(endpoint);
            let served = RequestServed { session, endpoint, arguments, ..RequestServed::default() };
            repeats.add(Duration::from_secs(seconds), window, &served)
        };
        assert!(!add(0, 1, "list", &[]), "the first large result is normal");
        assert!(!add(0, 2, "list", &[]), "so is that of another session");
        assert!(!add(0, 1, "search", &[]), "and that of another endpoint");
        assert!(add(1, 1, "list", &["query"]));
        assert!(!add(1, 1, "list", &["limit"]), "it said how much it wants");
        assert!(add(299, 2, "list", &[]));
        assert!(add(400, 2, "list", &[]), "101 seconds later");
        assert!(!add(2_000, 2, "list", &[]), "long after");
    }

    #[test]
    fn pairs_are_bounded() {
        let mut repeats = Repeats::default();
        for session in 0..20_000 {
            let served = RequestServed { session, ..RequestServed::default() };
            assert!(!repeats.add(Duration::ZERO, Duration::from_mins(5), &served));
        }
        assert!(repeats.recent.len() + repeats.older.len() <= 2 * MAX_PAIRS);
    }
}
