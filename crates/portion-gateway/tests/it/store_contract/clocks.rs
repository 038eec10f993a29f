//! When the files of a store expire, are counted again, and are removed. The clock of the store is set by the tests, and so
//! are the modification times of files that have the time of the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use portion_core::cursor::Scope;
use portion_gateway::store::file::FileStoreLimits;
use portion_gateway::store::{FieldName, FileStore, SnapshotKey, SnapshotStore as _, StoreReadError};
use tempfile::TempDir;

use super::{key, named};

const TTL: Duration = Duration::from_mins(10);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);
/// Bytes of each snapshot, without the table of its fields.
const EACH: usize = 10_000;

/// A directory, and the time of its stores.
struct Trial {
    root: TempDir,
    now: Arc<Mutex<SystemTime>>,
}

impl Trial {
    fn new() -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        Self { root: tempfile::tempdir().expect("a directory"), now: Arc::new(Mutex::new(start)) }
    }

    fn open(&self, bytes: u64) -> FileStore {
        let now = Arc::clone(&self.now);
        let clock = Arc::new(move || *now.lock().expect("no panic"));
        let limits = FileStoreLimits { bytes, ttl: TTL };
        FileStore::with_clock(self.root.path(), "server", limits, clock).expect("a directory")
    }

    fn pass(&self, by: Duration) {
        *self.now.lock().expect("no panic") += by;
    }

    /// Returns the files and directories at a depth: 0 has the scopes, 1 the snapshots and what is beside them.
    fn paths(&self, depth: usize) -> Vec<PathBuf> {
        let is_scope = |path: &PathBuf| path.file_name().is_some_and(|name| name.len() == 64);
        let scopes = entries(self.root.path()).into_iter().filter(is_scope).collect();
        (0..depth)
            .fold(scopes, |paths: Vec<PathBuf>, _| paths.iter().flat_map(|path| entries(path)).collect())
    }

    /// Makes the files beside the snapshots as old as this.
    fn age(&self, age: Duration) {
        self.paths(1).iter().filter(|path| path.is_file()).for_each(|path| set_age(path, age));
    }
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn set_age(path: &Path, age: Duration) {
    let file = fs::File::options().write(true).open(path).expect("a file");
    file.set_modified(SystemTime::now() - age).expect("it is ours");
}

fn ada(id: u8) -> SnapshotKey {
    SnapshotKey { scope: Scope::from_principal("ada"), id: named(id) }
}

async fn put(store: &FileStore, id: u8) {
    let fields = vec![(FieldName::Header, vec![id]), (FieldName::Block(0), vec![id; EACH])];
    store.put(ada(id), fields).await.expect("there is room");
}

fn gone(id: u8) -> Result<(), StoreReadError> {
    Err(StoreReadError::SnapshotGone { header: vec![id] })
}

#[tokio::test]
async fn a_use_restarts_the_time_to_live_and_its_end_is_exact() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    put(&store, 1).await;
    put(&store, 2).await;
    trial.pass(TTL.saturating_sub(SECOND));
    assert_eq!(store.touch(ada(1)).await, Ok(()));
    trial.pass(SECOND);
    assert_eq!(store.touch(ada(2)).await, gone(2));
    trial.pass(TTL.saturating_sub(2 * SECOND));
    let read = store.get(ada(1), &[FieldName::Header, FieldName::Block(1)]).await;
    assert_eq!(read, Ok(vec![Some(vec![1]), None]));
    trial.pass(TTL);
    assert_eq!(store.touch(ada(1)).await, gone(1));
    assert_eq!(store.get(ada(1), &[FieldName::Header]).await.map(drop), gone(1));
    assert_eq!(store.touch(ada(3)).await, Err(StoreReadError::Unknown));
}

/// Snapshots that others store are counted after half a minute.
#[tokio::test]
async fn the_directory_is_counted_again_after_a_while() {
    for (wait, expect) in [(Duration::from_secs(29), 5), (Duration::from_secs(30), 4)] {
        let trial = Trial::new();
        let (here, there) = (trial.open(45_000), trial.open(45_000));
        put(&here, 1).await;
        put(&there, 2).await;
        put(&there, 3).await;
        put(&here, 4).await;
        trial.pass(wait);
        put(&here, 5).await;
        let snapshots = trial.paths(1).iter().filter(|path| path.is_dir()).count();
        assert_eq!(snapshots, expect, "after {wait:?}");
        assert_eq!(here.touch(ada(5)).await, Ok(()));
    }
}

#[tokio::test]
async fn what_a_store_writes_itself_is_counted_at_once() {
    let trial = Trial::new();
    let store = trial.open(45_000);
    for id in 0..20 {
        put(&store, id).await;
        let bytes: u64 = trial.paths(2).iter().map(|file| file.metadata().expect("a file").len()).sum();
        assert!(bytes <= 45_000 + 4 * 100, "{bytes} bytes after {id}");
    }
    assert_eq!(trial.paths(1).iter().filter(|path| path.is_dir()).count(), 4);
}

#[tokio::test]
async fn headers_of_what_is_gone_are_kept_for_a_day() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    put(&store, 1).await;
    trial.pass(TTL);
    put(&store, 2).await;
    store.expire().await;
    assert_eq!((store.touch(ada(1)).await, store.touch(ada(2)).await), (gone(1), Ok(())));
    trial.age(23 * HOUR);
    store.expire().await;
    assert_eq!(store.touch(ada(1)).await, gone(1));
    trial.age(25 * HOUR);
    store.expire().await;
    assert_eq!(store.touch(ada(1)).await, Err(StoreReadError::Unknown));
    assert_eq!(store.touch(ada(2)).await, Ok(()), "what is alive stays");
}

#[tokio::test]
async fn reuse_keys_that_lead_nowhere_are_removed_after_an_hour() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    let scope = Scope::from_principal("ada");
    put(&store, 1).await;
    for (arguments, id) in [("{}", 1), ("[]", 9)] {
        store.set_reusable(scope, key(arguments), Some(named(id))).await.expect("there is room");
    }
    let reusable = async || {
        let [here, nowhere] = ["{}", "[]"].map(key);
        (store.reusable(scope, here).await, store.reusable(scope, nowhere).await)
    };
    trial.age(HOUR / 2);
    store.expire().await;
    assert_eq!(reusable().await, (Ok(Some(named(1))), Ok(Some(named(9)))));
    trial.age(2 * HOUR);
    store.expire().await;
    assert_eq!(reusable().await, (Ok(Some(named(1))), Ok(None)));
    // Clearing one that is not there is no failure.
    for _ in 0..2 {
        assert_eq!(store.set_reusable(scope, key("{}"), None).await, Ok(()));
        assert_eq!(reusable().await, (Ok(None), Ok(None)));
    }
}

#[tokio::test]
async fn directories_of_scopes_go_with_their_last_file() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    put(&store, 1).await;
    store.expire().await;
    assert_eq!(trial.paths(0).len(), 1);
    trial.pass(TTL);
    store.expire().await;
    assert_eq!((trial.paths(0).len(), trial.paths(1).len()), (1, 1), "the header is left");
    trial.age(25 * HOUR);
    store.expire().await;
    assert_eq!(trial.paths(0).len(), 0);
}

#[cfg(unix)]
#[tokio::test]
async fn what_was_begun_and_left_is_removed_after_an_hour() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    put(&store, 1).await;
    let directory = trial.root.path().join("tmp");
    let (young, old) = (directory.join("young"), directory.join("old"));
    fs::write(&young, "x").expect("it can be written");
    fs::write(&old, "x").expect("it can be written");
    set_age(&young, HOUR / 2);
    set_age(&old, 2 * HOUR);
    store.expire().await;
    assert_eq!(entries(&directory), [young]);
}

#[tokio::test]
async fn the_number_of_views_is_bounded() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    put(&store, 1).await;
    for view in 0..70 {
        store.put_view(ada(1), [view; 5], vec![view; 3]).await.expect("there is room");
        // A view that is there already is not written again.
        store.put_view(ada(1), [view; 5], vec![view; 3]).await.expect("there is room");
        // The file with the fields is beside them.
        assert_eq!(trial.paths(2).len(), 1 + usize::from(view + 1).min(64), "view {view}");
    }
    let read = store.get(ada(1), &[FieldName::View([69; 5]), FieldName::View([70; 5])]).await;
    assert_eq!(read, Ok(vec![Some(vec![69; 3]), None]));
}
