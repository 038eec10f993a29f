//! Writes to a store after the reply was sent, one job at a time.
//!
//! A job that does not fit into the queue is dropped: then the snapshot is kept in memory only.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use tokio::runtime::{Builder, Runtime};

use super::{NewSnapshot, SnapshotKey, SnapshotStore, StoreWriteError, record};
use crate::deferred_worker::{DeferredWorker, JobPriority};
use crate::offload::offload;

/// Longest wait for earlier writes before something is read.
const MAX_READ_DELAY: Duration = Duration::from_secs(2);

thread_local! {
    /// Runs the futures of the store on the worker's thread.
    static RUNTIME: OnceCell<Option<Runtime>> = const { OnceCell::new() };
}

/// A store, and the thread that writes to it.
pub(super) struct WriteBehind {
    pub(super) store: Arc<dyn SnapshotStore>,
    worker: Arc<DeferredWorker>,
}

impl WriteBehind {
    pub(super) fn new(store: Arc<dyn SnapshotStore>) -> Self {
        Self { store, worker: Arc::new(DeferredWorker::new("portion-store")) }
    }

    /// Stores a snapshot later.
    pub(super) fn put_later(&self, key: SnapshotKey, deposit: NewSnapshot) {
        let bytes = deposit.snapshot.heap_bytes();
        self.submit(JobPriority::Required, bytes, async move |store| {
            log_failure(&store.put(key, record::encode(&deposit)).await);
        });
    }

    /// Stores a snapshot now, because the memory has no room for it.
    pub(super) async fn put_now(
        &self,
        key: SnapshotKey,
        deposit: NewSnapshot,
    ) -> Result<(), StoreWriteError> {
        let fields = offload(deposit.snapshot.heap_bytes(), move || record::encode(&deposit)).await;
        self.store.put(key, fields).await
    }

    /// Stores a view later.
    pub(super) fn put_view_later(&self, key: SnapshotKey, snapshot: &Arc<Snapshot>, view: View) {
        let (snapshot, bytes) = (Arc::clone(snapshot), view.heap_bytes());
        self.submit(JobPriority::Required, bytes, async move |store| {
            let (_, packed) = record::encode_view(&snapshot, &view);
            log_failure(&store.put_view(key, view.id(), packed).await);
        });
    }

    /// Stores a view now, because the memory does not hold its snapshot.
    pub(super) async fn put_view_now(
        &self,
        key: SnapshotKey,
        snapshot: &Arc<Snapshot>,
        view: &View,
    ) -> Result<(), StoreWriteError> {
        let (_, packed) = record::encode_view(snapshot, view);
        self.store.put_view(key, view.id(), packed).await
    }

    /// Restarts the time to live of a snapshot later.
    pub(super) fn touch_later(&self, key: SnapshotKey) {
        self.submit(JobPriority::Required, 0, async move |store| store.touch(key).await);
    }

    /// Removes later what has expired.
    pub(super) fn expire_later(&self) {
        self.submit(JobPriority::BestEffort, 0, async |store| store.expire().await);
    }

    /// Waits until earlier writes are done, so that they can be read.
    pub(super) async fn settle(&self) {
        let worker = Arc::clone(&self.worker);
        offload(usize::MAX, move || worker.wait_until_idle(MAX_READ_DELAY)).await;
    }

    /// Waits at most `limit` until everything is written. Returns true if it is.
    pub(super) fn flush(&self, limit: Duration) -> bool {
        self.worker.flush(limit)
    }

    fn submit<F>(&self, priority: JobPriority, bytes: usize, job: F)
    where
        F: AsyncFnOnce(Arc<dyn SnapshotStore>) + Send + 'static,
    {
        let store = Arc::clone(&self.store);
        self.worker.submit(priority, bytes, move |is_queued| {
            if !is_queued {
                tracing::debug!("the snapshot store is behind: something is kept in memory only");
                return;
            }
            RUNTIME.with(|runtime| {
                let runtime = runtime.get_or_init(|| Builder::new_current_thread().enable_all().build().ok());
                if let Some(runtime) = runtime {
                    runtime.block_on(job(store));
                } else {
                    tracing::warn!("the snapshot store cannot be written");
                }
            });
        });
    }
}

fn log_failure(outcome: &Result<(), StoreWriteError>) {
    match outcome {
        Ok(()) | Err(StoreWriteError::SnapshotGone) => {}
        Err(error) => tracing::warn!(%error, "a snapshot is kept in memory only"),
    }
}
