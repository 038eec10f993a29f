//! Stores snapshots in the memory of this process.
//!
//! # Eviction
//! Each principal is guaranteed an equal share of the memory, and may use what others leave idle. If a new
//! snapshot does not fit, snapshots are evicted one by one:
//!
//! 1. While its principal would exceed its share, the principal's own least recently used snapshot.
//! 2. Then the least recently used snapshot of the principal that holds most, among those above their share. There is
//!    one: if all kept to their shares, the snapshot would fit.
//!
//! So a principal within its share never loses a snapshot to others, and the total is never exceeded. A
//! snapshot larger than a share that does not fit beside the memory of the others is refused, and nothing is
//! evicted for it. The share is the memory divided by the number of principals with snapshots, including the
//! new one, so a single principal has all of it.
//!
//! A snapshot that the store behind the memory has not got, or has refused, is never evicted: this is its only copy. If
//! nothing else can make room, the new snapshot is refused.
//!
//! In front of a temporary file, what the file has not got takes half of the memory: beyond that it is written, the least
//! recently used first.
//!
//! Data that queries computed from a snapshot, such as decoded columns, count as part of it. They are dropped before any
//! snapshot is evicted, those of the least recently used snapshot first.
//!
//! Expired snapshots are removed first, whenever the store is used. There is no background task.

mod cache;
mod cache_entry;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
mod tombstones;
mod unwritten;
mod usage;
mod views;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

use self::cache::SnapshotCache;
pub(super) use self::cache_entry::WholeSnapshot;
use self::cache_entry::{RemovalReason, RemovedSnapshot};
pub(super) use self::unwritten::QueuedWrite;
use super::{LookupResult, StoreLimits, StoreStats, StoreWriteError, StoredSnapshot, WriteResult};
use crate::call::ReuseKey;

/// Stores snapshots in memory, up to a number of bytes.
#[derive(Debug)]
pub struct MemoryStore {
    cache: Mutex<SnapshotCache>,
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new(limits: StoreLimits) -> Self {
        Self { cache: Mutex::new(SnapshotCache::new(limits, false)) }
    }

    /// Creates an empty store in front of another, which counts by itself what is lost.
    pub(super) fn in_front(limits: StoreLimits) -> Self {
        Self { cache: Mutex::new(SnapshotCache::new(limits, true)) }
    }

    /// Stores a snapshot, and assigns its reuse key to it in place of any earlier snapshot.
    ///
    /// # Errors
    /// [`StoreWriteError::NoCapacity`]; then nothing is evicted whose only copy is here.
    pub fn put(&self, scope: &Scope, new: StoredSnapshot, now: Instant) -> WriteResult {
        self.with_cache(|cache| cache.put(scope, new, now))
    }

    /// Stores a view of a stored snapshot. A view that is already stored counts as used, and gets the
    /// pagination of its first reply. Returns the view as it is stored now.
    ///
    /// # Errors
    /// If the snapshot is gone, or the view does not fit.
    pub fn put_view(&self, scope: &Scope, id: SnapshotId, view: View, now: Instant) -> WriteResult<View> {
        self.with_cache(|cache| {
            let view_id = view.id();
            cache.put_view(scope, id, view, now)?;
            cache
                .find(scope, id, view_id, now)
                .map(|stored| stored.view)
                .map_err(|_| StoreWriteError::SnapshotGone)
        })
    }

    /// Returns the snapshot and the view of a cursor.
    ///
    /// # Errors
    /// If the snapshot or the view is not stored.
    pub fn find(&self, scope: &Scope, id: SnapshotId, view: ViewId, now: Instant) -> LookupResult {
        self.with_cache(|cache| cache.find(scope, id, view, now))
    }

    /// Replaces a partial snapshot by the same with more blocks.
    pub(super) fn complete(&self, scope: &Scope, id: SnapshotId, snapshot: &Arc<Snapshot>) {
        self.with_cache(|cache| cache.complete(scope, id, snapshot));
    }

    /// Returns the last snapshot stored with a reuse key, with its root view, if it still exists.
    pub fn find_reusable(&self, scope: &Scope, reuse: ReuseKey, now: Instant) -> Option<StoredSnapshot> {
        self.with_cache(|cache| cache.find_reusable(scope, reuse, now))
    }

    /// Clears a reuse key, because a newer response to the same call was not stored.
    pub fn forget_reuse(&self, scope: &Scope, reuse: ReuseKey) {
        self.with_cache(|cache| cache.forget_reuse(scope, reuse));
    }

    /// Returns the statistics of the store.
    pub fn stats(&self, now: Instant) -> StoreStats {
        self.with_cache(|cache| cache.stats(now))
    }

    /// Removes a snapshot of a scope, because the store has a newer version.
    pub(super) fn discard(&self, scope: &Scope, id: SnapshotId) {
        self.with_cache(|cache| cache.entry_mut(scope, id).is_some().then(|| cache.detach(id)));
    }

    /// Counts a snapshot or view for which neither the memory nor the store has room.
    pub(super) fn count_refused(&self) {
        self.with_cache(|cache| cache.refused += 1);
    }

    /// Runs an operation on the cache. Removed snapshots are logged and freed after the lock is released,
    /// because both can take long.
    fn with_cache<T>(&self, act: impl FnOnce(&mut SnapshotCache) -> T) -> T {
        let (answer, departed) = {
            let mut guard = self.cache.lock();
            let answer = act(&mut guard);
            (answer, guard.take_removed())
        };
        departed.iter().for_each(log_removal);
        answer
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(StoreLimits::default())
    }
}

fn log_removal(departed: &RemovedSnapshot) {
    let endpoint = &*departed.endpoint_name();
    let bytes = departed.bytes();
    match departed.reason {
        RemovalReason::Evicted if departed.is_lost => {
            tracing::info!(
                endpoint,
                bytes,
                "evicted a snapshot to make room; its cursors return cursor_expired"
            );
        }
        RemovalReason::Evicted => tracing::debug!(endpoint, bytes, "a snapshot is in the store only"),
        RemovalReason::Expired => tracing::debug!(endpoint, bytes, "a snapshot expired"),
    }
}
