//! Writes to a store after the reply was sent, one job at a time.
//!
//! A reply waits for a moment while many jobs are pending. A job that does not fit into the queue all the same is dropped:
//! then the snapshot is kept in memory only, until it is used again.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use portion_core::cursor::{Scope, SnapshotId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::memory::{QueuedWrite, WholeSnapshot};
use super::{
    MemoryStore, OwnerId, SnapshotKey, SnapshotStore, StoreReadError, StoreWriteError, StoredSnapshot,
    WriteResult, record,
};
use crate::call::ReuseKey;
use crate::deferred_worker::{DeferredWorker, JobPriority, QueueLimits};
use crate::offload::offload;

/// Limits of the queue. The bytes are those of snapshots in memory, which has a limit of its own.
const QUEUE: QueueLimits = QueueLimits { jobs: 8_192, bytes: usize::MAX };
/// Pending jobs from which replies wait for earlier writes: what is written late is missing at other instances.
const BUSY_JOBS: usize = 64;
/// Longest wait of a reply.
const MAX_REPLY_DELAY: Duration = Duration::from_millis(250);
/// Time between looks at the queue.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);
/// Longest wait for earlier writes before something is read.
const MAX_READ_DELAY: Duration = Duration::from_secs(2);

thread_local! {
    /// Runs the futures of the store on the worker's thread.
    static RUNTIME: OnceCell<Option<Runtime>> = const { OnceCell::new() };
}

/// A store, and the thread that writes to it.
pub(super) struct WriteBehind {
    pub(super) store: Arc<dyn SnapshotStore>,
    /// True if other instances may write what is read.
    pub(super) is_shared: bool,
    worker: Arc<DeferredWorker>,
    /// Snapshots whose time to live is about to be restarted.
    touching: Arc<Mutex<HashSet<SnapshotKey>>>,
    /// True since a job was dropped.
    is_behind: Arc<AtomicBool>,
}

impl WriteBehind {
    pub(super) fn new(store: Arc<dyn SnapshotStore>, is_shared: bool) -> Self {
        let worker = Arc::new(DeferredWorker::new("portion-store", QUEUE));
        Self { store, is_shared, worker, touching: Arc::default(), is_behind: Arc::default() }
    }

    /// Waits a moment while many jobs are pending.
    pub(super) async fn wait_for_room(&self) {
        let begun = Instant::now();
        while self.worker.pending() > BUSY_JOBS
            && begun.elapsed() < MAX_REPLY_DELAY
            && Handle::try_current().is_ok()
        {
            sleep(LOOK_INTERVAL).await;
        }
    }

    /// Stores a snapshot later.
    pub(super) fn put_later(&self, key: SnapshotKey, new: StoredSnapshot, write: QueuedWrite) {
        let bytes = new.snapshot.heap_bytes();
        self.submit(JobPriority::Required, bytes, async move |store| {
            finish(&*store, write, &store.put(key, record::encode(&new)).await);
        });
        // Another instance may be asked for the rest at once.
        self.worker.wake();
    }

    /// Stores a snapshot that the memory has no room for, after what is to be written before. The memory then has no earlier
    /// version of it, such as that of a list that grows, which could be written later.
    pub(super) async fn put_in_turn(
        &self,
        key: SnapshotKey,
        new: StoredSnapshot,
        memory: &Arc<MemoryStore>,
    ) -> WriteResult {
        let (memory, bytes) = (Arc::clone(memory), new.snapshot.heap_bytes());
        self.write_in_turn(bytes, async move |store| {
            store.put(key, record::encode(&new)).await?;
            memory.discard(&key.scope, key.id);
            Ok(())
        })
        .await
    }

    /// Claims a snapshot later.
    pub(super) fn claim_later(&self, key: SnapshotKey, owner: OwnerId) {
        self.submit(JobPriority::Required, 0, async move |store| {
            // A failure shows when the snapshot is replaced.
            let _ = store.claim(key, owner).await;
        });
    }

    /// Gives up a claim later.
    pub(super) fn release_later(&self, key: SnapshotKey, owner: OwnerId) {
        self.submit(JobPriority::Required, 0, async move |store| store.release(key, owner).await);
    }

    /// Replaces a snapshot under a claim, after what is to be written before.
    pub(super) async fn replace(&self, key: SnapshotKey, owner: OwnerId, new: StoredSnapshot) -> WriteResult {
        let bytes = new.snapshot.heap_bytes();
        let write =
            async move |store: Arc<dyn SnapshotStore>| store.replace(key, owner, record::encode(&new)).await;
        let outcome = self.write_in_turn(bytes, write).await;
        log_failure(&*self.store, &outcome);
        outcome
    }

    /// Writes after what is to be written before, and waits for that.
    async fn write_in_turn(
        &self,
        bytes: usize,
        write: impl AsyncFnOnce(Arc<dyn SnapshotStore>) -> WriteResult + Send + 'static,
    ) -> WriteResult {
        let (done, outcome) = oneshot::channel();
        self.submit(JobPriority::Required, bytes, async move |store| {
            let _ = done.send(write(store).await);
        });
        self.worker.wake();
        let dropped = |_| Err(StoreWriteError::Unreachable("it is behind".into()));
        outcome.await.unwrap_or_else(dropped)
    }

    /// Stores a view later.
    pub(super) fn put_view_later(
        &self,
        key: SnapshotKey,
        snapshot: &Arc<Snapshot>,
        view: View,
        write: QueuedWrite,
    ) {
        let (snapshot, bytes) = (Arc::clone(snapshot), view.heap_bytes());
        self.submit(JobPriority::Required, bytes, async move |store| {
            let (_, packed) = record::encode_view(&snapshot, &view);
            finish(&*store, write, &store.put_view(key, view.id(), packed).await);
        });
        self.worker.wake();
    }

    /// Stores a view now, because the memory does not hold its snapshot.
    pub(super) async fn put_view_now(
        &self,
        key: SnapshotKey,
        snapshot: &Arc<Snapshot>,
        view: &View,
    ) -> WriteResult {
        let (_, packed) = record::encode_view(snapshot, view);
        self.store.put_view(key, view.id(), packed).await
    }

    /// Restarts the time to live of a snapshot later. If the store has lost it, or has refused it or a view, and it is whole,
    /// it is stored again, with its views. A list that may grow is not: another instance may have more of it.
    pub(super) fn touch_later(&self, key: SnapshotKey, stored: &StoredSnapshot, memory: &Arc<MemoryStore>) {
        let (stored, memory, is_shared) = (stored.clone(), Arc::clone(memory), self.is_shared);
        self.submit_once(key, async move |store| {
            let touched = store.touch(key).await;
            let is_lost =
                matches!(touched, Err(StoreReadError::SnapshotGone { .. } | StoreReadError::Unknown));
            let may_grow = is_shared && stored.snapshot.upstream_list().is_some_and(|list| list.is_partial);
            let is_refused = touched.is_ok() && memory.has_failed_writes(&key.scope, key.id);
            if (is_lost || is_refused) && !may_grow && !stored.snapshot.is_partial() {
                let whole = memory.whole(&key.scope, key.id);
                let whole = whole.filter(|whole| !whole.snapshot.snapshot.is_partial());
                let written = rewrite(&*store, key, whole.unwrap_or_else(|| stored.into()), &memory).await;
                log_failure(&*store, &written);
            }
        });
    }

    /// Moves a snapshot later that only the memory has.
    pub(super) fn move_later(&self, key: SnapshotKey, memory: &Arc<MemoryStore>) {
        let memory = Arc::clone(memory);
        self.submit_once(key, async move |store| {
            if memory.has_failed_writes(&key.scope, key.id)
                && let Some(whole) = memory.whole(&key.scope, key.id)
            {
                let reuse = whole.reuse_key;
                // It stays in memory, if the store has no room.
                if let (Ok(()), Some(reuse)) = (rewrite(&*store, key, whole, &memory).await, reuse) {
                    log_reuse_failure(&store.set_reusable(key.scope, reuse, Some(key.id)).await);
                }
            }
        });
    }

    /// Queues a job, unless one is queued for the same snapshot.
    fn submit_once(&self, key: SnapshotKey, job: impl AsyncFnOnce(Arc<dyn SnapshotStore>) + Send + 'static) {
        if !self.touching.lock().insert(key) {
            return;
        }
        let touching = Arc::clone(&self.touching);
        let is_queued = self.submit(JobPriority::Required, 0, async move |store| {
            touching.lock().remove(&key);
            job(store).await;
        });
        if !is_queued {
            self.touching.lock().remove(&key);
        }
    }

    /// Sets or clears the snapshot that answers equal calls, later and in order; now if the queue is full.
    pub(super) async fn set_reusable_later(&self, scope: Scope, reuse: ReuseKey, id: Option<SnapshotId>) {
        let is_queued = self.submit(JobPriority::Required, 0, async move |store| {
            log_reuse_failure(&store.set_reusable(scope, reuse, id).await);
        });
        // A wrong snapshot must not answer equal calls.
        if !is_queued {
            log_reuse_failure(&self.store.set_reusable(scope, reuse, id).await);
        }
    }

    /// Removes later what has expired.
    pub(super) fn expire_later(&self) {
        self.submit(JobPriority::BestEffort, 0, async |store| store.expire().await);
    }

    /// Waits until earlier writes are done, so that they can be read. Returns false if there were none.
    pub(super) async fn settle(&self) -> bool {
        if self.worker.wait_until_idle(Duration::ZERO) {
            return false;
        }
        let worker = Arc::clone(&self.worker);
        offload(usize::MAX, move || worker.wait_until_idle(MAX_READ_DELAY)).await;
        true
    }

    /// Waits at most `limit` until everything is written. Returns true if it is.
    pub(super) fn flush(&self, limit: Duration) -> bool {
        self.worker.wait_until_idle(limit)
    }

    /// Queues a job. Returns false if the queue is full, and the job is dropped.
    fn submit<F>(&self, priority: JobPriority, bytes: usize, job: F) -> bool
    where
        F: AsyncFnOnce(Arc<dyn SnapshotStore>) + Send + 'static,
    {
        let (store, is_behind) = (Arc::clone(&self.store), Arc::clone(&self.is_behind));
        let is_dropped = Arc::new(AtomicBool::new(false));
        let dropped = Arc::clone(&is_dropped);
        self.worker.submit(priority, bytes, move |is_queued| {
            if !is_queued {
                log_behind(&is_behind);
                dropped.store(true, Ordering::Relaxed);
                return;
            }
            is_behind.store(false, Ordering::Relaxed);
            RUNTIME.with(|runtime| {
                let runtime = runtime.get_or_init(|| Builder::new_current_thread().enable_all().build().ok());
                if let Some(runtime) = runtime {
                    runtime.block_on(job(store));
                } else {
                    tracing::warn!("the snapshot store cannot be written");
                }
            });
        });
        !is_dropped.load(Ordering::Relaxed)
    }
}

/// Stores a snapshot again, with its views.
pub(super) async fn rewrite(
    store: &dyn SnapshotStore,
    key: SnapshotKey,
    whole: WholeSnapshot,
    memory: &MemoryStore,
) -> WriteResult {
    let WholeSnapshot { snapshot: stored, views, unused_for, last_used, .. } = whole;
    let views = views.iter().map(|view| (view.id(), record::encode_view(&stored.snapshot, view).1)).collect();
    store.put_whole(key, record::encode(&stored), views, unused_for).await?;
    // A use since then has restarted the time to live in memory only.
    if memory.mark_rewritten(&key.scope, &stored, last_used) {
        let _ = store.touch(key).await;
    }
    Ok(())
}

/// Logs the first of the jobs that are dropped.
fn log_behind(is_behind: &AtomicBool) {
    if !is_behind.swap(true, Ordering::Relaxed) {
        tracing::warn!("the snapshot store is behind: results are kept in this process only");
    }
}

fn log_reuse_failure(outcome: &WriteResult) {
    if let Err(error) = outcome {
        tracing::debug!(%error, "equal calls are not answered from the snapshot store");
    }
}

fn finish(store: &dyn SnapshotStore, write: QueuedWrite, outcome: &WriteResult) {
    if outcome.is_ok() {
        write.succeed();
    }
    log_failure(store, outcome);
}

fn log_failure(store: &dyn SnapshotStore, outcome: &WriteResult) {
    match outcome {
        Ok(()) | Err(StoreWriteError::SnapshotGone | StoreWriteError::Claimed) => {}
        // It has reported its state already.
        Err(_) if !store.status().is_available => {}
        Err(error) => tracing::warn!(%error, "a snapshot is kept in memory only"),
    }
}
