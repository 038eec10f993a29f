//! Tests of sizes, of times, and of snapshots that are written to a store.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, View, resolve};
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::MemoryStore;
use super::views::{ViewCache, view_bytes};
use crate::call::ReuseKey;
use crate::store::{StoreLimits, StoreWriteError, StoredSnapshot};

const TTL: Duration = Duration::from_mins(1);

/// Returns an object with many members, each of which can be viewed.
fn snapshot() -> Arc<Snapshot> {
    let mut json = String::from("{\"first\":0");
    (0..60).for_each(|key| write!(json, ",\"k{key}\":{{\"a\":{key}}}").expect("a string"));
    let block = Block::new("/content/0/text", Content::Text(json + "}"));
    Arc::new(capture(Payload { blocks: vec![block], ..Payload::default() }))
}

fn view(snapshot: &Snapshot, key: usize) -> View {
    let request = Request { path: Some(format!("/k{key}")), ..Request::default() };
    resolve(snapshot, None, &request, &Policy::default()).expect("the key is there").view
}

fn endpoint(name: &str) -> Endpoint {
    Endpoint { name: name.to_owned(), kind: EndpointKind::Tool, read_only: true, idempotent: true }
}

fn reuse() -> ReuseKey {
    ReuseKey::new(&endpoint("list"), "{}")
}

pub(super) fn new_snapshot(id: u8) -> StoredSnapshot {
    StoredSnapshot::new([id; 6], snapshot())
}

fn ada() -> Scope {
    Scope::from_principal("ada")
}

fn store(memory_bytes: usize) -> MemoryStore {
    MemoryStore::new(StoreLimits { memory_bytes, ttl: TTL })
}

/// Returns the bytes of one snapshot.
pub(super) fn bytes_of(new: StoredSnapshot, views: &[View]) -> usize {
    let (store, now, id) = (store(1 << 20), Instant::now(), new.id);
    store.put(&ada(), new, now).expect("there is room");
    for view in views {
        store.put_view(&ada(), id, view.clone(), now).expect("there is room");
    }
    store.stats(now).bytes
}

fn is_found(store: &MemoryStore, id: SnapshotId, now: Instant) -> bool {
    store.find(&ada(), id, View::root().id(), now).is_ok()
}

#[test]
fn views_take_the_place_of_older_ones() {
    let (store, now, root) = (store(1 << 20), Instant::now(), new_snapshot(1));
    let snapshot = Arc::clone(&root.snapshot);
    store.put(&ada(), root, now).expect("there is room");
    let alone = store.stats(now).bytes;
    for key in 0..60 {
        store.put_view(&ada(), [1; 6], view(&snapshot, key), now).expect("there is room");
    }
    let latest: usize = (28..60).map(|key| view_bytes(&view(&snapshot, key))).sum();
    assert_eq!(store.stats(now).bytes, alone + latest);
}

/// A view that takes the place of another needs no more room.
#[test]
fn a_full_memory_has_room_for_other_views() {
    let (root, now) = (new_snapshot(1), Instant::now());
    let views: Vec<View> = (10..43).map(|key| view(&root.snapshot, key)).collect();
    let store = store(bytes_of(new_snapshot(1), &views[..32]) + bytes_of(new_snapshot(2), &[]));
    store.put(&ada(), new_snapshot(2), now).expect("there is room");
    store.put(&ada(), root, now).expect("there is room");
    for view in views {
        store.put_view(&ada(), [1; 6], view, now).expect("there is room");
        assert!(is_found(&store, [2; 6], now));
    }
}

#[test]
fn everything_that_is_kept_counts() {
    let (plain, root) = (bytes_of(new_snapshot(1), &[]), new_snapshot(1));
    assert_eq!(plain, root.snapshot.heap_bytes() + 1024);
    let named = StoredSnapshot { endpoint: Some(Arc::new(endpoint("twelve bytes"))), ..new_snapshot(1) };
    assert_eq!(bytes_of(named, &[]), plain + 12);
    let called = StoredSnapshot { arguments: Some("{\"a\":1}".into()), ..new_snapshot(1) };
    assert_eq!(bytes_of(called, &[]), plain + 7);
    let (first, second) = (view(&root.snapshot, 0), view(&root.snapshot, 1));
    let (of_first, of_second) = (view_bytes(&first), view_bytes(&second));
    assert_eq!(of_first, first.heap_bytes() + 128);
    let viewed = StoredSnapshot { view: first.clone(), ..new_snapshot(1) };
    assert_eq!(bytes_of(viewed, std::slice::from_ref(&first)), plain + of_first);
    assert_eq!(bytes_of(new_snapshot(1), &[first, second.clone(), second]), plain + of_first + of_second);
}

/// Data that queries derived count as part of the snapshot, and are dropped before a snapshot is.
#[test]
fn derived_data_count_and_are_the_first_to_go() {
    let (now, each) = (Instant::now(), bytes_of(new_snapshot(1), &[]));
    let store = store(3 * each);
    for id in 1..=2 {
        store.put(&ada(), new_snapshot(id), now).expect("there is room");
        let found = store.find(&ada(), [id; 6], View::root().id(), now).expect("it is there");
        found.snapshot.derived().set_byte_count(each / 2);
        assert_eq!(store.stats(now).bytes, usize::from(id) * (each + each / 2));
    }
    store.put(&ada(), new_snapshot(3), now).expect("there is room");
    assert_eq!((store.stats(now).bytes, store.stats(now).evicted), (3 * each, 0));
    let found = store.find(&ada(), [1; 6], View::root().id(), now).expect("it is there");
    assert_eq!(found.snapshot.derived().byte_count(), 0);
}

#[test]
fn the_memory_is_used_up_to_its_last_byte() {
    let (now, each) = (Instant::now(), bytes_of(new_snapshot(1), &[]));
    for (spare, are_both_kept) in [(0, true), (1, false)] {
        let store = store(2 * each - spare);
        store.put(&ada(), new_snapshot(1), now).expect("there is room");
        store.put(&ada(), new_snapshot(2), now).expect("there is room");
        assert_eq!((is_found(&store, [1; 6], now), is_found(&store, [2; 6], now)), (are_both_kept, true));
        assert_eq!(store.stats(now).evicted, u64::from(!are_both_kept));
    }
    let small = store(each - 1);
    let refused = small.put(&ada(), new_snapshot(1), now);
    assert_eq!(refused, Err(StoreWriteError::NoCapacity { bytes: each, room: each - 1 }));
    assert_eq!(small.stats(now).refused, 1);
}

#[test]
fn time_is_over_at_its_end_and_never_runs_backwards() {
    let (store, start) = (store(1 << 20), Instant::now());
    let nanosecond = Duration::from_nanos(1);
    store.put(&ada(), new_snapshot(1), start).expect("there is room");
    store.put(&ada(), new_snapshot(2), start).expect("there is room");
    let last = start + TTL.saturating_sub(nanosecond);
    assert!(is_found(&store, [1; 6], last), "its time is not over");
    assert!(!is_found(&store, [2; 6], start + TTL), "its time is over");
    assert!(is_found(&store, [1; 6], last + TTL.saturating_sub(nanosecond)), "it was used since");
    // The time of a slow caller is that of the latest one.
    let latest = last + TTL + TTL / 2;
    assert!(is_found(&store, [1; 6], latest));
    assert!(is_found(&store, [1; 6], start));
    assert!(
        is_found(&store, [1; 6], latest + TTL.saturating_sub(nanosecond)),
        "its last use was the latest time"
    );
    let stats = store.stats(latest + 3 * TTL);
    assert_eq!((stats.snapshots, stats.principals, stats.bytes, stats.expired), (0, 0, 0, 2));
    assert!(!is_found(&store, [1; 6], start));
}

#[test]
fn a_reuse_key_belongs_to_the_latest_snapshot_of_a_scope() {
    let (store, now) = (store(1 << 20), Instant::now());
    for id in [1, 2] {
        let new = StoredSnapshot { reuse_key: Some(reuse()), ..new_snapshot(id) };
        store.put(&ada(), new, now).expect("there is room");
    }
    let bob = Scope::from_principal("bob");
    let key = |scope: &Scope, id: u8| store.whole(scope, [id; 6]).and_then(|whole| whole.reuse_key);
    assert_eq!([key(&ada(), 1), key(&ada(), 2), key(&bob, 2)], [None, Some(reuse()), None]);
    assert!(store.find_reusable(&bob, reuse(), now).is_none());
    store.forget_reuse(&bob, reuse());
    assert_eq!(store.find_reusable(&ada(), reuse(), now).map(|found| found.id), Some([2; 6]));
    store.forget_reuse(&ada(), reuse());
    assert!(store.find_reusable(&ada(), reuse(), now).is_none());
    assert_eq!(key(&ada(), 2), None);
}

/// A memory in front of a store, with room for this many snapshots.
fn in_front(count: usize) -> (Arc<MemoryStore>, Instant) {
    let memory_bytes = count * bytes_of(new_snapshot(1), &[]);
    (Arc::new(MemoryStore::in_front(StoreLimits { memory_bytes, ttl: TTL })), Instant::now())
}

#[test]
fn what_the_store_has_not_got_takes_half_of_the_memory() {
    let (store, now) = in_front(6);
    let to_write = || store.to_write(9).iter().map(|key| key.id[0]).collect::<Vec<_>>();
    for id in 1..=5 {
        let unwritten = store.put_unwritten(&ada(), new_snapshot(id), now).expect("there is room");
        if id == 2 {
            unwritten.succeed();
        }
    }
    assert_eq!(to_write(), [1]);
    assert!(is_found(&store, [1; 6], now));
    assert_eq!(to_write(), [3], "the other one was used since");
    let written = store.whole(&ada(), [3; 6]).expect("it is there");
    store.mark_rewritten(&ada(), &written.snapshot, written.last_used);
    assert!(to_write().is_empty());
}

#[test]
fn what_the_store_has_is_neither_lost_nor_counted() {
    let (store, now) = in_front(2);
    for id in 1..=3 {
        store.put_unwritten(&ada(), new_snapshot(id), now).expect("there is room").succeed();
    }
    let stats = store.stats(now + 2 * TTL);
    assert_eq!((stats.snapshots, stats.evicted, stats.expired, stats.refused), (0, 0, 0, 0));
}

#[test]
fn a_scope_below_its_share_gets_the_place_of_the_only_copy() {
    let (store, now) = in_front(4);
    let bob = Scope::from_principal("bob");
    for id in 1..=4 {
        drop(store.put_unwritten(&ada(), new_snapshot(id), now).expect("there is room"));
    }
    assert!(store.put_by_share(&ada(), new_snapshot(5), now).is_err(), "its own stay");
    for id in [6, 7] {
        assert!(store.put_unwritten(&bob, new_snapshot(id), now).is_err());
        store.put_by_share(&bob, new_snapshot(id), now).expect("it has a share");
    }
    assert!(store.put_by_share(&bob, new_snapshot(8), now).is_err(), "it has its share");
    assert_eq!([1, 2, 3, 4].map(|id| is_found(&store, [id; 6], now)), [false, false, true, true]);
    let stats = store.stats(now);
    assert_eq!(
        (stats.snapshots, stats.evicted, stats.refused),
        (4, 2, 0),
        "the store counts what it refuses"
    );
}

#[test]
fn only_the_owner_discards_a_snapshot() {
    let (store, now) = in_front(2);
    store.put(&ada(), new_snapshot(1), now).expect("there is room");
    store.discard(&Scope::from_principal("bob"), [1; 6]);
    assert!(is_found(&store, [1; 6], now));
    store.discard(&ada(), [1; 6]);
    assert!(!is_found(&store, [1; 6], now));
}

#[test]
fn a_snapshot_is_written_with_its_views_and_the_time_of_its_use() {
    let (store, now) = in_front(8);
    let (first, second) = (view(&snapshot(), 0), view(&snapshot(), 1));
    store.put(&ada(), new_snapshot(1), now).expect("there is room");
    for view in [&first, &second] {
        store.put_view(&ada(), [1; 6], view.clone(), now).expect("there is room");
    }
    assert!(store.find(&ada(), [1; 6], first.id(), now).is_ok());
    store.stats(now + TTL / 4);
    let whole = store.whole(&ada(), [1; 6]).expect("it is there");
    assert_eq!(whole.snapshot.view.id(), View::root().id());
    assert_eq!(whole.views.iter().map(View::id).collect::<Vec<_>>(), [second.id(), first.id()]);
    assert_eq!(whole.unused_for, TTL / 4);
    assert!(store.whole(&Scope::from_principal("bob"), [1; 6]).is_none());
}

#[test]
fn the_least_recently_used_views_go_and_the_root_stays() {
    let (snapshot, root) = (snapshot(), View::root());
    let mut views = ViewCache::new(&snapshot, &root);
    for key in 0..32 {
        let view = view(&snapshot, key);
        assert_eq!(views.evict_for(view_bytes(&view)), 0, "view {key}");
        let bytes = view_bytes(&view);
        views.add(view, bytes);
    }
    let (oldest, second) = (view(&snapshot, 0), view(&snapshot, 1));
    assert!(views.get(oldest.id()).is_some(), "it is used again");
    let view = view(&snapshot, 40);
    assert_eq!(views.evict_for(view_bytes(&view)), view_bytes(&second), "there are 32 at most");
    let bytes = view_bytes(&view);
    views.add(view, bytes);
    assert!(views.get(second.id()).is_none() && views.get(oldest.id()).is_some());
    assert!(views.get(root.id()).is_some());
    assert_eq!(views.recent().count(), 32);
    assert_eq!(views.bytes, views.recent().map(view_bytes).sum::<usize>());
}

#[test]
fn the_bytes_of_views_are_bounded() {
    let (snapshot, root) = (snapshot(), View::root());
    let mut views = ViewCache::new(&snapshot, &root);
    assert_eq!(views.capacity_bytes, snapshot.heap_bytes() + (64 << 10));
    let (first, second) = (view(&snapshot, 0), view(&snapshot, 1));
    let (of_first, of_second) = (view_bytes(&first), view_bytes(&second));
    views.add(first, of_first);
    views.add(second, of_second);
    let spare = views.capacity_bytes - of_first - of_second;
    assert_eq!(views.evict_for(spare), 0);
    assert_eq!(views.evict_for(spare + 1), of_first);
    assert_eq!(views.bytes, of_second);
    assert_eq!(views.evict_for(views.capacity_bytes), of_second);
    assert_eq!((views.bytes, views.recent().count()), (0, 0));
}

#[test]
fn a_principal_whose_copies_are_the_only_ones_is_passed_over() {
    let bytes = bytes_of(new_snapshot(1), &[]);
    let store = Arc::new(store(10 * bytes));
    let (now, [ada, bob, eve]) = (Instant::now(), ["ada", "bob", "eve"].map(Scope::from_principal));
    let writes: Vec<_> =
        (1..=5).map(|id| store.put_unwritten(&ada, new_snapshot(id), now).expect("there is room")).collect();
    (6..=9).for_each(|id| store.put(&bob, new_snapshot(id), now).expect("there is room"));
    (10..=11).for_each(|id| store.put(&eve, new_snapshot(id), now).expect("bob is above his share"));
    let refused = store.put(&eve, new_snapshot(12), now);
    assert!(matches!(refused, Err(StoreWriteError::NoCapacity { .. })), "bob keeps his share");
    let root = View::root().id();
    assert!((1..=5).all(|id| store.find(&ada, [id; 6], root, now).is_ok()));
    let kept: Vec<u8> = (6..=9).filter(|id| store.find(&bob, [*id; 6], root, now).is_ok()).collect();
    assert_eq!(kept, [7, 8, 9]);
    drop(writes);
}
