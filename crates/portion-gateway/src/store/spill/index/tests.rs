//! Tests of the index: space, expiry, views and reuse keys.

use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, ViewId};
use portion_policy::endpoint::{Endpoint, EndpointKind};

use super::super::space::GRANULE_BYTES;
use super::{Source, SpillIndex, SpilledSnapshot};
use crate::reuse_key::ReuseKey;
use crate::store::SnapshotKey;

const TTL: Duration = Duration::from_mins(1);
const CAPACITY: u64 = 100;
const ROOT: ViewId = [0; 5];

fn key(id: u8) -> SnapshotKey {
    SnapshotKey { scope: Scope::from_principal("ada"), id: [id; 6] }
}

fn reuse() -> ReuseKey {
    let endpoint =
        Endpoint { name: "list".into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
    ReuseKey::new(&endpoint, "{}")
}

fn index() -> SpillIndex {
    SpillIndex::new(CAPACITY * GRANULE_BYTES, TTL)
}

/// Inserts a snapshot of so many granules.
fn insert(index: &mut SpillIndex, id: u8, granules: usize, expires_at: Option<Instant>) {
    let content = index.allocate(granules * GRANULE_BYTES as usize).expect("there is room");
    let source = Source {
        endpoint: None,
        arguments: Some("{}".into()),
        rule: None,
        redaction: None,
        origin_snapshot: [id; 6],
        reuse_key: Some(reuse()),
    };
    let entry =
        SpilledSnapshot { content, view_ids: vec![ROOT], later_views: Vec::new(), source, expires_at };
    index.insert(key(id), entry);
}

fn insert_view(index: &mut SpillIndex, id: u8, view: u8) -> bool {
    let extent = index.allocate(1).expect("there is room");
    index.insert_view(&key(id), [view; 5], extent)
}

/// Returns the number of snapshots and of granules.
fn usage(index: &SpillIndex) -> (usize, u64) {
    let (snapshots, bytes) = index.usage();
    (snapshots, bytes / GRANULE_BYTES)
}

#[test]
fn space_is_freed_with_its_snapshot() {
    let (mut index, now) = (index(), Instant::now());
    insert(&mut index, 1, 5, Some(now + TTL));
    insert(&mut index, 2, 3, None);
    assert!(insert_view(&mut index, 1, 7) && insert_view(&mut index, 1, 8));
    assert_eq!((usage(&index), index.end()), ((2, 10), 10));
    // A newer version of the same.
    insert(&mut index, 1, 2, Some(now + TTL));
    assert_eq!(usage(&index), (2, 5));
    assert!(index.contains(&key(1)) && !index.contains(&key(3)));
    let other = SnapshotKey { scope: Scope::from_principal("bob"), ..key(1) };
    assert!(!index.contains(&other) && index.remove(&other).is_none());
    assert_eq!(index.remove(&key(1)).map(|source| source.origin_snapshot), Some([1; 6]));
    assert!(index.remove(&key(1)).is_none());
    assert!(index.remove(&key(2)).is_some());
    assert_eq!((usage(&index), index.end()), ((0, 0), 0));
    let extent = index.allocate((CAPACITY * GRANULE_BYTES) as usize).expect("all of it is free");
    assert!(index.allocate(1).is_none());
    index.release(&extent);
    assert_eq!(usage(&index), (0, 0));
}

#[test]
fn snapshots_expire_at_the_end_of_their_time() {
    let (mut index, now) = (index(), Instant::now());
    let nanosecond = Duration::from_nanos(1);
    insert(&mut index, 1, 1, Some(now + TTL));
    insert(&mut index, 2, 1, Some(now + 2 * TTL));
    insert(&mut index, 3, 1, None);
    assert!(index.expire(now + TTL.saturating_sub(nanosecond)).is_empty());
    let expired = index.expire(now + TTL);
    let ids: Vec<_> = expired
        .iter()
        .map(|(id, tombstone)| (*id, tombstone.scope, tombstone.arguments.as_deref()))
        .collect();
    assert_eq!(ids, [([1; 6], key(1).scope, Some("{}"))]);
    // A use restarts the time from the latest one, whatever time the caller has.
    let touched = index.touch(&key(2), ROOT, now).expect("it is there");
    assert_eq!(touched.expires_at, Some(now + 2 * TTL));
    let touched = index.touch(&key(2), ROOT, now + TTL + nanosecond).expect("it is there");
    assert_eq!(touched.expires_at, Some(now + 2 * TTL + nanosecond));
    assert!(index.expire(now + 2 * TTL).is_empty());
    assert_eq!(index.expire(now + 2 * TTL + nanosecond).len(), 1);
    assert!(index.expire(now + 1_000 * TTL).is_empty(), "the third never expires");
    assert!(index.touch(&key(2), ROOT, now).is_none());
    assert_eq!(index.ttl(), TTL);
}

#[test]
fn the_least_recently_used_view_goes_first() {
    let (mut index, now) = (index(), Instant::now());
    insert(&mut index, 1, 1, None);
    for view in 1..=32 {
        assert!(insert_view(&mut index, 1, view));
    }
    assert_eq!(usage(&index), (1, 33));
    let views = |index: &mut SpillIndex| -> Vec<u8> {
        let spilled = index.touch(&key(1), ROOT, now).expect("it is there");
        spilled.later_views.iter().map(|(id, _)| id[0]).collect()
    };
    assert_eq!(views(&mut index), (1..=32).collect::<Vec<_>>());
    // A view that is used, one that is written again, and a new one.
    let spilled = index.touch(&key(1), [1; 5], now).expect("it is there");
    assert!(spilled.has_view(ROOT) && spilled.has_view([1; 5]) && !spilled.has_view([33; 5]));
    assert!(insert_view(&mut index, 1, 3));
    assert_eq!(usage(&index), (1, 33));
    assert!(insert_view(&mut index, 1, 33));
    let expect: Vec<u8> = (4..=32).chain([1, 3, 33]).collect();
    assert_eq!(views(&mut index), expect);
    assert_eq!(usage(&index), (1, 33));
    assert!(!insert_view(&mut index, 2, 1), "its snapshot is not there");
    assert_eq!(usage(&index), (1, 33));
}

#[test]
fn a_reuse_key_belongs_to_the_latest_snapshot() {
    let mut index = index();
    let scope = key(1).scope;
    insert(&mut index, 1, 1, None);
    insert(&mut index, 2, 1, None);
    assert_eq!(index.reusable(&scope, reuse()), Some([2; 6]));
    assert_eq!(index.reusable(&Scope::from_principal("bob"), reuse()), None);
    assert_eq!((index.current_reuse_key(&key(1)), index.current_reuse_key(&key(2))), (None, Some(reuse())));
    index.remove(&key(1));
    assert_eq!(index.reusable(&scope, reuse()), Some([2; 6]), "it is not that of the first");
    index.forget_reuse(&scope, reuse());
    assert_eq!((index.reusable(&scope, reuse()), index.current_reuse_key(&key(2))), (None, None));
    insert(&mut index, 3, 1, None);
    index.remove(&key(3));
    assert_eq!(index.reusable(&scope, reuse()), None);
}
