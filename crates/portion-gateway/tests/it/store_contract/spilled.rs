//! Memory in front of a temporary file: it obeys the contract, loses nothing while the file has room, and a file that
//! cannot be used fails no request.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::snapshot::capture;
use portion_core::view::View;
use portion_gateway::store::disk::DiskLimits;
use portion_gateway::store::{CachedStore, DiskStore, StoreLimits, StoreWriteError, StoredSnapshot};

use super::files::put;
use super::{Trial, contract, key, named};
use crate::samples::lines::Lines;
use crate::samples::{drawer, drawers, text as text_payload};

/// Room for four of the snapshots below.
const MEMORY: usize = 48 << 10;
const DISK: u64 = 64 << 20;
const TTL: Duration = Duration::from_mins(10);
const WRITE_TIME: Duration = Duration::from_mins(1);

/// A store, and what moves its clocks on.
fn spilling(memory_bytes: usize, disk_bytes: u64) -> (CachedStore, impl FnMut(Duration) -> Instant) {
    let (start, passed) = (Instant::now(), Arc::new(Mutex::new(Duration::ZERO)));
    let elapsed = Arc::clone(&passed);
    let clock = Arc::new(move || Duration::from_hours(1) + *elapsed.lock().expect("no panic"));
    let disk = DiskStore::temporary(DiskLimits { bytes: disk_bytes, ttl: TTL }, Some(clock));
    let store = CachedStore::with_temporary_file(StoreLimits { memory_bytes, ttl: TTL }, disk);
    let pass = move |by| {
        let mut passed = passed.lock().expect("no panic");
        *passed += by;
        start + *passed
    };
    (store, pass)
}

async fn check_contract(memory_bytes: usize) {
    let (store, pass) = spilling(memory_bytes, DISK);
    contract(Trial { store: &store, ttl: TTL, pass: Box::new(pass) }).await;
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
        let (store, mut pass) = spilling(MEMORY, DISK);
        let (now, snapshot) = (pass(Duration::ZERO), Arc::new(drawers(400)));
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
        assert!(stats.snapshots + stats.spilled >= callers * usize::from(each), "{stats:?}");
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
        assert!(store.flush(WRITE_TIME));
        let end = pass(TTL + Duration::from_mins(1));
        let stats = store.stats(end);
        assert_eq!((stats.snapshots, stats.spilled, stats.spilled_bytes), (0, 0, 0));
        assert!(store.flush(WRITE_TIME));
        assert_eq!(store.stats(end).expired, (callers * usize::from(each)) as u64);
        put(&store, &scopes[0], 250, &snapshot).await.expect("the space is used again");
    }
}

/// A refused snapshot is never found, and an accepted one always is.
async fn nothing_is_lost_when_there_is_no_room(disk_bytes: u64) {
    let (store, _) = spilling(MEMORY, disk_bytes);
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
    let (store, _) = spilling(MEMORY, DISK);
    let (scope, now, snapshot) = (Scope::from_principal("ada"), Instant::now(), Arc::new(drawers(400)));
    let first = StoredSnapshot {
        reuse_key: Some(key("{}")),
        ..StoredSnapshot::new(named(100), Arc::clone(&snapshot))
    };
    store.put(&scope, first, now).await.expect("there is room");
    for id in 0..40 {
        let other = StoredSnapshot::new(named(id), Arc::clone(&snapshot));
        store.put(&scope, other, now).await.expect("there is room");
    }
    assert!(store.stats(now).spilled > 0);
    // The first time it returns to memory.
    for _ in 0..2 {
        let found = store.find_reusable(&scope, key("{}"), now).await;
        assert_eq!(found.map(|stored| stored.id), Some(named(100)));
    }
}

#[tokio::test]
async fn what_is_in_the_file_is_counted() {
    let (store, _) = spilling(0, DISK);
    let (scope, now, snapshot) = (Scope::from_principal("ada"), Instant::now(), Arc::new(drawers(400)));
    for id in 1..4 {
        put(&store, &scope, id, &snapshot).await.expect("there is room");
        let stats = store.stats(now);
        assert_eq!(stats.spilled, usize::from(id));
        assert!(stats.spilled_bytes >= 1_000 * u64::from(id), "{stats:?}");
    }
}

#[tokio::test]
async fn a_small_file() {
    nothing_is_lost_when_there_is_no_room(64 << 10).await;
}

/// A file of no bytes takes nothing, as one that cannot be opened.
#[tokio::test]
async fn no_file() {
    nothing_is_lost_when_there_is_no_room(0).await;
}

/// A limit of the process stands for a full disk: it is in force in a process of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    const CHILD: &str = "PORTION_TEST_FULL_DISK";
    if std::env::var_os(CHILD).is_none() {
        let program = std::env::current_exe().expect("a program");
        let name = "store_contract::spilled::a_full_disk";
        let command = format!("trap '' XFSZ; ulimit -f 0; exec '{}' --exact {name}", program.display());
        let run = std::process::Command::new("sh").args(["-c", &command]).env(CHILD, "1").output();
        let run = run.expect("a shell");
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
        return;
    }
    let lines = Lines::default();
    tracing::subscriber::set_global_default(lines.clone()).expect("it is the only one");
    // Writes are waited for.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(full_disk());
    assert_eq!(lines.text().matches("cannot be moved to disk").count(), 1, "{}", lines.text());
}

#[cfg(target_os = "linux")]
async fn full_disk() {
    let (store, _) = spilling(MEMORY, DISK);
    let (scope, now) = (Scope::from_principal("ada"), Instant::now());
    let mut random = 1_u64;
    let mut noise = || {
        std::iter::repeat_with(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + (random >> 33) as u8 % 90)
        })
        .take(40_000)
        .collect::<String>()
    };
    let mut kept = Vec::new();
    for id in 0..60 {
        let text = noise();
        if put(&store, &scope, id, &Arc::new(capture(text_payload(text.clone())))).await.is_ok() {
            kept.push((id, text));
        }
    }
    // The first ones are in the memory of the database.
    assert!((1..60).contains(&kept.len()), "{} are kept", kept.len());
    for (id, text) in kept {
        let found = store.find(&scope, named(id), View::root().id(), now).await.expect("it was kept");
        assert!(found.snapshot.parts()[0].text() == text, "{id}");
    }
}
