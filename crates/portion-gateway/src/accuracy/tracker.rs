//! Tracks recent count errors per endpoint: logs once when counts become badly wrong, and applies the byte
//! limit while they are too low.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use portion_core::event::{EndpointKind, RequestServed};
use portion_tokens::TokenCounter;
use portion_tokens::accuracy::{ACCURATE_MAX_ERROR, INACCURATE_MIN_ERROR, MIN_ACCURATE_SHARE};

use super::{AccuracyStats, CountSample};

/// Largest number of tracked endpoints, because resource names are unlimited.
const MAX_ENDPOINTS: usize = 4_096;

/// Largest reply, in tokens, that cannot prove counts accurate again.
const SMALL_REPLY_TOKENS: usize = 100;

/// Subject of count errors: an endpoint and a counter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct AccuracyKey {
    upstream: Option<Arc<str>>,
    kind: EndpointKind,
    endpoint: Arc<str>,
    /// Name and address of the counter: each factor has a counter of its own.
    counter: (&'static str, usize),
}

/// Records count samples.
#[derive(Default)]
pub(crate) struct AccuracyTracker {
    state: Mutex<TrackerState>,
    /// Number of endpoints with counts that are too low; lets the look-up be skipped while it is 0.
    too_low_count: AtomicUsize,
}

#[derive(Default)]
struct TrackerState {
    endpoints: HashMap<AccuracyKey, EndpointAccuracy>,
    /// Over all endpoints.
    near_share: NearShareWindow,
}

impl AccuracyKey {
    pub(crate) fn new(
        upstream: Option<Arc<str>>,
        kind: EndpointKind,
        endpoint: Arc<str>,
        counter: &'static dyn TokenCounter,
    ) -> Self {
        let place = std::ptr::from_ref(counter).cast::<()>().addr();
        Self { upstream, kind, endpoint, counter: (counter.name(), place) }
    }

    /// Returns the key of a served reply.
    pub(crate) fn for_request(served: &RequestServed, counter: &'static dyn TokenCounter) -> Self {
        Self::new(served.upstream.clone(), served.kind, Arc::clone(&served.endpoint), counter)
    }
}

impl AccuracyTracker {
    /// Records a sample. Replies of at most `min` tokens pass whatever they cost, so their errors do not
    /// count for the endpoint.
    pub(crate) fn record(&self, subject: &AccuracyKey, sample: CountSample, min: usize) {
        let mut state = self.state.lock();
        let low = state.near_share.record(sample.is_near());
        let status_change = state.record(subject, sample, min);
        if status_change.is_some() {
            self.too_low_count.store(state.count_with_status(AccuracyStatus::TooLow), Ordering::Relaxed);
        }
        drop(state);
        if let Some((is_low, share)) = low {
            log_near_share_change(is_low, share);
        }
        if let Some((status, error)) = status_change {
            log_status_change(subject, status, error);
        }
    }

    /// Returns true if the counts of an endpoint are currently too low.
    pub(crate) fn is_too_low(&self, subject: impl FnOnce() -> AccuracyKey) -> bool {
        let is = |recent: &EndpointAccuracy| recent.status == AccuracyStatus::TooLow;
        self.too_low_count.load(Ordering::Relaxed) > 0
            && self.state.lock().endpoints.get(&subject()).is_some_and(is)
    }

    /// Clears the state of all endpoints, because the counters have changed.
    pub(crate) fn clear_endpoints(&self) {
        self.state.lock().endpoints.clear();
        self.too_low_count.store(0, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> AccuracyStats {
        let state = self.state.lock();
        let (in_fallback, too_high) = (
            state.count_with_status(AccuracyStatus::TooLow),
            state.count_with_status(AccuracyStatus::TooHigh),
        );
        AccuracyStats { in_fallback_count: in_fallback, too_high_count: too_high, ..state.near_share.stats() }
    }
}

impl TrackerState {
    /// Records a sample. Returns the new status of the endpoint and the error behind it, if the status
    /// changes.
    fn record(
        &mut self,
        subject: &AccuracyKey,
        sample: CountSample,
        min: usize,
    ) -> Option<(AccuracyStatus, f64)> {
        let known = self.endpoints.get_mut(subject);
        // Replies are smaller while the byte limit applies.
        let min = match &known {
            Some(recent) if recent.status != AccuracyStatus::Near => min.min(SMALL_REPLY_TOKENS),
            _ => min,
        };
        if sample.larger_count() <= min {
            return None;
        }
        if let Some(recent) = known {
            return recent.record(sample);
        }
        if self.endpoints.len() >= MAX_ENDPOINTS {
            self.endpoints.retain(|_, recent| recent.status != AccuracyStatus::Near);
        }
        // If thousands of endpoints are badly wrong, further ones are tracked once there is space.
        let is_known = self.endpoints.len() < MAX_ENDPOINTS;
        is_known.then(|| self.endpoints.entry(subject.clone()).or_default().record(sample)).flatten()
    }

    fn count_with_status(&self, status: AccuracyStatus) -> usize {
        self.endpoints.values().filter(|recent| recent.status == status).count()
    }
}

/// Logs the new status of an endpoint, its consequence, and the remedy.
fn log_status_change(subject: &AccuracyKey, status: AccuracyStatus, error: f64) {
    let AccuracyKey { upstream, endpoint, counter: (counter, _), .. } = subject;
    let (upstream, endpoint) = (upstream.as_deref(), &**endpoint);
    let error = format_args!("{:+.0} %", 100.0 * error).to_string();
    let message = match status {
        AccuracyStatus::TooLow => {
            "token counts are far too low: replies stay within fallbackByteLimit until they improve; fit a \
             tokenizerFactor with `portion calibrate`, or set another tokenizer"
        }
        AccuracyStatus::TooHigh => {
            "token counts are far too high: replies are smaller than necessary; fit a tokenizerFactor with \
             `portion calibrate`, or set another tokenizer"
        }
        AccuracyStatus::Near => "token counts are accurate again",
    };
    tracing::warn!(endpoint, upstream, counter, error, "{message}");
}

fn log_near_share_change(is_low: bool, share: f64) {
    let near = format_args!("{:.0} %", 100.0 * share).to_string();
    if is_low {
        tracing::warn!(
            near,
            "too few token counts are within 20 %; fit a tokenizerFactor with `portion calibrate`, or set another \
             tokenizer"
        );
    } else {
        tracing::warn!(near, "enough token counts are within 20 % again");
    }
}

/// Number of last replies.
const WINDOW: usize = 1_000;
/// Number of replies needed for a meaningful share.
const MIN_OF_WINDOW: usize = 100;
/// Share from which counts are good enough again, after it was too low.
const RECOVERY_SHARE: f64 = 0.9;

#[derive(Default)]
struct NearShareWindow {
    /// For each of the last replies, true if its count was accurate.
    recent: VecDeque<bool>,
    near_count: usize,
    sampled_count: u64,
    is_low: bool,
}

impl NearShareWindow {
    /// Records a reply. Returns the new state, true if the share is too low, and the share, if the state
    /// changes.
    fn record(&mut self, is_near: bool) -> Option<(bool, f64)> {
        self.sampled_count += 1;
        if self.recent.len() == WINDOW && self.recent.pop_front() == Some(true) {
            self.near_count -= 1;
        }
        self.recent.push_back(is_near);
        self.near_count += usize::from(is_near);
        let share = self.share()?;
        let is_low = self.recent.len() >= MIN_OF_WINDOW
            && share < if self.is_low { RECOVERY_SHARE } else { MIN_ACCURATE_SHARE };
        let changed = is_low != self.is_low;
        self.is_low = is_low;
        changed.then_some((is_low, share))
    }

    fn stats(&self) -> AccuracyStats {
        let Self { sampled_count: sampled, is_low, .. } = *self;
        let (recent, near_share) = (self.recent.len() as u64, self.share());
        AccuracyStats {
            sampled_count: sampled,
            recent_count: recent,
            near_share,
            is_low,
            ..AccuracyStats::default()
        }
    }

    fn share(&self) -> Option<f64> {
        (!self.recent.is_empty()).then(|| self.near_count as f64 / self.recent.len() as f64)
    }
}

/// Number of last replies; as many are needed to return to accurate.
const MAX_SAMPLES: usize = 5;
/// Number of replies needed for the median to count as badly wrong.
const MIN_SAMPLES: usize = 3;

/// Accuracy state of an endpoint.
#[derive(Default)]
struct EndpointAccuracy {
    status: AccuracyStatus,
    errors: VecDeque<f64>,
}

/// Direction in which counts are wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AccuracyStatus {
    #[default]
    Near,
    TooLow,
    TooHigh,
}

impl EndpointAccuracy {
    /// Records a reply. Returns the new status and the error behind it, if the status changes.
    ///
    /// The median of the last replies decides: badly wrong above 30 %, accurate again below 20 %. A single
    /// count that is far too low is sufficient.
    fn record(&mut self, sample: CountSample) -> Option<(AccuracyStatus, f64)> {
        if self.errors.len() == MAX_SAMPLES {
            self.errors.pop_front();
        }
        self.errors.push_back(sample.relative_error());
        let median = self.median();
        let enough = if self.status == AccuracyStatus::Near { MIN_SAMPLES } else { MAX_SAMPLES };
        let (status, error) = if sample.is_far_too_low() {
            (AccuracyStatus::TooLow, sample.relative_error())
        } else {
            (self.status_for(median, self.errors.len() >= enough), median)
        };
        if status == self.status {
            return None;
        }
        self.status = status;
        // Earlier errors say nothing about a later return to accurate counts.
        self.errors.clear();
        Some((status, error))
    }

    fn status_for(&self, median: f64, is_enough: bool) -> AccuracyStatus {
        match self.status {
            status if !is_enough => status,
            _ if median < -INACCURATE_MIN_ERROR => AccuracyStatus::TooLow,
            _ if median > INACCURATE_MIN_ERROR => AccuracyStatus::TooHigh,
            status if median.abs() >= ACCURATE_MAX_ERROR => status,
            _ => AccuracyStatus::Near,
        }
    }

    fn median(&self) -> f64 {
        let mut errors: Vec<f64> = self.errors.iter().copied().collect();
        errors.sort_by(f64::total_cmp);
        let upper = errors.len() / 2;
        if errors.len() % 2 == 1 { errors[upper] } else { f64::midpoint(errors[upper - 1], errors[upper]) }
    }
}

#[cfg(test)]
mod tests {
    use AccuracyStatus::{Near, TooHigh, TooLow};
    use portion_core::event::EndpointKind;
    use portion_tokens::{Factor, Tokenizer};

    use super::{
        AccuracyKey, AccuracyStatus, AccuracyTracker, CountSample, EndpointAccuracy, MAX_ENDPOINTS,
        NearShareWindow,
    };

    fn subject(endpoint: &str) -> AccuracyKey {
        AccuracyKey::new(None, EndpointKind::Tool, endpoint.into(), Tokenizer::Chars4.counter())
    }

    fn low(tracker: &AccuracyTracker, endpoint: &str) -> bool {
        tracker.is_too_low(|| subject(endpoint))
    }

    const FAR: CountSample = CountSample { estimated: 1_000, actual: 2_000 };

    #[test]
    fn endpoints_and_counters_are_tracked_separately() {
        let tracker = AccuracyTracker::default();
        tracker.record(&subject("a"), FAR, 500);
        assert!(low(&tracker, "a") && !low(&tracker, "b"));
        let factor = Factor::from_f64(1.5).expect("a factor");
        let scaled = || AccuracyKey { counter: subject_of(factor), ..subject("a") };
        assert!(!tracker.is_too_low(scaled), "what another counter is off says nothing of this one");
        assert!(!tracker.is_too_low(|| AccuracyKey { kind: EndpointKind::Prompt, ..subject("a") }));
        assert!(!tracker.is_too_low(|| AccuracyKey { upstream: Some("x".into()), ..subject("a") }));
        assert_eq!(tracker.stats().in_fallback_count, 1);
        tracker.clear_endpoints();
        assert!(!low(&tracker, "a") && tracker.stats().in_fallback_count == 0);
    }

    fn subject_of(factor: Factor) -> (&'static str, usize) {
        AccuracyKey::new(None, EndpointKind::Tool, "".into(), Tokenizer::Chars4.scaled_counter(factor))
            .counter
    }

    #[test]
    fn small_replies_only_count_in_the_statistics() {
        let tracker = AccuracyTracker::default();
        tracker.record(&subject("a"), CountSample { estimated: 1, actual: 400 }, 500);
        assert!(!low(&tracker, "a"));
        assert_eq!((tracker.stats().sampled_count, tracker.stats().near_share), (1, Some(0.0)));
    }

    #[test]
    fn the_number_of_endpoints_is_limited_and_wrong_ones_are_kept() {
        let tracker = AccuracyTracker::default();
        tracker.record(&subject("wrong"), FAR, 0);
        for n in 0..2 * MAX_ENDPOINTS {
            tracker.record(&subject(&format!("file:///{n}")), CountSample { estimated: 600, actual: 600 }, 0);
        }
        assert!(tracker.state.lock().endpoints.len() <= MAX_ENDPOINTS && low(&tracker, "wrong"));
    }

    #[test]
    fn each_change_of_the_share_is_reported_once() {
        let mut window = NearShareWindow::default();
        let mut record_many =
            |many: usize, is_near: bool| (0..many).filter_map(|_| window.record(is_near)).collect::<Vec<_>>();
        assert_eq!(record_many(99, false), []);
        assert_eq!(record_many(1, true), [(true, 0.01)]);
        assert_eq!(record_many(889, true), []);
        assert_eq!(record_many(1, true), [(false, 0.9)]);
        // At 860 of 1,000 the state does not change.
        assert_eq!(record_many(9, true), []);
        assert_eq!((window.stats().recent_count, window.stats().sampled_count), (999, 999));
    }

    /// `estimates`: counts of replies that cost 1,000 tokens; `expect`: the status changes, with their
    /// positions.
    fn check(estimates: &[usize], expect: &[(usize, AccuracyStatus)]) {
        let mut recent = EndpointAccuracy::default();
        let changes = estimates.iter().enumerate().filter_map(|(at, estimated)| {
            let (status, _) = recent.record(CountSample { estimated: *estimated, actual: 1_000 })?;
            Some((at, status))
        });
        assert_eq!(changes.collect::<Vec<_>>(), expect, "{estimates:?}");
    }

    #[test]
    fn the_median_of_the_last_replies_decides() {
        check(&[1_000, 1_100, 900, 1_000], &[]);
        // One wrong count is an outlier, three are not.
        check(&[1_500, 1_000, 1_000, 1_500, 1_500], &[(4, TooHigh)]);
        check(&[680, 680], &[]);
        check(&[680, 680, 680], &[(2, TooLow)]);
        check(&[1_400, 1_400, 1_400], &[(2, TooHigh)]);
    }

    #[test]
    fn one_count_that_is_far_too_low_is_enough() {
        check(&[660], &[(0, TooLow)]);
        check(&[1_000, 1_000, 1_000, 1_000, 1_000, 500], &[(5, TooLow)]);
        // Counts that are far too high have no consequence, because nothing overflows.
        check(&[9_000], &[]);
        check(&[1_400, 1_400, 1_400, 500], &[(2, TooHigh), (3, TooLow)]);
    }

    #[test]
    fn the_status_ends_later_than_it_begins() {
        check(&[660, 1_000, 1_000, 1_000, 1_000], &[(0, TooLow)]);
        check(&[660, 1_000, 1_000, 1_000, 1_000, 1_000], &[(0, TooLow), (5, Near)]);
        // At an error of a quarter the status never changes.
        check(&[750; 20], &[]);
        check(&[660, 750, 750, 750, 750, 750, 750], &[(0, TooLow)]);
        check(&[1_400, 1_400, 1_400, 680, 680, 680, 680, 680], &[(2, TooHigh), (7, TooLow)]);
    }
}
