//! Tracks recent count errors per endpoint: logs once when counts become badly wrong, and applies the byte
//! limit while they are too low.

mod recent;
mod window;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use portion_core::event::{EndpointKind, RequestServed};
use portion_tokens::TokenCounter;

use super::{AccuracyStats, CountSample};
use recent::{AccuracyStatus, EndpointAccuracy};
use window::NearShareWindow;

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
        let mut state = self.state();
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
            && self.state().endpoints.get(&subject()).is_some_and(is)
    }

    /// Clears the state of all endpoints, because the counters have changed.
    pub(crate) fn clear_endpoints(&self) {
        self.state().endpoints.clear();
        self.too_low_count.store(0, Ordering::Relaxed);
    }

    pub(crate) fn stats(&self) -> AccuracyStats {
        let state = self.state();
        let (in_fallback, too_high) = (
            state.count_with_status(AccuracyStatus::TooLow),
            state.count_with_status(AccuracyStatus::TooHigh),
        );
        AccuracyStats { in_fallback_count: in_fallback, too_high_count: too_high, ..state.near_share.stats() }
    }

    fn state(&self) -> MutexGuard<'_, TrackerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    match status {
        AccuracyStatus::TooLow => tracing::warn!(
            endpoint,
            upstream,
            counter,
            error,
            "token counts are far too low: replies stay within fallbackByteLimit until they improve; fit a \
             tokenizerFactor with `portion calibrate`, or set another tokenizer"
        ),
        AccuracyStatus::TooHigh => tracing::warn!(
            endpoint,
            upstream,
            counter,
            error,
            "token counts are far too high: replies are smaller than necessary; fit a tokenizerFactor with \
             `portion calibrate`, or set another tokenizer"
        ),
        AccuracyStatus::Near => {
            tracing::warn!(endpoint, upstream, counter, error, "token counts are accurate again");
        }
    }
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

#[cfg(test)]
mod tests {
    use portion_core::event::EndpointKind;
    use portion_tokens::{Factor, Tokenizer};

    use super::{AccuracyKey, AccuracyTracker, CountSample, MAX_ENDPOINTS};

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
        assert!(tracker.state().endpoints.len() <= MAX_ENDPOINTS && low(&tracker, "wrong"));
    }
}
