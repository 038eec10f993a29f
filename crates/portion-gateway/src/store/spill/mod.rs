//! Moves snapshots for which the memory has no room to a temporary file, so that a promised time to live is kept.
//!
//! The least recently used snapshots are moved first, by the rules of the memory, compressed and
//! with their views. One that is used again returns to memory. If neither the memory nor the file has room, a new
//! snapshot is refused, so its reply has no cursor; nothing is evicted for it, with one exception: while the file is full,
//! snapshots of a principal above its share of the memory are evicted for a principal below its share.
//!
//! A file that cannot be opened, written or read fails no request: it has no room.
//!
//! # Locks
//! The lock of the file is held while a snapshot is moved, so only one moves at a time. The locks of the index and of
//! the memory are held for single operations. A snapshot that moves is in its new place before it leaves the old one,
//! so that a look-up in the memory, the file, and the memory again never misses it.

mod file;
mod index;
#[cfg(test)]
mod laws;
mod moves;
mod space;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

use self::file::SpillFile;
pub use self::file::{FileOpener, unlinked_in};
use self::index::SpillIndex;
use super::{
    MemoryStore, NewSnapshot, SnapshotKey, StoreLimits, StoreLookupError, StoreStats, StoreWriteError,
    StoredSnapshot,
};
use crate::offload::offload;
use crate::reuse_key::ReuseKey;

/// Stores snapshots in memory, and what the memory has no room for in a temporary file.
pub struct SpillingStore {
    memory: Arc<MemoryStore>,
    file: Mutex<SpillFile>,
    index: Mutex<SpillIndex>,
}

impl SpillingStore {
    /// Creates an empty store. `disk_bytes`: largest size of the file, which is opened when it is needed.
    pub fn new(limits: StoreLimits, disk_bytes: u64, open: FileOpener) -> Self {
        Self {
            memory: Arc::new(MemoryStore::spilling(limits)),
            file: Mutex::new(SpillFile::new(open)),
            index: Mutex::new(SpillIndex::new(disk_bytes, limits.ttl)),
        }
    }

    pub(super) fn memory(&self) -> &Arc<MemoryStore> {
        &self.memory
    }

    /// Stores a snapshot, and assigns its reuse key to it in place of any earlier snapshot.
    ///
    /// # Errors
    /// If neither the memory nor the file has room.
    pub(super) async fn put(
        self: &Arc<Self>,
        scope: &Scope,
        deposit: NewSnapshot,
        now: Instant,
    ) -> Result<(), StoreWriteError> {
        let key = SnapshotKey { scope: *scope, id: deposit.id };
        // A list that has grown keeps its reuse key.
        let current = || self.index().current_reuse_key(&key);
        let reuse_key =
            deposit.reuse_key.or_else(current).or_else(|| self.memory.current_reuse_key(scope, key.id));
        let deposit = NewSnapshot { reuse_key, ..deposit };
        if let Some(reuse) = deposit.reuse_key {
            self.index().forget_reuse(scope, reuse);
        }
        if self.memory.put(scope, deposit.clone(), now).is_ok() {
            self.index().remove(&key);
            return Ok(());
        }
        let this = Arc::clone(self);
        offload(usize::MAX, move || this.put_with_room(key, &deposit, now)).await
    }

    /// Stores a view of a stored snapshot. A view that is already stored counts as used.
    ///
    /// # Errors
    /// If the snapshot is gone, or neither the memory nor the file has room.
    pub(super) async fn put_view(
        self: &Arc<Self>,
        scope: &Scope,
        id: SnapshotId,
        (snapshot, view): (&Arc<Snapshot>, View),
        now: Instant,
    ) -> Result<(), StoreWriteError> {
        match self.memory.put_view(scope, id, view.clone(), now) {
            Ok(_) => return Ok(()),
            Err(StoreWriteError::SnapshotGone)
                if !self.index().contains(&SnapshotKey { scope: *scope, id }) =>
            {
                // It may just have returned to memory.
                return self.memory.put_view(scope, id, view, now).map(drop);
            }
            Err(_) => {}
        }
        let (this, snapshot, key) =
            (Arc::clone(self), Arc::clone(snapshot), SnapshotKey { scope: *scope, id });
        offload(usize::MAX, move || this.put_view_with_room(key, &snapshot, &view, now)).await
    }

    /// Returns the snapshot and the view of a cursor.
    ///
    /// # Errors
    /// If the snapshot or the view is not stored.
    pub(super) async fn find(
        self: &Arc<Self>,
        scope: &Scope,
        id: SnapshotId,
        view: ViewId,
        now: Instant,
    ) -> Result<StoredSnapshot, StoreLookupError> {
        let found = self.memory.find(scope, id, view, now);
        if !matches!(found, Err(StoreLookupError::SnapshotGone { .. } | StoreLookupError::Unknown)) {
            return found;
        }
        self.expire(now);
        let key = SnapshotKey { scope: *scope, id };
        if !self.index().contains(&key) {
            // It may just have returned to memory.
            return self.memory.find(scope, id, view, now);
        }
        let this = Arc::clone(self);
        offload(usize::MAX, move || this.load(key, view, now)).await
    }

    /// Returns the last snapshot stored with a reuse key, with its root view, if it still exists.
    pub(super) async fn find_reusable(
        self: &Arc<Self>,
        scope: &Scope,
        reuse: ReuseKey,
        now: Instant,
    ) -> Option<StoredSnapshot> {
        if let Some(found) = self.memory.find_reusable(scope, reuse, now) {
            return Some(found);
        }
        let id = self.index().reusable(scope, reuse);
        match id {
            Some(id) => self.find(scope, id, View::root().id(), now).await.ok(),
            // It may just have returned to memory.
            None => self.memory.find_reusable(scope, reuse, now),
        }
    }

    /// Clears a reuse key of the file.
    pub(super) fn forget_reuse(&self, scope: &Scope, reuse: ReuseKey) {
        self.index().forget_reuse(scope, reuse);
    }

    /// Returns the statistics of memory and file, and frees what has expired.
    pub(super) fn stats(&self, now: Instant) -> StoreStats {
        self.expire(now);
        // While a snapshot moves, the file is truncated later.
        if let Ok(mut file) = self.file.try_lock() {
            let end = self.index().end();
            file.truncate(end);
        }
        let (spilled, spilled_bytes) = self.index().usage();
        StoreStats { spilled, spilled_bytes, ..self.memory.stats(now) }
    }

    fn expire(&self, now: Instant) {
        let expired = self.index().expire(now);
        for (id, tombstone) in expired {
            self.memory.bury_expired(id, tombstone);
        }
    }

    fn index(&self) -> MutexGuard<'_, SpillIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self) -> MutexGuard<'_, SpillFile> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
