//! Property tests of memory in front of a temporary file: whatever was accepted is found until its time is over, by its owner alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::{Block, Content, Payload};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::View;
use portion_policy::endpoint::{Endpoint, EndpointKind};
use proptest::collection::vec;
use proptest::prelude::*;

use portion_gateway::call::ReuseKey;
use portion_gateway::store::disk::DiskLimits;
use portion_gateway::store::{CachedStore, DiskStore, StoreLimits, StoreLookupError, StoredSnapshot};

const MEMORY: usize = 64 << 10;
const TTL: Duration = Duration::from_mins(1);
const PRINCIPALS: usize = 3;
const HOUR: Duration = Duration::from_hours(1);
const WRITE_TIME: Duration = Duration::from_mins(1);

#[derive(Clone, Debug)]
enum Act {
    /// With the key of an earlier snapshot, if `again` is set.
    Put {
        principal: usize,
        filler: usize,
        again: Option<prop::sample::Index>,
    },
    Find {
        principal: usize,
        nth: prop::sample::Index,
    },
    Recall {
        principal: usize,
        nth: prop::sample::Index,
    },
    Wait {
        seconds: u64,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let principal = 0..PRINCIPALS;
    let filler = prop_oneof![8 => 0..12_000_usize, 1 => 0..150_000_usize];
    let nth = any::<prop::sample::Index>();
    prop_oneof![
        6 => (principal.clone(), filler, prop::option::weighted(0.2, nth.clone()))
            .prop_map(|(principal, filler, again)| Act::Put { principal, filler, again }),
        4 => (principal.clone(), nth.clone()).prop_map(|(principal, nth)| Act::Find { principal, nth }),
        1 => (principal, nth).prop_map(|(principal, nth)| Act::Recall { principal, nth }),
        1 => (0..45_u64).prop_map(|seconds| Act::Wait { seconds }),
    ]
}

struct Known {
    owner: usize,
    text: String,
    expires: Instant,
}

fn scope(principal: usize) -> Scope {
    Scope::from_principal(&principal.to_string())
}

/// Text that cannot be compressed well, so that a small file becomes full.
fn text(seed: usize, bytes: usize) -> String {
    let mut state = seed as u64 + 1;
    let letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + (state >> 33) as u8 % 26)
    });
    letters.take(bytes).collect()
}

fn snapshot(text: &str) -> Arc<Snapshot> {
    let block = Block::new("/content/0/text", Content::Text(text.to_owned()));
    Arc::new(capture(Payload { blocks: vec![block], ..Payload::default() }))
}

fn reuse(id: SnapshotId) -> ReuseKey {
    let endpoint =
        Endpoint { name: "list".into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
    ReuseKey::new(&endpoint, &format!("{id:?}"))
}

fn check(disk_bytes: u64, acts: &[Act]) {
    let limits = StoreLimits { memory_bytes: MEMORY, ttl: TTL };
    let passed = Arc::new(Mutex::new(Duration::ZERO));
    let elapsed = Arc::clone(&passed);
    let clock = Arc::new(move || HOUR + *elapsed.lock().expect("no panic"));
    let disk = DiskStore::temporary(DiskLimits { bytes: disk_bytes, ttl: TTL }, Some(clock));
    let store = CachedStore::with_temporary_file(limits, disk);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let (mut now, mut known, mut ids) = (Instant::now(), HashMap::<SnapshotId, Known>::new(), Vec::new());
    let (mut refused, root) = (0, View::root().id());
    for (number, act) in acts.iter().enumerate() {
        known.retain(|_, known| known.expires > now);
        let choose = |nth: &prop::sample::Index| (!ids.is_empty()).then(|| *nth.get(&ids));
        match act {
            Act::Wait { seconds } => {
                // What is used later has a later time to live.
                assert!(store.flush(WRITE_TIME));
                now += Duration::from_secs(*seconds);
                *passed.lock().expect("no panic") += Duration::from_secs(*seconds);
            }
            Act::Put { principal, filler, again } => {
                let [_, _, new_id @ ..] = (number as u64).to_be_bytes();
                let id = again.as_ref().and_then(choose).unwrap_or(new_id);
                // Ids are random: nobody has that of another.
                let owner = known.get(&id).map_or(*principal, |known| known.owner);
                let text = text(number, *filler);
                let new =
                    StoredSnapshot { reuse_key: Some(reuse(id)), ..StoredSnapshot::new(id, snapshot(&text)) };
                if runtime.block_on(store.put(&scope(owner), new, now)).is_ok() {
                    known.insert(id, Known { owner, text, expires: now + TTL });
                    ids.push(id);
                } else {
                    // The gateway clears the reuse key, and issues no cursor.
                    refused += 1;
                    runtime.block_on(store.forget_reuse(&scope(owner), reuse(id)));
                }
            }
            Act::Find { principal, nth } => {
                let Some(id) = choose(nth) else { continue };
                let found = runtime.block_on(store.find(&scope(*principal), id, root, now));
                match (found, known.get_mut(&id).filter(|known| known.owner == *principal)) {
                    (Ok(found), Some(known)) => {
                        assert_eq!(found.snapshot.parts()[0].text(), known.text);
                        // For the cursor to its next page.
                        let view = (&found.snapshot, View::root());
                        let kept = runtime.block_on(store.put_view(&scope(*principal), id, view, now));
                        kept.expect("the view is stored already");
                        known.expires = now + TTL;
                    }
                    (Err(StoreLookupError::SnapshotGone { .. } | StoreLookupError::Unknown), None) => {}
                    (found, known) => panic!("found {found:?}, expected {}", known.is_some()),
                }
            }
            Act::Recall { principal, nth } => {
                let Some(id) = choose(nth) else { continue };
                let found = runtime.block_on(store.find_reusable(&scope(*principal), reuse(id), now));
                if let Some(found) = found {
                    let known = known.get_mut(&id).filter(|known| known.owner == *principal);
                    let known = known.expect("it is kept");
                    assert_eq!(found.snapshot.parts()[0].text(), known.text);
                    known.expires = now + TTL;
                }
            }
        }
        let stats = store.stats(now);
        known.retain(|_, known| known.expires > now);
        assert!(stats.bytes <= MEMORY && stats.spilled_bytes <= disk_bytes, "{stats:?}");
        let may_be_in_both = stats.snapshots.max(stats.spilled)..=stats.snapshots + stats.spilled;
        assert!(may_be_in_both.contains(&known.len()), "{stats:?} of {}", known.len());
        assert_eq!(stats.refused, refused);
        assert_eq!(stats.evicted, 0);
    }
}

proptest! {
    #[test]
    fn nothing_is_lost_while_the_file_has_room(acts in vec(act(), 1..120)) {
        check(64 << 20, &acts);
    }

    /// With one caller, a new snapshot is refused instead of evicting an earlier one.
    #[test]
    fn nothing_is_lost_when_the_file_is_full(mut acts in vec(act(), 1..120)) {
        for act in &mut acts {
            match act {
                Act::Put { principal, .. } | Act::Find { principal, .. } | Act::Recall { principal, .. } => {
                    *principal = 0;
                }
                Act::Wait { .. } => {}
            }
        }
        check(96 << 10, &acts);
    }
}
