//! Two instances with a store in one directory.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::{Block, Content, Payload, UpstreamList};
use portion_core::policy::{ClientLimits, Policy};
use portion_core::snapshot::capture;
use portion_core::view::{Request, View, resolve};
use portion_policy::endpoint::{EndpointConfig, EndpointKind, EndpointTarget};

use crate::rules::{EndpointRule, EndpointRules};
use crate::store::disk::DiskLimits;
use crate::store::{
    CachedStore, DiskStore, FieldName, MemoryStore, OwnerId, SnapshotKey, SnapshotStore as _, StoreLimits,
    StoreWriteError, StoredSnapshot,
};

const ID: SnapshotId = [1; 6];
const HERE: OwnerId = [1; 16];
const THERE: OwnerId = [2; 16];
const TTL: Duration = Duration::from_mins(10);
const WRITE_TIME: Duration = Duration::from_mins(1);

fn ada() -> Scope {
    Scope::from_principal("ada")
}

/// A list of which some items were fetched.
fn list(fetched: usize, is_partial: bool) -> StoredSnapshot {
    let items: Vec<String> = (0..fetched).map(|id| format!("{{\"id\":{id},\"n\":{}}}", id % 3)).collect();
    let block = Block::new("/content/0/text", Content::Text(format!("[{}]", items.join(","))));
    let upstream = UpstreamList { fetched, is_partial, ..UpstreamList::default() };
    let payload =
        Payload { blocks: vec![block], upstream_list: Some(Box::new(upstream)), ..Payload::default() };
    StoredSnapshot::new(ID, Arc::new(capture(payload)))
}

/// A selection of a list.
fn selection(of: &StoredSnapshot) -> View {
    let request = Request { fields: Some("id".into()), ..Request::default() };
    resolve(&of.snapshot, None, &request, &Policy::default()).expect("a list").view
}

fn rule() -> Arc<EndpointRule> {
    let rules = EndpointRules::new(Arc::new(EndpointConfig::default()), ClientLimits::UNKNOWN);
    rules.rule_for(EndpointTarget { upstream: None, kind: EndpointKind::Tool, name: "list" })
}

fn files(root: &Path, bytes: u64) -> Arc<DiskStore> {
    Arc::new(DiskStore::open(root, "server", DiskLimits { bytes, ttl: TTL }).expect("a directory"))
}

fn instance(root: &Path) -> CachedStore {
    CachedStore::new(MemoryStore::default(), files(root, 1 << 20))
}

async fn found(store: &CachedStore) -> StoredSnapshot {
    store.find(&ada(), ID, View::root().id(), Instant::now()).await.expect("it is stored")
}

/// Runs work that may not wait: without a timer, a pause panics.
fn without_waiting<T: Send>(work: impl Future<Output = T> + Send) -> T {
    let run = || tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work);
    std::thread::scope(|scope| scope.spawn(run).join().expect("nobody waits"))
}

fn fetched(stored: &StoredSnapshot) -> usize {
    stored.snapshot.upstream_list().expect("a list").fetched
}

#[tokio::test]
async fn claims_are_those_of_the_store() {
    let root = tempfile::tempdir().expect("a directory");
    let (here, there) = (instance(root.path()), instance(root.path()));
    assert!(here.is_shared());
    here.claim_later(&ada(), ID, HERE);
    assert!(here.flush(WRITE_TIME));
    assert_eq!(there.claim(&ada(), ID, THERE).await, Ok(false));
    here.release_later(&ada(), ID, HERE);
    assert!(here.flush(WRITE_TIME));
    assert_eq!(there.claim(&ada(), ID, THERE).await, Ok(true));
    assert_eq!(here.claim(&ada(), ID, HERE).await, Ok(false));
    there.release(&ada(), ID, THERE).await;
    assert_eq!(here.claim(&ada(), ID, HERE).await, Ok(true));
    let alone = CachedStore::from(Arc::new(MemoryStore::default()));
    assert!(!alone.is_shared());
    assert_eq!(alone.claim(&ada(), ID, THERE).await, Ok(true));
}

#[tokio::test]
async fn a_list_is_replaced_in_the_store_before_the_memory() {
    let root = tempfile::tempdir().expect("a directory");
    let (here, there) = (instance(root.path()), instance(root.path()));
    here.put(&ada(), list(2, true), Instant::now()).await.expect("there is room");
    here.replace(&ada(), list(4, true), HERE, Instant::now()).await.expect("there is room");
    assert_eq!((fetched(&found(&here).await), fetched(&found(&there).await)), (4, 4));
    assert_eq!(there.claim(&ada(), ID, THERE).await, Ok(false), "a replacement claims it");
    here.release(&ada(), ID, HERE).await;
    assert_eq!(there.claim(&ada(), ID, THERE).await, Ok(true));
    let refused = here.replace(&ada(), list(6, true), HERE, Instant::now()).await;
    assert_eq!(refused, Err(StoreWriteError::Claimed));
    assert_eq!(fetched(&found(&here).await), 4, "the memory has forgotten it, and the store is read");
}

/// The store is read for a list that only it has room for. A list that neither has room for is refused.
#[tokio::test]
async fn a_list_that_the_memory_has_no_room_for_is_in_the_store() {
    let root = tempfile::tempdir().expect("a directory");
    let memory = MemoryStore::new(StoreLimits { memory_bytes: 20_000, ttl: TTL });
    let here = CachedStore::new(memory, files(root.path(), 1 << 20));
    here.put(&ada(), list(2, true), Instant::now()).await.expect("there is room");
    here.replace(&ada(), list(2_000, true), HERE, Instant::now()).await.expect("the store has room");
    assert_eq!(fetched(&found(&here).await), 2_000);
    let memory = MemoryStore::new(StoreLimits { memory_bytes: 20_000, ttl: TTL });
    let full = CachedStore::new(memory, files(root.path(), 1));
    let refused = full.replace(&ada(), list(3_000, true), HERE, Instant::now()).await;
    assert!(matches!(refused, Err(StoreWriteError::NoCapacity { .. })), "{refused:?}");
}

#[tokio::test]
async fn another_version_in_the_store_is_read() {
    let root = tempfile::tempdir().expect("a directory");
    let (here, there) = (instance(root.path()), instance(root.path()));
    let first = StoredSnapshot { rule: Some(rule()), ..list(2, true) };
    let selected = selection(&first);
    here.put(&ada(), first.clone(), Instant::now()).await.expect("there is room");
    let views = (&first.snapshot, selected.clone());
    here.put_view(&ada(), ID, views, Instant::now()).await.expect("there is room");
    assert!(here.flush(WRITE_TIME));
    let stored = found(&here).await;
    let same = here.refresh(&ada(), stored.clone(), Instant::now()).await;
    assert!(Arc::ptr_eq(&same.snapshot, &stored.snapshot), "nothing else is stored");
    for (count, is_partial) in [(5, true), (3, true), (3, false)] {
        there.replace(&ada(), list(count, is_partial), THERE, Instant::now()).await.expect("there is room");
        let stored = here.find(&ada(), ID, selected.id(), Instant::now()).await.expect("it is in memory");
        let fresh = here.refresh(&ada(), stored, Instant::now()).await;
        let now = fresh.snapshot.upstream_list().expect("a list");
        assert_eq!((now.fetched, now.is_partial), (count, is_partial), "more, less, or the last of it");
        assert_eq!(fresh.view.id(), selected.id(), "the view is the same");
        assert!(fresh.rule.is_some(), "its rule applies as before");
        let stored = found(&here).await;
        assert_eq!(fetched(&stored), count, "the memory has it, too");
        assert!(stored.rule.is_some());
    }
    there.replace(&ada(), list(9, false), THERE, Instant::now()).await.expect("there is room");
    let complete = here.refresh(&ada(), found(&here).await, Instant::now()).await;
    assert_eq!(fetched(&complete), 3, "a complete list does not change");
}

/// The views of a list are those of its new version, though the store does not have them yet.
#[tokio::test]
async fn views_in_memory_are_kept() {
    let root = tempfile::tempdir().expect("a directory");
    let here = instance(root.path());
    let first = list(2, true);
    here.put(&ada(), first.clone(), Instant::now()).await.expect("there is room");
    assert!(here.flush(WRITE_TIME));
    let stored = found(&here).await;
    let other = instance(root.path());
    other.replace(&ada(), list(5, true), THERE, Instant::now()).await.expect("there is room");
    let selected = selection(&first);
    here.memory.put_view(&ada(), ID, selected.clone(), Instant::now()).expect("there is room");
    let fresh = here.refresh(&ada(), stored, Instant::now()).await;
    assert_eq!(fetched(&fresh), 5);
    let kept = here.memory.find(&ada(), ID, selected.id(), Instant::now()).expect("it is in memory");
    assert_eq!((fetched(&kept), kept.view.id()), (5, selected.id()));
}

/// A view that another instance has added is of the version there.
#[tokio::test]
async fn a_view_is_read_with_its_version() {
    for is_partial in [true, false] {
        let root = tempfile::tempdir().expect("a directory");
        let (here, there) = (instance(root.path()), instance(root.path()));
        here.put(&ada(), list(2, is_partial), Instant::now()).await.expect("there is room");
        assert!(here.flush(WRITE_TIME));
        let stored = found(&here).await;
        let other = list(if is_partial { 5 } else { 2 }, is_partial);
        let selected = selection(&other);
        there.replace(&ada(), other.clone(), THERE, Instant::now()).await.expect("there is room");
        let view = (&other.snapshot, selected.clone());
        there.put_view(&ada(), ID, view, Instant::now()).await.expect("there is room");
        assert!(there.flush(WRITE_TIME));
        let read = here.find(&ada(), ID, selected.id(), Instant::now()).await.expect("it is stored");
        assert_eq!(fetched(&read), if is_partial { 5 } else { 2 });
        assert_eq!(
            Arc::ptr_eq(&read.snapshot, &stored.snapshot),
            !is_partial,
            "a complete list is in memory"
        );
    }
}

#[tokio::test]
async fn a_list_that_the_store_has_lost_stays() {
    let root = tempfile::tempdir().expect("a directory");
    let here = instance(root.path());
    here.put(&ada(), list(2, true), Instant::now()).await.expect("there is room");
    assert!(here.flush(WRITE_TIME));
    let stored = found(&here).await;
    std::fs::remove_file(root.path().join("results.db")).expect("it is removed");
    let (scope, now) = (ada(), Instant::now());
    assert_eq!(fetched(&without_waiting(here.refresh(&scope, stored, now))), 2);
}

/// Another instance may have more of it.
#[tokio::test]
async fn a_list_that_grows_is_not_written_again() {
    for is_partial in [true, false] {
        let root = tempfile::tempdir().expect("a directory");
        let here = instance(root.path());
        let file = root.path().join("results.db");
        std::fs::create_dir(&file).expect("nothing was written yet");
        here.put(&ada(), list(2, is_partial), Instant::now()).await.expect("it is in memory");
        assert!(here.flush(WRITE_TIME));
        std::fs::remove_dir(&file).expect("it is there");
        found(&here).await;
        assert!(here.flush(WRITE_TIME));
        let key = SnapshotKey { scope: ada(), id: ID };
        let stored = files(root.path(), 1 << 20).get(key, &[FieldName::Meta]).await;
        assert_eq!(stored.is_ok(), !is_partial, "{stored:?}");
    }
}
