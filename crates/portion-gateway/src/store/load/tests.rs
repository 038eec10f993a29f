//! Counts reads and writes of a store, and replaces or loses its snapshots meanwhile.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::payload::{Block, Content, Payload, UpstreamList};
use portion_core::policy::Policy;
use portion_core::snapshot::capture;
use portion_core::view::{Request, View, resolve};
use portion_policy::endpoint::{Endpoint, EndpointKind};
use tokio::sync::Semaphore;

use super::Extent;
use crate::call::ReuseKey;
use crate::store::disk::DiskLimits;
use crate::store::{
    CachedStore, DiskStore, FieldName, MemoryStore, OwnerId, SnapshotKey, SnapshotStore, StoreFuture,
    StoreLookupError, StoreReadError, StoreWriteError, StoredSnapshot, record,
};

const ID: SnapshotId = [1; 6];
/// Items of a list of more blocks than are read at once.
const MANY: usize = 60_000;

type Fields = Vec<(FieldName, Vec<u8>)>;

/// Files that count reads, and in which something happens after a number of them.
struct WatchedFiles {
    files: DiskStore,
    /// Snapshots that replace the stored one after so many reads.
    replacements: Mutex<Vec<(usize, Fields)>>,
    /// Number of the read that fails.
    failure: usize,
    reads: AtomicUsize,
    /// Claims wait for it.
    gate: Semaphore,
    /// Names of the operations that change something.
    changes: Mutex<Vec<&'static str>>,
}

impl WatchedFiles {
    fn note(&self, change: &'static str) {
        self.changes.lock().push(change);
    }
}

impl SnapshotStore for WatchedFiles {
    fn claim(&self, _: SnapshotKey, _: OwnerId) -> StoreFuture<'_, Result<bool, StoreWriteError>> {
        Box::pin(async { Ok(self.gate.acquire().await.is_ok()) })
    }

    fn put(&self, key: SnapshotKey, fields: Fields) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        self.note("put");
        self.files.put(key, fields)
    }

    fn put_view(
        &self,
        key: SnapshotKey,
        view: ViewId,
        bytes: Vec<u8>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        self.files.put_view(key, view, bytes)
    }

    fn get<'a>(
        &'a self,
        key: SnapshotKey,
        names: &'a [FieldName],
    ) -> StoreFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreReadError>> {
        Box::pin(async move {
            let read = self.files.get(key, names).await;
            let number = self.reads.fetch_add(1, Ordering::SeqCst) + 1;
            if number == self.failure {
                return Err(StoreReadError::Unreachable("it fails once".to_owned()));
            }
            let due = self.replacements.lock().extract_if(.., |(at, _)| *at == number).next();
            if let Some((_, fields)) = due {
                self.files.put(key, fields).await.expect("there is room");
            }
            read
        })
    }

    fn touch(&self, key: SnapshotKey) -> StoreFuture<'_, Result<(), StoreReadError>> {
        self.note("touch");
        self.files.touch(key)
    }

    fn set_reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
        id: Option<SnapshotId>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        self.note("set_reusable");
        self.files.set_reusable(scope, reuse, id)
    }

    fn reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
    ) -> StoreFuture<'_, Result<Option<SnapshotId>, StoreReadError>> {
        self.files.reusable(scope, reuse)
    }

    fn expire(&self) -> StoreFuture<'_, ()> {
        self.note("expire");
        self.files.expire()
    }
}

fn key() -> SnapshotKey {
    SnapshotKey { scope: Scope::from_principal("ada"), id: ID }
}

fn list(fetched: usize, grows: bool) -> StoredSnapshot {
    let items: Vec<String> = (0..fetched).map(|id| format!("{{\"id\":{id},\"of\":{fetched}}}")).collect();
    let block = Block::new("/content/0/text", Content::Text(format!("[{}]", items.join(","))));
    let upstream = UpstreamList { fetched, is_partial: true, ..UpstreamList::default() };
    let upstream_list = grows.then(|| Box::new(upstream));
    StoredSnapshot::new(
        ID,
        Arc::new(capture(Payload { blocks: vec![block], upstream_list, ..Payload::default() })),
    )
}

/// Files in this directory, with a list in them.
async fn files(root: &Path, fields: Fields) -> WatchedFiles {
    let limits = DiskLimits { bytes: 1 << 30, ttl: Duration::from_mins(10) };
    let files = DiskStore::open(root, "server", limits).expect("a directory");
    let gate = Semaphore::new(0);
    let (replacements, reads) = (Mutex::default(), AtomicUsize::new(0));
    files.put(key(), fields).await.expect("there is room");
    WatchedFiles { files, replacements, failure: 0, reads, gate, changes: Mutex::default() }
}

/// Reads a list. Returns the error, or the number of items if all blocks are there.
async fn read(files: WatchedFiles, extent: Extent) -> Result<Option<usize>, StoreLookupError> {
    let store = CachedStore::new(MemoryStore::default(), Arc::new(files));
    let found = store.find_extent(&key().scope, ID, (View::root().id(), extent), Instant::now()).await?;
    if found.snapshot.is_partial() {
        return Ok(None);
    }
    let text = found.snapshot.parts()[0].text();
    let count = text.matches("\"id\":").count();
    assert_eq!(text.matches(&format!("\"of\":{count}}}")).count(), count, "all of one version");
    Ok(Some(count))
}

#[tokio::test]
async fn only_pages_of_large_snapshots_lack_blocks() {
    for (count, grows, extent, expect) in [
        (MANY, false, Extent::Page, None),
        (MANY, false, Extent::Whole, Some(MANY)),
        (MANY, true, Extent::Page, Some(MANY)),
        (10_000, false, Extent::Page, Some(10_000)),
        (10, false, Extent::Page, Some(10)),
    ] {
        let root = tempfile::tempdir().expect("a directory");
        let found = read(files(root.path(), record::encode(&list(count, grows))).await, extent).await;
        assert_eq!(found.expect("it is stored"), expect, "{count} {grows} {extent:?}");
    }
}

#[tokio::test]
async fn a_list_is_read_in_one_version() {
    let versions: Vec<Fields> = (0..40).map(|more| record::encode(&list(MANY + more, true))).collect();
    let replaced = async |root: &Path, at: Range<usize>| {
        let later = at.map(|at| (at, versions[at].clone())).collect();
        WatchedFiles { replacements: Mutex::new(later), ..files(root, versions[0].clone()).await }
    };
    for extent in [Extent::Whole, Extent::Page] {
        for at in 1..3 {
            let root = tempfile::tempdir().expect("a directory");
            let found = read(replaced(root.path(), at..at + 1).await, extent).await.expect("it is stored");
            assert_eq!(found, Some(MANY + at), "replaced after {at} reads for {extent:?}");
        }
        let root = tempfile::tempdir().expect("a directory");
        let found = read(replaced(root.path(), 1..40).await, extent).await;
        assert!(matches!(found, Err(StoreLookupError::Unknown)), "{found:?}");
    }
}

/// A part of a list, which needs all blocks.
fn part(of: &StoredSnapshot) -> View {
    let request = Request { path: Some("/7".into()), ..Request::default() };
    resolve(&of.snapshot, None, &request, &Policy::default()).expect("a list").view
}

#[tokio::test]
async fn a_failure_is_no_other_version() {
    for (grows, extent) in [(false, Extent::Whole), (false, Extent::Page), (true, Extent::Page)] {
        let (root, stored) = (tempfile::tempdir().expect("a directory"), list(MANY, grows));
        let view = part(&stored);
        let files = WatchedFiles { failure: 2, ..files(root.path(), record::encode(&stored)).await };
        let packed = record::encode_view(&stored.snapshot, &view).1;
        files.put_view(key(), view.id(), packed).await.expect("it can be written");
        let store = CachedStore::new(MemoryStore::default(), Arc::new(files));
        let found = store.find_extent(&key().scope, ID, (view.id(), extent), Instant::now()).await;
        let failure = found.map(drop);
        assert!(matches!(failure, Err(StoreLookupError::Unreachable(_))), "{grows} {extent:?}: {failure:?}");
    }
}

/// Writes that are pending are waited for only if something is not there.
#[tokio::test]
async fn what_is_there_is_read_once() {
    let stored = list(10, false);
    let view = part(&stored);
    let (_, packed) = record::encode_view(&stored.snapshot, &view);
    for is_pending in [false, true] {
        let root = tempfile::tempdir().expect("a directory");
        let files = Arc::new(files(root.path(), record::encode(&stored)).await);
        files.put_view(key(), view.id(), packed.clone()).await.expect("it can be written");
        let store = CachedStore::new(MemoryStore::default(), Arc::<WatchedFiles>::clone(&files));
        if is_pending {
            store.claim_later(&key().scope, ID, [1; 16]);
        }
        for (id, reads) in [(View::root().id(), 1), (view.id(), 2), (view.id(), 2)] {
            store.find(&key().scope, ID, id, Instant::now()).await.expect("it is stored");
            assert_eq!(files.reads.load(Ordering::SeqCst), reads);
        }
        files.gate.close();
    }
}

#[tokio::test]
async fn changes_are_written_once() {
    const WRITE_TIME: Duration = Duration::from_mins(1);
    let root = tempfile::tempdir().expect("a directory");
    let files = Arc::new(files(root.path(), record::encode(&list(10, false))).await);
    let store = CachedStore::new(MemoryStore::default(), Arc::<WatchedFiles>::clone(&files));
    let (scope, now) = (key().scope, Instant::now());
    let endpoint =
        Endpoint { name: "list".into(), kind: EndpointKind::Tool, read_only: true, idempotent: true };
    let reuse_key = Some(ReuseKey::new(&endpoint, "{}"));
    store.put(&scope, StoredSnapshot { reuse_key, ..list(20, false) }, now).await.expect("there is room");
    assert!(store.flush(WRITE_TIME));
    // Uses while the worker is held up are one use.
    store.claim_later(&scope, ID, [1; 16]);
    for _ in 0..3 {
        store.find(&scope, ID, View::root().id(), now).await.expect("it is in memory");
    }
    files.gate.close();
    assert!(store.flush(WRITE_TIME));
    store.find(&scope, ID, View::root().id(), now).await.expect("it is in memory");
    assert!(store.flush(WRITE_TIME));
    store.stats(now);
    assert!(store.flush(WRITE_TIME));
    let changes = files.changes.lock().clone();
    assert_eq!(changes, ["put", "set_reusable", "touch", "touch", "expire"]);
}
