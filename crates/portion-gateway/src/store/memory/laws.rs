//! Property tests of the snapshot cache against a simple model.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, View, resolve};
use portion_policy::endpoint::{Endpoint, EndpointKind};
use proptest::collection::vec;
use proptest::prelude::*;

use super::cache::SnapshotCache;
use super::cache_entry::{RemovalReason, RemovedSnapshot};
use crate::call::ReuseKey;
use crate::store::{StoreLimits, StoreLookupError, StoreWriteError, StoredSnapshot};

const MEMORY: usize = 128 << 10;
const TTL: Duration = Duration::from_mins(1);

/// An operation on the cache. Snapshots are selected by their order of creation.
#[derive(Clone, Debug)]
enum Act {
    Put { principal: usize, filler: usize, view: bool },
    Find { principal: usize, nth: prop::sample::Index },
    View { principal: usize, nth: prop::sample::Index, key: usize },
    Recall { principal: usize, nth: prop::sample::Index },
    Wait { seconds: u64 },
}

fn act() -> impl Strategy<Value = Act> {
    let principal = 0..4_usize;
    let nth = any::<prop::sample::Index>();
    prop_oneof![
        6 => (principal.clone(), prop_oneof![8 => 0..12_000_usize, 1 => 0..150_000_usize], any::<bool>())
            .prop_map(|(principal, filler, view)| Act::Put { principal, filler, view }),
        2 => (principal.clone(), nth.clone()).prop_map(|(principal, nth)| Act::Find { principal, nth }),
        3 => (principal.clone(), nth.clone(), 0..60_usize)
            .prop_map(|(principal, nth, key)| Act::View { principal, nth, key }),
        1 => (principal, nth).prop_map(|(principal, nth)| Act::Recall { principal, nth }),
        1 => (0..45_u64).prop_map(|seconds| Act::Wait { seconds }),
    ]
}

/// Expected state of a stored snapshot.
#[derive(Clone, Debug)]
struct Known {
    owner: usize,
    used: u64,
    expires: Instant,
}

/// A cache, and its expected content.
struct Trial {
    cache: SnapshotCache,
    now: Instant,
    made: Vec<(SnapshotId, Arc<Snapshot>)>,
    known: HashMap<SnapshotId, Known>,
    uses: u64,
}

fn scope(principal: usize) -> Scope {
    Scope::from_principal(&principal.to_string())
}

/// Creates an object with 60 keys, each of which can be viewed, and `filler` bytes.
fn snapshot(filler: usize) -> Snapshot {
    let mut json = String::from("{");
    for key in 0..60 {
        let _ = write!(json, "\"k{key}\":{{\"a\":{key}}},");
    }
    let _ = write!(json, "\"filler\":\"{}\"}}", "x".repeat(filler));
    let block = Block::new("/content/0/text", Content::Text(json));
    capture(Payload { blocks: vec![block], ..Payload::default() })
}

fn view(snapshot: &Snapshot, key: usize) -> View {
    let request = Request { path: Some(format!("/k{key}")), ..Request::default() };
    resolve(snapshot, None, &request, &Policy::default()).expect("the key is there").view
}

fn reuse(id: SnapshotId) -> ReuseKey {
    let endpoint =
        Endpoint { name: "list".into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
    ReuseKey::new(&endpoint, &format!("{id:?}"))
}

impl Trial {
    fn new() -> Self {
        let cache = SnapshotCache::new(StoreLimits { memory_bytes: MEMORY, ttl: TTL }, false);
        Self { cache, now: Instant::now(), made: Vec::new(), known: HashMap::new(), uses: 0 }
    }

    fn act(&mut self, act: &Act) {
        let now = self.now;
        match act {
            Act::Wait { seconds } => self.now += Duration::from_secs(*seconds),
            Act::Put { principal, filler, view: viewed } => {
                let [_, _, id @ ..] = (self.made.len() as u64).to_be_bytes();
                let snapshot = Arc::new(snapshot(*filler));
                let view = if *viewed { view(&snapshot, 0) } else { View::root() };
                self.made.push((id, Arc::clone(&snapshot)));
                let reuse = Some(reuse(id));
                let new = StoredSnapshot { view, reuse_key: reuse, ..StoredSnapshot::new(id, snapshot) };
                let made = self.made_room(*principal, |cache, scope| cache.put(scope, new, now));
                if made {
                    self.used(id, *principal);
                }
            }
            Act::View { principal, nth, key } => {
                let Some((id, snapshot)) = self.nth(*nth) else { return };
                let view = view(&snapshot, *key);
                self.forget_expired();
                let theirs = self.known.get(&id).is_some_and(|known| known.owner == *principal);
                if theirs {
                    self.used(id, *principal);
                }
                let made = self.made_room(*principal, |cache, scope| cache.put_view(scope, id, view, now));
                assert!(theirs || !made, "a view was kept with a snapshot that is gone or of someone else");
                assert!(!theirs || self.known.contains_key(&id), "a view drove its own snapshot out");
            }
            Act::Find { principal, nth } => {
                let Some((id, snapshot)) = self.nth(*nth) else { return };
                let found = self.cache.find(&scope(*principal), id, View::root().id(), now);
                self.departs(None, usize::MAX);
                match (found, self.known.get(&id).filter(|known| known.owner == *principal)) {
                    (Ok(stored), Some(_)) => {
                        assert!(Arc::ptr_eq(&stored.snapshot, &snapshot), "another snapshot was found");
                        self.used(id, *principal);
                    }
                    (Err(StoreLookupError::SnapshotGone { .. } | StoreLookupError::Unknown), None) => {}
                    (found, known) => panic!("{id:?}: found {found:?}, expected {known:?}"),
                }
            }
            Act::Recall { principal, nth } => {
                let Some((id, _)) = self.nth(*nth) else { return };
                let found = self.cache.find_reusable(&scope(*principal), reuse(id), now);
                self.departs(None, usize::MAX);
                let theirs = self.known.get(&id).is_some_and(|known| known.owner == *principal);
                assert_eq!(found.map(|stored| stored.id), theirs.then_some(id));
                if theirs {
                    self.used(id, *principal);
                }
            }
        }
    }

    fn nth(&self, nth: prop::sample::Index) -> Option<(SnapshotId, Arc<Snapshot>)> {
        (!self.made.is_empty()).then(|| nth.get(&self.made).clone())
    }

    /// Runs an operation that may evict, and checks the evictions. Returns true if it succeeded.
    fn made_room(
        &mut self,
        principal: usize,
        change: impl FnOnce(&mut SnapshotCache, &Scope) -> Result<(), StoreWriteError>,
    ) -> bool {
        self.cache.stats(self.now);
        self.departs(None, usize::MAX);
        let share = MEMORY / self.cache.principals_with(&scope(principal));
        let before: HashMap<usize, usize> = (0..4).map(|p| (p, self.cache.used(&scope(p)))).collect();
        let outcome = change(&mut self.cache, &scope(principal));
        let departed = self.departs(Some(principal), share);
        for owner in departed.iter().filter(|owner| **owner != principal) {
            assert!(before[owner] > share, "evicted of one who held {} of {share}", before[owner]);
        }
        match outcome {
            Ok(()) => true,
            Err(StoreWriteError::NoCapacity { bytes, room }) => {
                assert!(departed.is_empty(), "something went for what was refused");
                assert!(bytes > room && (bytes > share || room < share), "refused {bytes} within {share}");
                false
            }
            Err(_) => false,
        }
    }

    /// Checks the removed snapshots: expired ones were due, and evicted ones were the least recently used of
    /// their owner. Returns the owners of evicted snapshots.
    fn departs(&mut self, by: Option<usize>, share: usize) -> Vec<usize> {
        let departed: Vec<RemovedSnapshot> = self.cache.take_removed();
        let mut owners = Vec::new();
        for it in departed {
            let id = it.id();
            let known = self.known.remove(&id).expect("what departs was there");
            if it.reason == RemovalReason::Expired {
                assert!(known.expires <= self.now, "expired before its time");
                continue;
            }
            assert!(by.is_some(), "evicted by a mere look, at a share of {share}");
            let older = |other: &Known| other.owner == known.owner && other.used < known.used;
            assert!(!self.known.values().any(older), "evicted before what was used longer ago");
            owners.push(known.owner);
        }
        owners
    }

    fn forget_expired(&mut self) {
        self.cache.stats(self.now);
        self.departs(None, usize::MAX);
    }

    fn used(&mut self, id: SnapshotId, owner: usize) {
        self.uses += 1;
        self.known.insert(id, Known { owner, used: self.uses, expires: self.now + TTL });
    }

    fn check(&mut self) {
        let figures = self.cache.stats(self.now);
        self.departs(None, usize::MAX);
        assert!(figures.bytes <= MEMORY, "{} bytes held", figures.bytes);
        assert_eq!(figures.snapshots, self.known.len());
        assert!(self.known.values().all(|known| known.expires > self.now), "held beyond its time");
        self.cache.assert_consistent();
    }
}

proptest! {
    #[test]
    fn evicts_fairly_by_last_use_and_expires_in_time(acts in vec(act(), 1..60)) {
        let mut trial = Trial::new();
        for act in &acts {
            trial.act(act);
            trial.check();
        }
    }

    /// A burst of one principal never evicts snapshots of principals within their share.
    #[test]
    fn a_burst_leaves_others_their_shares(
        modest in vec(0..8_000_usize, 1..5),
        burst in vec(0..200_000_usize, 1..80),
    ) {
        let mut trial = Trial::new();
        for filler in &modest {
            trial.act(&Act::Put { principal: 0, filler: *filler, view: false });
        }
        let theirs = trial.known.clone();
        prop_assume!(trial.cache.used(&scope(0)) <= MEMORY / 2);
        for filler in burst {
            trial.act(&Act::Put { principal: 1, filler, view: false });
            trial.check();
            prop_assert!(theirs.keys().all(|id| trial.known.contains_key(id)));
        }
    }
}

#[test]
fn idle_space_is_lent_and_given_back() {
    let mut trial = Trial::new();
    for _ in 0..40 {
        trial.act(&Act::Put { principal: 0, filler: 8_000, view: false });
    }
    assert!(trial.cache.used(&scope(0)) > MEMORY * 3 / 4, "one that is alone has it all");
    for _ in 0..40 {
        trial.act(&Act::Put { principal: 1, filler: 8_000, view: false });
        trial.check();
    }
    let (lender, borrower) = (trial.cache.used(&scope(1)), trial.cache.used(&scope(0)));
    assert!(lender * 5 > MEMORY * 2 && borrower * 5 > MEMORY * 2, "{lender} and {borrower} of {MEMORY}");
}
