//! Sliding window of counts: a ring of slots, each a thirtieth of the window.

use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::Duration;

/// Slots of a window. The newest slot is still filling, so the window is up to one slot short.
const SLOTS: usize = 30;
/// Maximum number of endpoints that a slot counts by name.
const MAX_ENDPOINTS: usize = 16;

/// Counts of the last `SLOTS` slots.
#[derive(Clone, Debug)]
pub(super) struct Window {
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
    pub(super) fn new(length: Duration) -> Self {
        let slot = (length / SLOTS as u32).max(Duration::from_millis(1));
        Self {
            slot,
            slots: Default::default(),
            newest: 0,
            sum: Counted::default(),
            hasher: foldhash::fast::RandomState::default(),
        }
    }

    /// Drops slots that are too old at `now`.
    pub(super) fn advance(&mut self, now: Duration) {
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
    pub(super) fn count(&mut self, oversized: Option<&Arc<str>>) {
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

    pub(super) fn counted(&self) -> Counted {
        self.sum
    }

    /// Returns at most `max` endpoints, sorted by oversized calls in descending order.
    pub(super) fn endpoints(&self, max: usize) -> Vec<(Arc<str>, u64)> {
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
