//! Counts in memory what this process served since it started, for metrics and health, by endpoint and in all.
//!
//! The number of labels is bounded. The first [`MAX_NAMED`] endpoints have labels of their own, later ones share
//! `other`. Resources share `*`, because the number of URIs is unbounded.
//!
//! ```
//! use std::sync::Arc;
//!
//! use portion_core::event::{Event, Observer as _, Outcome, RequestServed};
//! use portion_telemetry::meter::Meter;
//!
//! let meter = Meter::default();
//! let served = RequestServed { outcome: Outcome::Paginated, ..RequestServed::default() };
//! meter.observe(Event::RequestServed(Arc::new(served)));
//! assert_eq!(meter.totals().of(Outcome::Paginated), 1);
//! ```

mod families;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use portion_core::event::{EndpointKind, Event, Observer, Outcome, RequestServed, ServedError};
use portion_tokens::accuracy::{self, Accuracy};

use crate::names;
use crate::rollup::share;

pub use families::Histogram;
pub use families::{Family, Point, Value};

/// Maximum number of endpoints with labels of their own.
pub const MAX_NAMED: usize = 200;

/// Observer that counts requests. A request costs one short lock, and an allocation only if its endpoint is new.
#[derive(Debug)]
pub struct Meter {
    counters: Mutex<Counters>,
}

/// Totals over all endpoints since the process started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Requests by outcome, in the order of [`Outcome::ALL`].
    pub outcomes: [u64; Outcome::ALL.len()],
    /// Requests answered from a snapshot.
    pub follow_ups: u64,
    /// Replies that are errors, from Portion or from the upstream.
    pub errors: u64,
    /// Replies with a known cost, and the sum of their tokens.
    pub counted: (u64, u64),
    /// Tokens of payloads with a known cost, and tokens served of them, follow-ups included.
    pub tokens: (u64, u64),
    /// Bytes of payloads and bytes of replies.
    pub bytes: (u64, u64),
    /// First calls whose payload has a known cost.
    pub sized: u64,
    /// First calls whose payload exceeded the budget.
    pub oversized: u64,
    /// Accuracy of the token estimates.
    pub accuracy: Accuracy,
}

impl Meter {
    /// Returns the totals since the process started.
    pub fn totals(&self) -> Totals {
        self.counters.lock().totals()
    }
}

/// Labels of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Labels {
    upstream: Option<Arc<str>>,
    kind: EndpointKind,
    endpoint: Arc<str>,
}

#[derive(Debug)]
struct Counters {
    /// Index into `endpoints` by label.
    index: HashMap<Labels, usize, foldhash::fast::RandomState>,
    endpoints: Vec<EndpointCounters>,
    /// Number of endpoints with labels of their own.
    named: usize,
    overhead: Histogram,
    /// Accuracy of estimates by counter name. There are few.
    estimates: Vec<(&'static str, Estimates)>,
    /// Alerts raised, by name. There are few.
    raised: Vec<(Cow<'static, str>, u64)>,
    /// Endpoint labels that several endpoints share.
    any: Arc<str>,
    other: Arc<str>,
    none: Arc<str>,
}

#[derive(Clone, Debug)]
struct Estimates {
    accuracy: Accuracy,
    errors: Histogram,
}

impl Default for Meter {
    fn default() -> Self {
        let counters = Counters {
            index: HashMap::default(),
            endpoints: Vec::new(),
            named: 0,
            overhead: Histogram::of(&names::OVERHEAD),
            estimates: Vec::new(),
            raised: Vec::new(),
            any: Arc::from("*"),
            other: Arc::from("other"),
            none: Arc::from("none"),
        };
        Self { counters: Mutex::new(counters) }
    }
}

impl Observer for Meter {
    fn observe(&self, event: Event) {
        match event {
            Event::RequestServed(served) => self.counters.lock().add(&served),
            Event::AlertChanged(alerted) if alerted.is_raised => {
                *entry(&mut self.counters.lock().raised, alerted.alert_name.clone(), || 0) += 1;
            }
            _ => {}
        }
    }
}

impl Totals {
    fn add(&mut self, served: &RequestServed) {
        let RequestServed { outcome, error, follow_up, estimated_tokens, .. } = *served;
        self.outcomes[outcome as usize] += 1;
        self.follow_ups += u64::from(follow_up);
        self.errors += u64::from(error.is_some());
        let counted = estimated_tokens.map_or((0, 0), |tokens| (1, tokens));
        self.counted = sum(self.counted, counted);
        self.tokens = sum(self.tokens, served.original_and_served_tokens());
        let original_bytes = if follow_up { 0 } else { served.original_bytes };
        self.bytes = sum(self.bytes, (original_bytes, served.response_bytes));
        if let Some(is_oversized) = served.is_oversized() {
            self.sized += 1;
            self.oversized += u64::from(is_oversized);
        }
    }

    fn merge(&mut self, other: &Self) {
        for (total, count) in self.outcomes.iter_mut().zip(other.outcomes) {
            *total += count;
        }
        self.follow_ups += other.follow_ups;
        self.errors += other.errors;
        self.counted = sum(self.counted, other.counted);
        self.tokens = sum(self.tokens, other.tokens);
        self.bytes = sum(self.bytes, other.bytes);
        self.sized += other.sized;
        self.oversized += other.oversized;
    }

    /// Returns the number of requests, follow-ups included.
    pub fn requests(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    /// Returns the number of requests with that outcome.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.outcomes[outcome as usize]
    }

    /// Share of the replies that are a portion of a payload, follow-ups included: neither the whole payload nor an
    /// error from Portion. `None` without such replies.
    pub fn adoption(&self) -> Option<f64> {
        let whole = self.of(Outcome::Untouched) + self.of(Outcome::Unshaped);
        let refused = self.of(Outcome::Expired) + self.of(Outcome::Refused);
        let answered = self.requests() - refused;
        share(answered - whole, answered)
    }

    /// Share of the sized first calls whose payload exceeded the budget. `None` if no cost is known.
    pub fn oversized_share(&self) -> Option<f64> {
        share(self.oversized, self.sized)
    }

    /// Share of the payload tokens that was not served, follow-ups counted as served. `None` if no cost is known.
    pub fn reduction(&self) -> Option<f64> {
        share(self.tokens.1, self.tokens.0).map(|served| 1.0 - served)
    }

    /// Follow-ups per first call. `None` without first calls.
    pub fn follow_ups_per_first(&self) -> Option<f64> {
        share(self.follow_ups, self.requests() - self.follow_ups)
    }

    /// Mean tokens of a reply. `None` if none was counted.
    pub fn mean_tokens(&self) -> Option<f64> {
        share(self.counted.1, self.counted.0)
    }

    /// Mean bytes of a reply. `None` without replies.
    pub fn mean_bytes(&self) -> Option<f64> {
        share(self.bytes.1, self.requests())
    }
}

impl Counters {
    fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for endpoint in &self.endpoints {
            totals.merge(&endpoint.totals);
        }
        for (_, estimates) in &self.estimates {
            totals.accuracy.merge(&estimates.accuracy);
        }
        totals
    }

    fn add(&mut self, served: &RequestServed) {
        self.endpoint(served).add(served);
        self.overhead.add(served.overhead.as_secs_f64());
        if let (Some(estimated), Some(actual)) = (served.estimated_tokens, served.actual_tokens) {
            let start =
                || Estimates { accuracy: Accuracy::default(), errors: Histogram::of(&names::ESTIMATE_ERROR) };
            let estimates = entry(&mut self.estimates, served.counter, start);
            estimates.accuracy.add(estimated, actual);
            estimates.errors.add(accuracy::relative_error(estimated, actual).abs());
        }
    }

    fn endpoint(&mut self, served: &RequestServed) -> &mut EndpointCounters {
        let labels = self.labels(served);
        let at = self.index.get(&labels).copied().unwrap_or_else(|| {
            self.named += usize::from(Arc::ptr_eq(&labels.endpoint, &served.endpoint));
            self.index.insert(labels, self.endpoints.len());
            self.endpoints.push(EndpointCounters::default());
            self.endpoints.len() - 1
        });
        &mut self.endpoints[at]
    }

    /// Returns the labels of a request's endpoint.
    fn labels(&self, served: &RequestServed) -> Labels {
        let labelled = |endpoint: &Arc<str>| Labels {
            upstream: served.upstream.clone(),
            kind: served.kind,
            endpoint: Arc::clone(endpoint),
        };
        match (served.kind, &*served.endpoint) {
            (EndpointKind::Resource, _) => labelled(&self.any),
            (_, "") => labelled(&self.none),
            _ => {
                let own = labelled(&served.endpoint);
                let is_known = self.named < MAX_NAMED || self.index.contains_key(&own);
                if is_known { own } else { labelled(&self.other) }
            }
        }
    }
}

/// Returns the value of a key and inserts it first if it is new. Meant for few keys.
fn entry<K: PartialEq, T>(all: &mut Vec<(K, T)>, key: K, start: impl FnOnce() -> T) -> &mut T {
    let at = all.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        all.push((key, start()));
        all.len() - 1
    });
    &mut all[at].1
}

/// Counters of one endpoint since the process started.
#[derive(Clone, Debug, Default)]
struct EndpointCounters {
    totals: Totals,
    /// Request durations by error code and follow-up. An endpoint has few different codes, so a list is enough.
    durations: Vec<(OutcomeKey, Histogram)>,
}

/// Key of a duration histogram: the error code, and true for a follow-up.
type OutcomeKey = (Option<ServedError>, bool);

impl EndpointCounters {
    fn add(&mut self, served: &RequestServed) {
        self.totals.add(served);
        let durations = || Histogram::of(&names::OPERATION_DURATION);
        let took = served.latency.as_secs_f64();
        entry(&mut self.durations, (served.error, served.follow_up), durations).add(took);
    }
}

fn sum(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    (one.0 + other.0, one.1 + other.1)
}
