//! Snapshots in memory, and in the store behind it.
//!
//! A snapshot is served from memory, decoded, as long as it is there. It is written to the store after its
//! reply was sent. If the store fails, the memory goes on alone. What the memory has no room for is written
//! before the reply. What the store has lost, but the memory has not, is written again when it is used.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

use super::load::{self, Extent};
use super::record::Header;
use super::temporary::TemporaryFile;
use super::write_behind::WriteBehind;
use super::{
    BackendStatus, LookupResult, MemoryStore, SnapshotKey, SnapshotStore, StoreLookupError, StoreReadError,
    StoreStats, StoredSnapshot, WriteResult,
};
use crate::call::ReuseKey;

/// Stores snapshots in memory, and in the store or the temporary file behind it, if there is one.
#[derive(Clone)]
pub struct CachedStore {
    pub(super) memory: Arc<MemoryStore>,
    /// Store that is not a temporary file.
    pub(super) behind: Option<Arc<WriteBehind>>,
    pub(super) temporary: Option<Arc<TemporaryFile>>,
}

impl From<Arc<MemoryStore>> for CachedStore {
    /// Stores in memory only.
    fn from(memory: Arc<MemoryStore>) -> Self {
        Self { memory, behind: None, temporary: None }
    }
}

impl CachedStore {
    /// Stores in memory, and in a store behind it.
    pub fn new(memory: MemoryStore, store: Arc<dyn SnapshotStore>) -> Self {
        let behind = Some(Arc::new(WriteBehind::new(store, true)));
        Self { memory: Arc::new(memory), behind, temporary: None }
    }

    /// Returns the store that may have something.
    pub(super) fn in_use(&self) -> Option<&WriteBehind> {
        self.behind.as_deref().or(self.temporary_in_use().map(|file| &file.behind))
    }

    /// Stores a snapshot, and assigns its reuse key to it in place of any earlier snapshot.
    ///
    /// # Errors
    /// If neither the memory nor the store can keep it.
    pub async fn put(&self, scope: &Scope, new: StoredSnapshot, now: Instant) -> WriteResult {
        if let Some(temporary) = &self.temporary {
            return self.put_spilling(temporary, scope, new, now).await;
        }
        let Some(behind) = &self.behind else { return self.memory.put(scope, new, now) };
        let (key, reuse) = (SnapshotKey { scope: *scope, id: new.id }, new.reuse_key);
        behind.wait_for_room().await;
        match self.memory.put_unwritten(scope, new.clone(), now) {
            Ok(write) => behind.put_later(key, new, write),
            Err(_) => behind.put_in_turn(key, new, &self.memory).await?,
        }
        if let Some(reuse) = reuse {
            behind.set_reusable_later(*scope, reuse, Some(key.id)).await;
        }
        Ok(())
    }

    /// Stores a view of a stored snapshot. A view that is already stored counts as used, and gets the
    /// pagination of its first reply.
    ///
    /// # Errors
    /// If neither the memory nor the store can keep it.
    pub async fn put_view(
        &self,
        scope: &Scope,
        id: SnapshotId,
        (snapshot, view): (&Arc<Snapshot>, View),
        now: Instant,
    ) -> WriteResult {
        if let Some(temporary) = &self.temporary {
            return self.put_view_spilling(temporary, scope, id, (snapshot, view), now).await;
        }
        let Some(behind) = &self.behind else { return self.memory.put_view(scope, id, view, now).map(drop) };
        let key = SnapshotKey { scope: *scope, id };
        behind.wait_for_room().await;
        match self.memory.put_view_unwritten(scope, id, view.clone(), now) {
            Ok((view, write)) => behind.put_view_later(key, snapshot, view, write),
            Err(_) => behind.put_view_now(key, snapshot, &view).await?,
        }
        Ok(())
    }

    /// Returns the whole snapshot and the view of a cursor.
    ///
    /// # Errors
    /// If the snapshot or the view is not stored.
    pub async fn find(&self, scope: &Scope, id: SnapshotId, view: ViewId, now: Instant) -> LookupResult {
        self.find_extent(scope, id, (view, Extent::Whole), now).await
    }

    /// Returns the snapshot and the view of a cursor. With [`Extent::Page`], blocks of the snapshot may be missing.
    ///
    /// # Errors
    /// If the snapshot or the view is not stored.
    pub async fn find_extent(
        &self,
        scope: &Scope,
        id: SnapshotId,
        (view, extent): (ViewId, Extent),
        now: Instant,
    ) -> LookupResult {
        let found = self.memory.find(scope, id, view, now);
        let Some(behind) = self.in_use() else { return found };
        let key = SnapshotKey { scope: *scope, id };
        match found {
            Ok(stored) if !stored.snapshot.is_partial() => {
                self.touch_later(behind, scope, &stored);
                Ok(stored)
            }
            Ok(stored) if extent == Extent::Page && stored.view.is_of_everything() => {
                behind.touch_later(key, &stored, &self.memory);
                // Other replies from it need other blocks.
                let snapshot = Arc::new(stored.snapshot.without_needs());
                Ok(StoredSnapshot { snapshot, ..stored })
            }
            Ok(_) => self.load(behind, key, (view, extent), now).await,
            // A view of a list that grows may be of a later version.
            Err(StoreLookupError::ViewGone { root })
                if !root.snapshot.is_partial()
                    && root.snapshot.upstream_list().is_none_or(|list| !list.is_partial) =>
            {
                let mut found = load::load_view(behind, key, &root.snapshot, view).await;
                if found.is_none() && behind.settle().await {
                    found = load::load_view(behind, key, &root.snapshot, view).await;
                }
                match found {
                    Some(view) => Ok(StoredSnapshot { view: self.keep_view(key, view, now), ..*root }),
                    None => Err(StoreLookupError::ViewGone { root }),
                }
            }
            Err(lost) => {
                let mut found = self.load(behind, key, (view, extent), now).await;
                // The snapshot, or its view, may wait to be written.
                let may_wait = matches!(
                    found,
                    Err(StoreLookupError::Unknown
                        | StoreLookupError::SnapshotGone { .. }
                        | StoreLookupError::ViewGone { .. })
                );
                if may_wait && behind.settle().await {
                    found = self.load(behind, key, (view, extent), now).await;
                }
                match found {
                    // The memory may remember more than the store. A store that refuses writes may lack what another process
                    // has in memory.
                    Err(StoreLookupError::Unknown) => match (lost, behind.store.status()) {
                        (StoreLookupError::Unknown, BackendStatus { is_available: false, .. })
                            if behind.is_shared =>
                        {
                            Err(StoreLookupError::Unreachable("it refuses writes".to_owned()))
                        }
                        (lost, _) => Err(lost),
                    },
                    found => found,
                }
            }
        }
    }

    /// Returns a partial snapshot with some of its missing blocks, and keeps them in memory, if it is there.
    ///
    /// # Errors
    /// If the store does not have them any more, or does not answer.
    pub async fn read_blocks(
        &self,
        scope: &Scope,
        stored: &StoredSnapshot,
        blocks: Vec<u32>,
    ) -> Result<Arc<Snapshot>, StoreLookupError> {
        // Without a store, no block is missing.
        let Some(behind) = self.in_use() else { return Err(StoreLookupError::Unknown) };
        let key = SnapshotKey { scope: *scope, id: stored.id };
        let snapshot = load::read_blocks(behind, key, &stored.snapshot, blocks).await?;
        self.memory.complete(scope, stored.id, &snapshot);
        Ok(snapshot)
    }

    /// Returns the last snapshot stored with a reuse key, with its root view, if it still exists.
    pub async fn find_reusable(
        &self,
        scope: &Scope,
        reuse: ReuseKey,
        now: Instant,
    ) -> Option<StoredSnapshot> {
        let in_memory = || self.memory.find_reusable(scope, reuse, now);
        let Some(behind) = self.in_use() else { return in_memory() };
        if !behind.is_shared
            && let Some(found) = in_memory()
        {
            self.touch_later(behind, scope, &found);
            return Some(found);
        }
        behind.settle().await;
        // Another process may have stored a newer one.
        match behind.store.reusable(*scope, reuse).await {
            Ok(id) => self.find(scope, id?, View::root().id(), now).await.ok(),
            Err(_) => in_memory(),
        }
    }

    /// Clears a reuse key, because a newer response to the same call was not stored.
    pub async fn forget_reuse(&self, scope: &Scope, reuse: ReuseKey) {
        self.memory.forget_reuse(scope, reuse);
        if let Some(behind) = self.in_use() {
            behind.set_reusable_later(*scope, reuse, None).await;
        }
    }

    /// Returns the state of the store behind the memory, if there is one.
    pub fn backend_status(&self) -> Option<BackendStatus> {
        self.behind.as_ref().map(|behind| behind.store.status())
    }

    /// Returns the statistics of the memory, and frees what has expired.
    pub fn stats(&self, now: Instant) -> StoreStats {
        let stats = self.memory.stats(now);
        if let Some(behind) = self.in_use() {
            behind.expire_later();
        }
        match self.temporary_in_use() {
            Some(temporary) => temporary.add_to(stats),
            None => stats,
        }
    }

    /// Waits at most `limit` until everything is written to the store. Returns true if it is.
    pub fn flush(&self, limit: Duration) -> bool {
        self.in_use().is_none_or(|behind| behind.flush(limit))
    }

    /// Reads a snapshot from the store into memory.
    async fn load(
        &self,
        behind: &WriteBehind,
        key: SnapshotKey,
        (view, extent): (ViewId, Extent),
        now: Instant,
    ) -> LookupResult {
        let (root, found) = load::load(behind, key, view, extent).await?;
        // Without room in memory, it is read again for the next reply.
        self.memory.put_read(&key.scope, &root, now);
        match found {
            Some(view) => Ok(StoredSnapshot { view: self.keep_view(key, view, now), ..root }),
            None => Err(StoreLookupError::ViewGone { root: Box::new(root) }),
        }
    }

    /// Restarts the time to live of a snapshot in the store. What a temporary file has not got is not written for that.
    fn touch_later(&self, behind: &WriteBehind, scope: &Scope, stored: &StoredSnapshot) {
        if behind.is_shared || !self.memory.is_only_copy(scope, stored.id) {
            behind.touch_later(SnapshotKey { scope: *scope, id: stored.id }, stored, &self.memory);
        }
    }

    /// Keeps a view that was read, if there is room.
    pub(super) fn keep_view(&self, key: SnapshotKey, view: View, now: Instant) -> View {
        self.memory.put_view(&key.scope, key.id, view.clone(), now).unwrap_or(view)
    }
}

impl From<StoreReadError> for StoreLookupError {
    fn from(error: StoreReadError) -> Self {
        match error {
            StoreReadError::SnapshotGone { header } => match Header::decode(&header) {
                Some(Header { endpoint, arguments, origin_snapshot, .. }) => Self::SnapshotGone {
                    endpoint: endpoint.map(Arc::from),
                    arguments: arguments.map(Arc::from),
                    origin_snapshot,
                },
                None => Self::Unknown,
            },
            StoreReadError::Unknown => Self::Unknown,
            StoreReadError::Unreachable(why) => Self::Unreachable(why),
        }
    }
}
