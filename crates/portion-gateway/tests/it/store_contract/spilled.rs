//! Memory in front of a temporary file: it obeys the contract, loses nothing while the file has room, and a file that
//! cannot be used fails no request.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::view::View;
use portion_gateway::store::spill::{FileOpener, SpillingStore, unlinked_in};
use portion_gateway::store::{CachedStore, NewSnapshot, StoreLimits, StoreLookupError, StoreWriteError};

use super::files::put;
use super::{Trial, contract, key, named, run};
use crate::samples::lines::Lines;
use crate::samples::{drawer, drawers};

/// Room for four of the snapshots below.
const MEMORY: usize = 48 << 10;
const DISK: u64 = 64 << 20;

fn temporary() -> FileOpener {
    unlinked_in(vec![std::env::temp_dir()])
}

fn spilling(memory_bytes: usize, disk_bytes: u64, open: FileOpener) -> CachedStore {
    let limits = StoreLimits { memory_bytes, ttl: Duration::from_mins(10) };
    SpillingStore::new(limits, disk_bytes, open).into()
}

async fn check_contract(memory_bytes: usize) {
    let store = spilling(memory_bytes, DISK, temporary());
    let mut now = Instant::now();
    let pass = Box::new(move |by| {
        now += by;
        now
    });
    contract(Trial { store: &store, ttl: Duration::from_mins(10), pass }).await;
}

#[tokio::test]
async fn a_file_behind_memory() {
    check_contract(StoreLimits::default().memory_bytes).await;
}

#[tokio::test]
async fn a_file_behind_little_memory() {
    check_contract(128 << 10).await;
}

#[tokio::test]
async fn a_file_without_memory() {
    check_contract(0).await;
}

/// The first two fill the memory twice, the third ten times.
#[tokio::test]
async fn nothing_is_lost_before_its_time_while_the_file_has_room() {
    for (callers, each) in [(1, 10), (5, 2), (3, 16)] {
        let store = spilling(MEMORY, DISK, temporary());
        let (now, snapshot) = (Instant::now(), Arc::new(drawers(400)));
        let scopes: Vec<Scope> =
            (0..callers).map(|n| Scope::from_principal(&format!("caller {n}"))).collect();
        for id in 0..each {
            for scope in &scopes {
                let id = id + 16 * scopes.iter().position(|other| other == scope).unwrap_or(0) as u8;
                put(&store, scope, id, &snapshot).await.expect("there is room on disk");
                let view = drawer(&snapshot, usize::from(id));
                store
                    .put_view(scope, named(id), (&snapshot, view), now)
                    .await
                    .expect("there is room on disk");
            }
        }
        let stats = store.stats(now);
        assert!(stats.bytes <= MEMORY && stats.spilled > 0, "{stats:?}");
        assert_eq!(stats.snapshots + stats.spilled, callers * usize::from(each));
        for (owner, scope) in scopes.iter().enumerate() {
            for id in 0..each {
                let id = id + 16 * owner as u8;
                for view in [View::root(), drawer(&snapshot, usize::from(id))] {
                    let found = store.find(scope, named(id), view.id(), now).await.expect("it is kept");
                    assert_eq!(found.view.id(), view.id());
                    assert_eq!(found.snapshot.payload_bytes(), snapshot.payload_bytes());
                    assert_eq!(found.snapshot.parts()[0].text(), snapshot.parts()[0].text());
                }
            }
        }
        assert_eq!((store.stats(now).evicted, store.stats(now).refused), (0, 0));
        let stats = store.stats(now + Duration::from_mins(11));
        assert_eq!((stats.snapshots, stats.spilled, stats.spilled_bytes), (0, 0, 0));
        assert_eq!(stats.expired, (callers * usize::from(each)) as u64);
        put(&store, &scopes[0], 250, &snapshot).await.expect("the space is used again");
    }
}

/// A refused snapshot is never found, and an accepted one always is.
async fn nothing_is_lost_when_there_is_no_room(disk_bytes: u64, open: FileOpener) {
    let store = spilling(MEMORY, disk_bytes, open);
    let (scope, now, snapshot) = (Scope::from_principal("ada"), Instant::now(), Arc::new(drawers(400)));
    let mut kept = Vec::new();
    for id in 0..40 {
        match put(&store, &scope, id, &snapshot).await {
            Ok(()) => kept.push(id),
            Err(error) => assert!(matches!(error, StoreWriteError::NoCapacity { .. }), "{error}"),
        }
    }
    let stats = store.stats(now);
    assert!(!kept.is_empty() && kept.len() < 40, "{stats:?}");
    assert_eq!((stats.evicted, stats.refused), (0, 40 - kept.len() as u64));
    for id in 0..40 {
        let found = store.find(&scope, named(id), View::root().id(), now).await;
        assert_eq!(found.is_ok(), kept.contains(&id), "{found:?}");
    }
    // Another caller has its share of the memory, even if the file is full.
    let another = Scope::from_principal("bob");
    put(&store, &another, 50, &snapshot).await.expect("there is a share for everybody");
    store.find(&another, named(50), View::root().id(), now).await.expect("it was put");
}

#[tokio::test]
async fn what_has_left_the_memory_still_answers_equal_calls() {
    let store = spilling(MEMORY, DISK, temporary());
    let (scope, now, snapshot) = (Scope::from_principal("ada"), Instant::now(), Arc::new(drawers(400)));
    let first =
        NewSnapshot { reuse_key: Some(key("{}")), ..NewSnapshot::new(named(100), Arc::clone(&snapshot)) };
    store.put(&scope, first, now).await.expect("there is room");
    for id in 0..40 {
        let other = NewSnapshot::new(named(id), Arc::clone(&snapshot));
        store.put(&scope, other, now).await.expect("there is room");
    }
    assert!(store.stats(now).spilled > 0);
    // The first time it returns to memory.
    for _ in 0..2 {
        let found = store.find_reusable(&scope, key("{}"), now).await;
        assert_eq!(found.map(|held| held.id), Some(named(100)));
    }
}

#[tokio::test]
async fn what_is_in_the_file_is_counted() {
    let store = spilling(0, DISK, temporary());
    let (scope, now, snapshot) = (Scope::from_principal("ada"), Instant::now(), Arc::new(drawers(400)));
    for id in 1..4 {
        put(&store, &scope, id, &snapshot).await.expect("there is room");
        let stats = store.stats(now);
        assert_eq!(stats.spilled, usize::from(id));
        // A granule has 4 KiB.
        assert!(stats.spilled_bytes >= 4096 * u64::from(id), "{stats:?}");
    }
}

#[tokio::test]
async fn a_small_file() {
    nothing_is_lost_when_there_is_no_room(64 << 10, temporary()).await;
}

#[tokio::test]
async fn a_directory_that_does_not_exist() {
    nothing_is_lost_when_there_is_no_room(DISK, unlinked_in(vec![PathBuf::from("/nonexistent/portion")]))
        .await;
    nothing_is_lost_when_there_is_no_room(DISK, unlinked_in(Vec::new())).await;
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let lines = Lines::default();
    let guard = tracing::subscriber::set_default(lines.clone());
    let full = || OpenOptions::new().read(true).write(true).open("/dev/full");
    run(nothing_is_lost_when_there_is_no_room(DISK, Arc::new(full)));
    drop(guard);
    assert_eq!(lines.text().matches("cannot be moved to disk").count(), 1, "{}", lines.text());
}

/// Everything that is written is lost: then the cursor has expired, and the error names the call.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_returns_other_bytes() {
    let zeros = || OpenOptions::new().read(true).write(true).open("/dev/zero");
    let store = spilling(0, DISK, Arc::new(zeros));
    let (scope, now, snapshot) = (Scope::from_principal("ada"), Instant::now(), Arc::new(drawers(400)));
    put(&store, &scope, 1, &snapshot).await.expect("it was written");
    let found = store.find(&scope, named(1), View::root().id(), now).await;
    assert!(matches!(&found, Err(StoreLookupError::SnapshotGone { endpoint: Some(_), .. })), "{found:?}");
    assert_eq!(store.stats(now).spilled, 0);
}
