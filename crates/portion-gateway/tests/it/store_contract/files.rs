//! The store in a directory: it obeys the contract, also without memory in front of it; its files are private,
//! bounded, shared by instances, and a damaged one is no snapshot.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_gateway::store::disk::DiskLimits;
use portion_gateway::store::{
    CachedStore, DiskStore, Extent, FieldName, MemoryStore, SnapshotKey, SnapshotStore as _, StoreLimits,
    StoreLookupError, StoreReadError, StoreWriteError, StoredSnapshot,
};
use tempfile::TempDir;

use super::{Trial, contract, named};
use crate::samples::{drawer, drawers, list_bookings};

const LIMITS: DiskLimits = DiskLimits { bytes: 64 << 20, ttl: Duration::from_mins(10) };

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// A store in `root`, behind this much memory.
pub(super) fn store(root: &Path, memory_bytes: usize) -> CachedStore {
    let file = DiskStore::open(root, "server", LIMITS).expect("a directory");
    let limits = StoreLimits { memory_bytes, ..StoreLimits::default() };
    CachedStore::new(MemoryStore::new(limits), Arc::new(file))
}

async fn check_contract(memory_bytes: usize) {
    let root = directory();
    let passed = Arc::new(Mutex::new(Duration::ZERO));
    let elapsed = Arc::clone(&passed);
    let clock = Arc::new(move || Duration::from_hours(1) + *elapsed.lock().expect("no panic"));
    let file = DiskStore::with_clock(root.path(), "server", LIMITS, Some(clock)).expect("a directory");
    let limits = StoreLimits { memory_bytes, ..StoreLimits::default() };
    let store = CachedStore::new(MemoryStore::new(limits), Arc::new(file));
    let start = Instant::now();
    let pass = Box::new(move |by| {
        let mut passed = passed.lock().expect("no panic");
        *passed += by;
        start + *passed
    });
    contract(Trial { store: &store, ttl: limits.ttl, pass }).await;
}

#[tokio::test]
async fn files_behind_memory() {
    check_contract(StoreLimits::default().memory_bytes).await;
}

#[tokio::test]
async fn files_without_memory() {
    check_contract(0).await;
}

pub(super) async fn put(
    store: &CachedStore,
    scope: &Scope,
    id: u8,
    snapshot: &Arc<Snapshot>,
) -> Result<(), StoreWriteError> {
    let new = StoredSnapshot {
        endpoint: Some(Arc::new(list_bookings())),
        ..StoredSnapshot::new(named(id), Arc::clone(snapshot))
    };
    store.put(scope, new, Instant::now()).await
}

fn flush(store: &CachedStore) {
    assert!(store.flush(Duration::from_mins(1)), "the store is not written");
}

/// Two instances find each other's snapshots.
#[tokio::test]
async fn instances_share_what_they_store() {
    let (root, scope, snapshot) = (directory(), Scope::from_principal("ada"), Arc::new(drawers(200)));
    let (here, there) = (store(root.path(), 1 << 20), store(root.path(), 1 << 20));
    let (first, second) = (drawer(&snapshot, 0), drawer(&snapshot, 1));
    put(&here, &scope, 1, &snapshot).await.expect("there is room");
    here.put_view(&scope, named(1), (&snapshot, first.clone()), Instant::now()).await.expect("it is small");
    flush(&here);
    let stored = there.find(&scope, named(1), first.id(), Instant::now()).await.expect("it is stored");
    assert_eq!(stored.snapshot.parts()[0].text(), snapshot.parts()[0].text());
    assert_eq!(stored.view.encode(&stored.snapshot), first.encode(&snapshot));
    assert_eq!(stored.endpoint.as_deref(), Some(&list_bookings()));
    there
        .put_view(&scope, named(1), (&stored.snapshot, second.clone()), Instant::now())
        .await
        .expect("it is small");
    flush(&there);
    let stored = here.find(&scope, named(1), second.id(), Instant::now()).await.expect("it is stored");
    assert_eq!(stored.view.id(), second.id());
}

/// A view that another instance is still writing is waited for, whether the snapshot is in memory or not.
#[tokio::test]
async fn a_view_that_is_being_written_is_waited_for() {
    for memory_bytes in [0, 1 << 20] {
        let (root, scope, snapshot) = (directory(), Scope::from_principal("ada"), Arc::new(drawers(200)));
        let (here, there) = (store(root.path(), memory_bytes), store(root.path(), memory_bytes));
        put(&here, &scope, 1, &snapshot).await.expect("there is room");
        flush(&here);
        there.find(&scope, named(1), View::root().id(), Instant::now()).await.expect("it is stored");
        let view = drawer(&snapshot, 0);
        let write_late = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let written = here.put_view(&scope, named(1), (&snapshot, view.clone()), Instant::now()).await;
            written.expect("it is small");
        };
        let find = there.find(&scope, named(1), view.id(), Instant::now());
        let (found, ()) = tokio::join!(find, write_late);
        assert_eq!(found.expect("it is written meanwhile").view.id(), view.id());
    }
}

/// Servers share a directory, but nothing in it.
#[tokio::test]
async fn another_server_finds_nothing() {
    let (root, scope, snapshot) = (directory(), Scope::from_principal("ada"), Arc::new(drawers(3)));
    let here = store(root.path(), 0);
    put(&here, &scope, 1, &snapshot).await.expect("there is room");
    let other = DiskStore::open(root.path(), "another server", LIMITS).expect("a directory");
    let key = SnapshotKey { scope, id: named(1) };
    assert_eq!(other.get(key, &[FieldName::Meta]).await, Err(StoreReadError::Unknown));
}

fn files(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()).collect()
}

/// The file with the results.
pub(super) fn database(root: &Path) -> PathBuf {
    root.join("results.db")
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let (root, scope, snapshot) = (directory(), Scope::from_principal("ada"), Arc::new(drawers(3)));
    let root = root.path().join("snapshots");
    let store = store(&root, 0);
    put(&store, &scope, 1, &snapshot).await.expect("there is room");
    store
        .put_view(&scope, named(1), (&snapshot, drawer(&snapshot, 0)), Instant::now())
        .await
        .expect("it is small");
    portion_gateway::store::disk::load_or_create_secret(&root, "cursors").expect("it is created");
    let files = files(&root);
    assert!(files.len() >= 4, "{files:?}");
    for path in files.iter().chain([&root]) {
        let mode = path.metadata().expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
    }
}

/// Root is refused as well.
#[cfg(unix)]
#[test]
fn a_directory_of_others_is_refused() {
    use portion_gateway::store::disk::load_or_create_secret;
    use std::os::unix::fs::{PermissionsExt as _, chown};
    let refused = |root: &Path| {
        let store = DiskStore::open(root, "server", LIMITS).err().expect("it is not the user's own");
        let secret = load_or_create_secret(root, "cursors").expect_err("it is not the user's own");
        assert_eq!(secret.to_string(), store.to_string());
        store.to_string()
    };
    for mode in [0o777, 0o770, 0o722, 0o1777, 0o2775] {
        let root = directory();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(mode)).expect("it is ours");
        let told = refused(root.path());
        assert!(told.contains(&format!("chmod 700 {}", root.path().display())), "{told}");
        assert_eq!(fs::read_dir(root.path()).expect("a directory").count(), 0, "nothing is written");
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        DiskStore::open(root.path(), "server", LIMITS).expect("others cannot write to it");
    }
    let given = directory();
    // Only root can give it away. To others, the root directory belongs to another user.
    let is_given = chown(given.path(), Some(12_345), None).is_ok();
    let told = refused(if is_given { given.path() } else { Path::new("/") });
    assert!(told.contains("belongs to user") && told.contains("run as user"), "{told}");
}

/// The oldest snapshots go before the directory outgrows its limit, and one beyond the limit is refused.
#[tokio::test]
async fn the_directory_is_bounded() {
    let root = directory();
    let limits = DiskLimits { bytes: 40_000, ..LIMITS };
    let file = DiskStore::open(root.path(), "server", limits).expect("a directory");
    let memory = MemoryStore::new(StoreLimits { memory_bytes: 0, ..StoreLimits::default() });
    let store = CachedStore::new(memory, Arc::new(file));
    let (scope, snapshot) = (Scope::from_principal("ada"), Arc::new(drawers(500)));
    for id in 0..100 {
        put(&store, &scope, id, &snapshot).await.expect("others go");
    }
    let connection = rusqlite::Connection::open(database(root.path())).expect("a database");
    let bytes = "SELECT sum(length(value)) FROM fields JOIN snapshots ON row = snapshot WHERE NOT gone";
    let bytes: i64 = connection.query_row(bytes, [], |row| row.get(0)).expect("a number");
    assert!((1..=40_000).contains(&bytes), "{bytes} bytes");
    let find = async |id| store.find(&scope, named(id), View::root().id(), Instant::now()).await;
    find(99).await.expect("it is the latest");
    let gone = find(0).await;
    assert!(matches!(gone, Err(StoreLookupError::SnapshotGone { .. })), "{gone:?}");
    let refused = put(&store, &scope, 100, &Arc::new(drawers(60_000))).await;
    assert!(matches!(refused, Err(StoreWriteError::NoCapacity { room: 40_000, .. })), "{refused:?}");
}

/// A page leaves out blocks of a large snapshot. What needs them gets a whole one, and what does not reads nothing again.
#[tokio::test]
async fn blocks_are_missing_only_where_they_are_not_needed() {
    let (root, scope, snapshot) = (directory(), Scope::from_principal("ada"), Arc::new(drawers(60_000)));
    let here = store(root.path(), 1 << 30);
    put(&here, &scope, 1, &snapshot).await.expect("there is room");
    let views = [drawer(&snapshot, 7), drawer(&snapshot, 8)];
    for view in &views {
        let view = (&snapshot, view.clone());
        here.put_view(&scope, named(1), view, Instant::now()).await.expect("there is room");
    }
    assert!(here.flush(Duration::from_mins(1)));
    let there = store(root.path(), 1 << 30);
    let find = async |view: &View, extent| {
        let found = there.find_extent(&scope, named(1), (view.id(), extent), Instant::now()).await;
        found.expect("it is stored").snapshot
    };
    for _ in 0..2 {
        assert!(find(&View::root(), Extent::Page).await.is_partial(), "it has more than a page needs");
    }
    let selected = find(&views[0], Extent::Page).await;
    assert!(!selected.is_partial(), "a selection needs all of it");
    for view in [&views[1], &View::root()] {
        assert!(Arc::ptr_eq(&find(view, Extent::Page).await, &selected), "it is in memory");
    }
    let there = store(root.path(), 1 << 30);
    let find = async |extent| {
        let found = there.find_extent(&scope, named(1), (View::root().id(), extent), Instant::now()).await;
        found.expect("it is stored").snapshot.is_partial()
    };
    assert_eq!(
        (find(Extent::Page).await, find(Extent::Whole).await, find(Extent::Page).await),
        (true, false, false)
    );
}

#[tokio::test]
async fn the_memory_alone_has_no_state_of_a_store() {
    assert!(CachedStore::from(Arc::new(MemoryStore::default())).backend_status().is_none());
    assert!(store(directory().path(), 0).backend_status().is_some_and(|status| status.is_available));
}

/// Many results at once, among follow-ups of them: each is written.
#[tokio::test]
async fn a_burst_of_results_is_written() {
    const RESULTS: u32 = 1_000;
    let (root, scope, snapshot) = (directory(), Scope::from_principal("ada"), Arc::new(drawers(40)));
    let here = store(root.path(), 1 << 30);
    let id = |number: u32| std::array::from_fn(|at| number.to_be_bytes().get(at).copied().unwrap_or(1));
    for number in 0..RESULTS {
        let new = StoredSnapshot::new(id(number), Arc::clone(&snapshot));
        here.put(&scope, new, Instant::now()).await.expect("there is room");
        for earlier in number.saturating_sub(3)..=number {
            here.find(&scope, id(earlier), View::root().id(), Instant::now()).await.expect("it is in memory");
        }
    }
    assert!(here.flush(Duration::from_mins(1)));
    let file = DiskStore::open(root.path(), "server", LIMITS).expect("a directory");
    for number in 0..RESULTS {
        let stored = file.get(SnapshotKey { scope, id: id(number) }, &[FieldName::Meta]).await;
        assert!(stored.is_ok(), "{number}: {stored:?}");
    }
}

#[tokio::test]
async fn a_snapshot_as_large_as_the_limit_is_stored() {
    let root = directory();
    let limits = DiskLimits { bytes: 1_000, ..LIMITS };
    let file = DiskStore::open(root.path(), "server", limits).expect("a directory");
    let key = SnapshotKey { scope: Scope::from_principal("ada"), id: named(1) };
    file.put(key, vec![(FieldName::Meta, vec![1; 1_000])]).await.expect("there is room");
    let refused = file.put(key, vec![(FieldName::Meta, vec![1; 1_001])]).await;
    assert_eq!(refused, Err(StoreWriteError::NoCapacity { bytes: 1_001, room: 1_000 }));
}

/// A damaged file gives the error of a snapshot that is gone, or the whole snapshot, and is written again.
#[tokio::test]
async fn damage_is_noticed() {
    let (root, scope, snapshot) = (directory(), Scope::from_principal("ada"), Arc::new(drawers(40)));
    put(&store(root.path(), 0), &scope, 1, &snapshot).await.expect("there is room");
    let path = database(root.path());
    let whole = fs::read(&path).expect("a file");
    assert!(!root.path().join("results.db-wal").exists(), "all is in the file once nobody has it open");
    let find = async || store(root.path(), 0).find(&scope, named(1), View::root().id(), Instant::now()).await;
    let damages = (0..whole.len()).step_by(397).map(|at| {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        damaged
    });
    let lengths = [0, 10, 1_000, whole.len() / 2, whole.len() - 1];
    for (number, damaged) in damages.chain(lengths.map(|len| whole[..len].to_vec())).enumerate() {
        fs::write(&path, damaged).expect("it can be written");
        if let Ok(stored) = find().await {
            assert_eq!(stored.snapshot.parts()[0].text(), snapshot.parts()[0].text(), "damage {number}");
        } else {
            put(&store(root.path(), 0), &scope, 1, &snapshot).await.expect("it is written again");
            find().await.expect("it is whole again");
        }
    }
    fs::write(&path, &whole).expect("it can be written");
    find().await.expect("it is whole again");
}
