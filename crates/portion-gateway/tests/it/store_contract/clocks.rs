//! When the results in a file expire, and what is removed then. The clock of the store is set by the tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use portion_core::cursor::Scope;
use portion_gateway::store::disk::DiskLimits;
use portion_gateway::store::{DiskStore, FieldName, SnapshotKey, SnapshotStore as _, StoreReadError};
use tempfile::TempDir;

use super::{key, named};

const TTL: Duration = Duration::from_mins(10);
const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_hours(1);
/// Bytes of each snapshot besides its header.
const EACH: usize = 10_000;

/// A directory, and the time of its stores.
struct Trial {
    root: TempDir,
    now: Arc<Mutex<Duration>>,
}

impl Trial {
    fn new() -> Self {
        let start = Duration::from_secs(1_000_000_000);
        Self { root: tempfile::tempdir().expect("a directory"), now: Arc::new(Mutex::new(start)) }
    }

    fn open(&self, bytes: u64) -> DiskStore {
        let now = Arc::clone(&self.now);
        let clock = Arc::new(move || *now.lock().expect("no panic"));
        let limits = DiskLimits { bytes, ttl: TTL };
        DiskStore::with_clock(self.root.path(), "server", limits, Some(clock)).expect("a directory")
    }

    fn pass(&self, by: Duration) {
        *self.now.lock().expect("no panic") += by;
    }
}

fn ada(id: u8) -> SnapshotKey {
    SnapshotKey { scope: Scope::from_principal("ada"), id: named(id) }
}

async fn put(store: &DiskStore, id: u8) {
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

/// The time of an earlier use ends as early as if the snapshot had been there.
#[tokio::test]
async fn a_snapshot_is_stored_with_the_time_of_its_last_use() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    let (fields, view) = (vec![(FieldName::Header, vec![1])], ([7; 5], vec![8]));
    store.put_whole(ada(1), fields, vec![view], TTL / 4).await.expect("there is room");
    trial.pass(TTL / 4 * 3);
    assert_eq!(store.touch(ada(1)).await, gone(1));
    put(&store, 2).await;
    store.expire().await;
    assert_eq!((store.touch(ada(1)).await, store.touch(ada(2)).await), (gone(1), Ok(())));
}

/// Expired snapshots make room, though nobody has removed them yet.
#[tokio::test]
async fn what_has_expired_makes_room_first() {
    let trial = Trial::new();
    let store = trial.open(45_000);
    for id in 0..4 {
        put(&store, id).await;
    }
    trial.pass(TTL / 2);
    assert_eq!(store.touch(ada(0)).await, Ok(()));
    trial.pass(TTL / 2);
    put(&store, 4).await;
    assert_eq!(store.touch(ada(0)).await, Ok(()));
    for id in 1..4 {
        assert_eq!(store.touch(ada(id)).await, gone(id));
    }
}

/// Two processes fill the file.
#[tokio::test]
async fn the_least_recently_used_goes_whoever_has_stored_it() {
    let trial = Trial::new();
    let (here, there) = (trial.open(45_000), trial.open(45_000));
    for (id, store) in [&here, &there, &there, &here, &here].into_iter().enumerate() {
        trial.pass(SECOND);
        put(store, id as u8).await;
    }
    assert_eq!(here.touch(ada(0)).await, gone(0));
    for id in 1..5 {
        assert_eq!(here.touch(ada(id)).await, Ok(()), "{id}");
    }
}

#[tokio::test]
async fn headers_of_what_is_gone_are_kept_for_a_day() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    put(&store, 1).await;
    trial.pass(TTL + 23 * HOUR);
    put(&store, 2).await;
    store.expire().await;
    assert_eq!((store.touch(ada(1)).await, store.touch(ada(2)).await), (gone(1), Ok(())));
    let read = store.get(ada(1), &[FieldName::Block(0)]).await;
    assert_eq!(read.map(drop), gone(1));
    trial.pass(HOUR);
    assert_eq!(store.touch(ada(2)).await, gone(2));
    put(&store, 3).await;
    store.expire().await;
    assert_eq!(store.touch(ada(1)).await, Err(StoreReadError::Unknown));
    assert_eq!(store.touch(ada(3)).await, Ok(()), "what is alive stays");
}

#[tokio::test]
async fn reuse_keys_that_lead_nowhere_are_removed() {
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
    assert_eq!(reusable().await, (Ok(Some(named(1))), Ok(Some(named(9)))));
    store.expire().await;
    assert_eq!(reusable().await, (Ok(Some(named(1))), Ok(None)));
    // Clearing one that is not there is no failure.
    for _ in 0..2 {
        assert_eq!(store.set_reusable(scope, key("{}"), None).await, Ok(()));
        assert_eq!(reusable().await, (Ok(None), Ok(None)));
    }
}

/// The space of what has expired is returned to the system, once the last process has closed the file.
#[tokio::test]
async fn the_file_shrinks() {
    let trial = Trial::new();
    let store = trial.open(1 << 30);
    for id in 0..100 {
        put(&store, id).await;
    }
    trial.pass(TTL);
    store.expire().await;
    drop(store);
    let bytes = trial.root.path().join("results.db").metadata().expect("a file").len();
    assert!(bytes < 100 << 10, "{bytes} bytes");
}

#[tokio::test]
async fn the_number_of_views_is_bounded() {
    let trial = Trial::new();
    let store = trial.open(1 << 20);
    put(&store, 1).await;
    let views: Vec<FieldName> = (0..70).map(|view| FieldName::View([view; 5])).collect();
    for view in 0..70 {
        store.put_view(ada(1), [view; 5], vec![view; 3]).await.expect("there is room");
        store.put_view(ada(1), [view; 5], vec![view; 3]).await.expect("there is room");
        // It is used, so that it stays.
        store.get(ada(1), &views[..1]).await.expect("it is there");
    }
    let read = store.get(ada(1), &views).await.expect("it is there");
    let kept: Vec<usize> = (0..70).filter(|view| read[*view].is_some()).collect();
    assert_eq!(kept, [vec![0], (7..70).collect()].concat());
}
