//! State machine that decides whether too many calls are oversized. Time is an argument.

use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::Duration;

use portion_text::display::counted;

use super::DEFAULT_SHARE;

/// Minimum number of calls in the window for an alert.
pub const MIN_CALLS: u64 = 20;
/// Maximum number of endpoints named in a state.
const TOP_ENDPOINTS: usize = 5;

/// Slots of a window. The newest slot is still filling, so the window is up to one slot short.
const SLOTS: usize = 30;
/// Maximum number of endpoints that a slot counts by name.
const MAX_ENDPOINTS: usize = 16;

/// Condition under which the alert is raised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Oversized calls that count.
    pub counts: CountedCalls,
    /// Allowed share of oversized calls, in per cent, 0 to 100.
    pub percent: f64,
    /// Length of the sliding window.
    pub window: Duration,
}

/// Oversized calls that count towards the alert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountedCalls {
    /// Calls of a session that got an oversized result of the same endpoint before, and that again do not say how
    /// much they want. The first large result of a session is what Portion is for.
    #[default]
    Repeated,
    /// All calls, the first of a session included.
    Every,
}

/// Distance of the counts from the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertLevel {
    /// Below half of the threshold, or too few calls.
    Normal,
    /// Above half of the threshold.
    Near,
    /// The alert is raised.
    Raised,
}

/// Counts calls in a sliding window and compares them with a rule.
#[derive(Clone, Debug)]
pub struct Watch {
    rule: Rule,
    window: Window,
    raised: bool,
}

/// State of the alert and the counts in its window.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertState {
    /// Rule that the counts are compared with.
    pub rule: Rule,
    /// The alert is raised.
    pub raised: bool,
    /// Distance from the threshold.
    pub level: AlertLevel,
    /// Calls in the window whose payload size is known.
    pub requests: u64,
    /// Oversized calls among them.
    pub oversized: u64,
    /// Endpoints with the most oversized calls, and their number.
    pub endpoints: Vec<(Arc<str>, u64)>,
}

impl Default for Rule {
    fn default() -> Self {
        let counts = CountedCalls::default();
        Self { counts, percent: DEFAULT_SHARE * 100.0, window: Duration::from_mins(5) }
    }
}

impl Watch {
    /// Creates an empty window.
    pub fn new(rule: Rule) -> Self {
        Self { rule, window: Window::new(rule.window), raised: false }
    }

    /// Returns the rule in force.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// Compares the counts with another rule of the same window length. Returns the new state if that raises or ends
    /// the alert.
    pub fn set_rule(&mut self, rule: Rule) -> Option<AlertState> {
        self.rule = rule;
        self.evaluate()
    }

    /// Counts a call; `oversized` is its endpoint if it is oversized. Returns the new state if the call raises or ends
    /// the alert. `now` is the time since any fixed point and never decreases.
    pub fn count(&mut self, now: Duration, oversized: Option<&Arc<str>>) -> Option<AlertState> {
        self.window.advance(now);
        self.window.count(oversized);
        self.evaluate()
    }

    /// Advances the window to `now`. Returns the new state if that raises or ends the alert.
    pub fn tick(&mut self, now: Duration) -> Option<AlertState> {
        self.window.advance(now);
        self.evaluate()
    }

    /// Returns the state as of the last call or tick.
    pub fn state(&self) -> AlertState {
        let Counted { requests, oversized } = self.window.sum;
        let Self { rule, raised, .. } = *self;
        let is_near = requests >= MIN_CALLS && oversized as f64 * 200.0 > rule.percent * requests as f64;
        let level = match (raised, is_near) {
            (true, _) => AlertLevel::Raised,
            (false, true) => AlertLevel::Near,
            (false, false) => AlertLevel::Normal,
        };
        let endpoints = self.window.endpoints(TOP_ENDPOINTS);
        AlertState { rule, raised, level, requests, oversized, endpoints }
    }

    /// Raises the alert above the threshold and ends it at four fifths of the threshold, so a share in between changes
    /// nothing. Compares products in per cent, so 5 % is never above 5 %.
    fn evaluate(&mut self) -> Option<AlertState> {
        let Counted { requests, oversized } = self.window.sum;
        let is_above =
            requests >= MIN_CALLS && oversized as f64 * 100.0 > self.rule.percent * requests as f64;
        let is_below = oversized as f64 * 500.0 <= self.rule.percent * 4.0 * requests as f64;
        let changes = if self.raised { is_below } else { is_above };
        changes.then(|| {
            self.raised = !self.raised;
            self.state()
        })
    }
}

impl AlertLevel {
    /// Returns the name in `/health`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Near => "near",
            Self::Raised => "raised",
        }
    }
}

impl AlertState {
    /// Share of oversized calls, 0 to 1. `None` without calls.
    pub fn share(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.oversized as f64 / self.requests as f64)
    }

    /// Describes the state in a sentence for people, with a remedy.
    pub fn sentence(&self) -> String {
        let Self { rule, requests, oversized, endpoints, .. } = self;
        let window = humantime::format_duration(rule.window).to_string().replace(' ', "");
        let share = self.share().unwrap_or_default() * 100.0;
        let what = match rule.counts {
            CountedCalls::Repeated => "asked again for a result above the budget",
            CountedCalls::Every => "had results above the budget",
        };
        let summary = format!("{share:.1} % of {requests} calls in {window} {what}");
        if !self.raised {
            return format!("{summary}: the alert is over.");
        }
        let named: Vec<String> =
            endpoints.iter().map(|(endpoint, count)| format!("{endpoint} ({count})")).collect();
        format!(
            "{summary} ({}; the limit is {} %), most of {}. `portion stats --since {window}` shows \
             details. To reduce them, call these endpoints with limit or fields, or configure a smaller pageSize or a \
             larger tokenBudgetThreshold for them.",
            counted(*oversized as usize, "call"),
            rule.percent,
            named.join(", ")
        )
    }
}

/// Counts of the last `SLOTS` slots.
#[derive(Clone, Debug, Default)]
struct Window {
    slot: Duration,
    slots: [Slot; SLOTS],
    /// Number of the newest slot since time zero.
    newest: u64,
    sum: Counted,
    hasher: foldhash::fast::RandomState,
}

/// Calls whose payload size is known, and the oversized ones among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) requests: u64,
    pub(super) oversized: u64,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    counted: Counted,
    /// Oversized calls by endpoint.
    endpoints: Vec<EndpointCount>,
}

#[derive(Clone, Debug)]
struct EndpointCount {
    /// Hash of the name. Comparing numbers is cheaper than comparing names on the request path.
    hash: u64,
    calls: u64,
    endpoint: Arc<str>,
}

impl Window {
    /// Creates an empty window of that length.
    fn new(length: Duration) -> Self {
        let slot = (length / SLOTS as u32).max(Duration::from_millis(1));
        Self { slot, ..Self::default() }
    }

    /// Drops slots that are too old at `now`.
    fn advance(&mut self, now: Duration) {
        let newest = (now.as_nanos() / self.slot.as_nanos()) as u64;
        let passed = newest.saturating_sub(self.newest);
        for number in 1..=passed.min(SLOTS as u64) {
            let at = ((self.newest + number) % SLOTS as u64) as usize;
            let slot = &mut self.slots[at];
            self.sum.requests -= slot.counted.requests;
            self.sum.oversized -= slot.counted.oversized;
            slot.counted = Counted::default();
            slot.endpoints.clear();
        }
        self.newest += passed;
    }

    /// Counts a call; `oversized` is its endpoint if it is oversized.
    fn count(&mut self, oversized: Option<&Arc<str>>) {
        let slot = &mut self.slots[(self.newest % SLOTS as u64) as usize];
        for counted in [&mut self.sum, &mut slot.counted] {
            counted.requests += 1;
            counted.oversized += u64::from(oversized.is_some());
        }
        let Some(endpoint) = oversized else { return };
        let has_room = slot.endpoints.len() < MAX_ENDPOINTS;
        let hash = self.hasher.hash_one(endpoint);
        match slot.endpoints.iter_mut().find(|entry| entry.hash == hash) {
            Some(entry) => entry.calls += 1,
            None if has_room => {
                slot.endpoints.push(EndpointCount { hash, calls: 1, endpoint: Arc::clone(endpoint) });
            }
            None => {}
        }
    }

    /// Returns at most `max` endpoints, sorted by oversized calls in descending order.
    fn endpoints(&self, max: usize) -> Vec<(Arc<str>, u64)> {
        let mut all: Vec<(Arc<str>, u64)> = Vec::new();
        for EndpointCount { calls, endpoint, .. } in self.slots.iter().flat_map(|slot| &slot.endpoints) {
            match all.iter_mut().find(|(known, _)| known == endpoint) {
                Some((_, sum)) => *sum += calls,
                None => all.push((Arc::clone(endpoint), *calls)),
            }
        }
        all.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        all.truncate(max);
        all
    }
}
