//! Memory in front of a temporary file.
//!
//! The file gets only what the memory may soon have no room for, so that a promised time to live is kept. If neither
//! has room, a new snapshot is refused, so its reply has no cursor; nothing is evicted for it, unless its caller is below its
//! share. A file that cannot be opened, written or read fails no request: it has no room.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

use super::disk::DiskUsage;
use super::write_behind::{WriteBehind, rewrite};
use super::{
    CachedStore, DiskStore, MemoryStore, SnapshotKey, StoreLimits, StoreStats, StoreWriteError,
    StoredSnapshot, WriteResult,
};

/// Largest number of snapshots that are moved to a temporary file for a new one.
const MAX_MOVED: usize = 4;

/// The temporary file, and the thread that writes to it.
pub(super) struct TemporaryFile {
    disk: DiskStore,
    pub(super) behind: WriteBehind,
    /// True once something was written.
    is_used: AtomicBool,
}

impl TemporaryFile {
    /// Adds what is in the file to the statistics of the memory.
    pub(super) fn add_to(&self, stats: StoreStats) -> StoreStats {
        let DiskUsage { snapshots, bytes, evicted, expired } = self.disk.usage();
        StoreStats {
            spilled: snapshots,
            spilled_bytes: bytes,
            evicted: stats.evicted + evicted,
            expired: stats.expired + expired,
            ..stats
        }
    }
}

impl CachedStore {
    /// Stores in memory, and in a temporary file what the memory has no room for.
    pub fn with_temporary_file(limits: StoreLimits, disk: DiskStore) -> Self {
        let behind = WriteBehind::new(Arc::new(disk.clone()), false);
        let temporary = TemporaryFile { disk, behind, is_used: AtomicBool::new(false) };
        let memory = Arc::new(MemoryStore::in_front(limits));
        Self { memory, behind: None, temporary: Some(Arc::new(temporary)) }
    }

    /// Returns the temporary file, once something was written.
    pub(super) fn temporary_in_use(&self) -> Option<&TemporaryFile> {
        self.temporary.as_deref().filter(|file| file.is_used.load(Ordering::SeqCst))
    }

    /// Stores a snapshot in memory, and moves others to the temporary file; else in the file.
    pub(super) async fn put_spilling(
        &self,
        temporary: &TemporaryFile,
        scope: &Scope,
        new: StoredSnapshot,
        now: Instant,
    ) -> WriteResult {
        let (key, reuse) = (SnapshotKey { scope: *scope, id: new.id }, new.reuse_key);
        if let (Some(reuse), Some(behind)) = (reuse, self.in_use()) {
            behind.set_reusable_later(*scope, reuse, None).await;
        }
        let refused = match self.memory.put_unwritten(scope, new.clone(), now) {
            Ok(unwritten) => {
                drop(unwritten);
                for key in self.memory.to_write(MAX_MOVED) {
                    temporary.is_used.store(true, Ordering::SeqCst);
                    temporary.behind.move_later(key, &self.memory);
                }
                return Ok(());
            }
            Err(refused) => refused,
        };
        temporary.is_used.store(true, Ordering::SeqCst);
        if temporary.behind.put_in_turn(key, new.clone(), &self.memory).await.is_err() {
            let stored = self.memory.put_by_share(scope, new, now);
            return stored.map_err(|_| self.refuse(refused));
        }
        if let Some(reuse) = reuse {
            self.memory.forget_reuse(scope, reuse);
            temporary.behind.set_reusable_later(*scope, reuse, Some(key.id)).await;
        }
        Ok(())
    }

    /// Stores a view in memory, and in the temporary file if that has its snapshot. Without room in memory, the snapshot is
    /// written as well.
    pub(super) async fn put_view_spilling(
        &self,
        temporary: &TemporaryFile,
        scope: &Scope,
        id: SnapshotId,
        (snapshot, view): (&Arc<Snapshot>, View),
        now: Instant,
    ) -> WriteResult {
        let (behind, key) = (&temporary.behind, SnapshotKey { scope: *scope, id });
        let refused = match self.memory.put_view_unwritten(scope, id, view.clone(), now) {
            Ok((view, write)) => {
                if temporary.is_used.load(Ordering::SeqCst) {
                    behind.put_view_later(key, snapshot, view, write);
                }
                return Ok(());
            }
            Err(refused) => refused,
        };
        if let Some(whole) = self.memory.whole(scope, id)
            && self.memory.is_only_copy(scope, id)
        {
            temporary.is_used.store(true, Ordering::SeqCst);
            if rewrite(&*behind.store, key, whole, &self.memory).await.is_err() {
                return Err(self.refuse(refused));
            }
        }
        match self.in_use() {
            Some(behind) => behind.put_view_now(key, snapshot, &view).await.map_err(|error| match error {
                StoreWriteError::SnapshotGone => error,
                _ => self.refuse(refused),
            }),
            None => Err(refused),
        }
    }

    /// Counts what neither the memory nor the temporary file has room for.
    fn refuse(&self, refused: StoreWriteError) -> StoreWriteError {
        self.memory.count_refused();
        refused
    }
}
