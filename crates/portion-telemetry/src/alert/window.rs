//! What was counted of late: a ring of slots, each as long as a thirtieth of the window.

use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::Duration;

/// Slots of a window: the newest is still filling up, so that the window is looked at up to one slot short.
const SLOTS: usize = 30;
/// Endpoints that a slot remembers by name.
const REMEMBERED: usize = 16;

/// What was counted of late.
#[derive(Clone, Debug)]
pub(super) struct Window {
    slot: Duration,
    slots: [Slot; SLOTS],
    /// The number of the newest slot, since the beginning of time.
    newest: u64,
    sum: Counted,
    hashed: foldhash::fast::RandomState,
}

/// Calls whose size is known, and those of them that were oversized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) requests: u64,
    pub(super) oversized: u64,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    counted: Counted,
    /// Oversized calls by endpoint.
    endpoints: Vec<Blamed>,
}

#[derive(Clone, Debug)]
struct Blamed {
    /// Of the name: what is told apart on the way of a request is told apart by numbers.
    hash: u64,
    calls: u64,
    endpoint: Arc<str>,
}

impl Window {
    /// One that is empty.
    pub(super) fn new(length: Duration) -> Self {
        let slot = (length / SLOTS as u32).max(Duration::from_millis(1));
        Self {
            slot,
            slots: Default::default(),
            newest: 0,
            sum: Counted::default(),
            hashed: foldhash::fast::RandomState::default(),
        }
    }

    /// Forgets what is too old by now.
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

    /// Counts a call; with the endpoint where it was oversized.
    pub(super) fn count(&mut self, oversized: Option<&Arc<str>>) {
        let slot = &mut self.slots[(self.newest % SLOTS as u64) as usize];
        for counted in [&mut self.sum, &mut slot.counted] {
            counted.requests += 1;
            counted.oversized += u64::from(oversized.is_some());
        }
        let Some(endpoint) = oversized else { return };
        let has_room = slot.endpoints.len() < REMEMBERED;
        let hash = self.hashed.hash_one(endpoint);
        match slot.endpoints.iter_mut().find(|blamed| blamed.hash == hash) {
            Some(blamed) => blamed.calls += 1,
            None if has_room => {
                slot.endpoints.push(Blamed { hash, calls: 1, endpoint: Arc::clone(endpoint) });
            }
            None => {}
        }
    }

    pub(super) fn counted(&self) -> Counted {
        self.sum
    }

    /// The endpoints with most oversized calls, so many at most.
    pub(super) fn endpoints(&self, most: usize) -> Vec<(Arc<str>, u64)> {
        let mut all: Vec<(Arc<str>, u64)> = Vec::new();
        for Blamed { calls, endpoint, .. } in self.slots.iter().flat_map(|slot| &slot.endpoints) {
            match all.iter_mut().find(|(known, _)| known == endpoint) {
                Some((_, sum)) => *sum += calls,
                None => all.push((Arc::clone(endpoint), *calls)),
            }
        }
        all.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        all.truncate(most);
        all
    }
}
