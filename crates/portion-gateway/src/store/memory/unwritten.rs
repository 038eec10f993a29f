//! Snapshots whose only copy is in memory, because the store behind it has not got them yet, or has refused them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::view::View;

use super::MemoryStore;
use super::cache::SnapshotCache;
use super::cache_entry::{CacheEntry, WholeSnapshot};
use super::usage::UseTick;
use crate::store::{SnapshotKey, StoreWriteError, StoredSnapshot, WriteResult};

/// A queued write. Until it succeeds, its snapshot is not evicted from memory. Dropped before, it has failed.
pub(in crate::store) struct QueuedWrite {
    memory: Arc<MemoryStore>,
    scope: Scope,
    id: SnapshotId,
    /// Distinguishes versions of a list that grows.
    created: UseTick,
    has_succeeded: bool,
}

impl QueuedWrite {
    /// Reports that the store has it.
    pub(in crate::store) fn succeed(mut self) {
        self.has_succeeded = true;
    }
}

impl Drop for QueuedWrite {
    fn drop(&mut self) {
        self.memory.with_cache(|cache| cache.finish_write(self));
    }
}

impl MemoryStore {
    /// Stores a snapshot that is to be written to the store.
    ///
    /// # Errors
    /// As for [`MemoryStore::put`].
    pub(in crate::store) fn put_unwritten(
        self: &Arc<Self>,
        scope: &Scope,
        new: StoredSnapshot,
        now: Instant,
    ) -> WriteResult<QueuedWrite> {
        let id = new.id;
        let created = self.with_cache(|cache| {
            cache.put(scope, new, now)?;
            cache.begin_write(scope, id)
        })?;
        Ok(self.queued_write(scope, id, created))
    }

    /// Stores a view that is to be written to the store.
    ///
    /// # Errors
    /// As for [`MemoryStore::put_view`].
    pub(in crate::store) fn put_view_unwritten(
        self: &Arc<Self>,
        scope: &Scope,
        id: SnapshotId,
        view: View,
        now: Instant,
    ) -> WriteResult<(View, QueuedWrite)> {
        let (view, created) = self.with_cache(|cache| {
            let view_id = view.id();
            cache.put_view(scope, id, view, now)?;
            let stored = cache.find(scope, id, view_id, now).map_err(|_| StoreWriteError::SnapshotGone)?;
            Ok::<_, StoreWriteError>((stored.view, cache.begin_write(scope, id)?))
        })?;
        Ok((view, self.queued_write(scope, id, created)))
    }

    /// Stores a snapshot that no store has taken. A scope below its share gets the place of others above theirs, even if this is
    /// their only copy.
    pub(in crate::store) fn put_by_share(
        &self,
        scope: &Scope,
        new: StoredSnapshot,
        now: Instant,
    ) -> WriteResult {
        self.with_cache(|cache| {
            cache.gives_way = true;
            let id = new.id;
            let stored = cache.put(scope, new, now);
            cache.gives_way = false;
            stored?;
            if let Some(entry) = cache.entry_mut(scope, id) {
                entry.writes.has_failed = true;
            }
            Ok(())
        })
    }

    /// Keeps a snapshot that was read from the store, if there is room. What the store has refused since stays instead.
    pub(in crate::store) fn put_read(&self, scope: &Scope, read: &StoredSnapshot, now: Instant) {
        self.with_cache(|cache| {
            let is_older = cache.has_failed_writes(scope, read.id)
                && cache
                    .find(scope, read.id, ViewId::default(), now)
                    .is_ok_and(|stored| !stored.snapshot.is_partial());
            if !is_older {
                let _ = cache.put(scope, read.clone(), now);
            }
        });
    }

    /// Returns true if this is the only copy of a snapshot, or of one of its views.
    pub(in crate::store) fn is_only_copy(&self, scope: &Scope, id: SnapshotId) -> bool {
        self.with_cache(|cache| cache.entry_mut(scope, id).is_some_and(|entry| !entry.writes.are_done()))
    }

    /// Returns a snapshot with its views.
    pub(in crate::store) fn whole(&self, scope: &Scope, id: SnapshotId) -> Option<WholeSnapshot> {
        self.with_cache(|cache| {
            let entry = cache.entries.get(&id).filter(|entry| entry.scope == *scope)?;
            let idle =
                entry.expires_at.zip(cache.latest_now).map(|(at, now)| at.saturating_duration_since(now));
            Some(WholeSnapshot {
                snapshot: entry.to_stored(entry.views.root.clone()),
                views: entry.views.recent().cloned().collect(),
                reuse_key: cache.current_reuse_key(scope, id),
                unused_for: idle.map_or(Duration::ZERO, |left| cache.limits.ttl.saturating_sub(left)),
                last_used: entry.last_used,
            })
        })
    }

    /// Returns at most `count` snapshots to write, so that what the store has not got takes half of the memory at most: the
    /// least recently used first.
    pub(in crate::store) fn to_write(&self, count: usize) -> Vec<SnapshotKey> {
        self.with_cache(|cache| cache.to_write(count))
    }

    /// Returns true if the store has refused a snapshot, or one of its views.
    pub(in crate::store) fn has_failed_writes(&self, scope: &Scope, id: SnapshotId) -> bool {
        self.with_cache(|cache| cache.has_failed_writes(scope, id))
    }

    /// Reports that the store has a snapshot again whose writes had failed. Returns true if it was used since `last_used`.
    pub(in crate::store) fn mark_rewritten(
        &self,
        scope: &Scope,
        stored: &StoredSnapshot,
        last_used: UseTick,
    ) -> bool {
        self.with_cache(|cache| {
            let entry = cache.entry_mut(scope, stored.id);
            let entry = entry.filter(|entry| Arc::ptr_eq(&entry.stored.snapshot, &stored.snapshot));
            entry.is_some_and(|entry| {
                entry.writes.has_failed = false;
                entry.last_used != last_used
            })
        })
    }

    fn queued_write(self: &Arc<Self>, scope: &Scope, id: SnapshotId, created: UseTick) -> QueuedWrite {
        QueuedWrite { memory: Arc::clone(self), scope: *scope, id, created, has_succeeded: false }
    }
}

impl SnapshotCache {
    fn has_failed_writes(&mut self, scope: &Scope, id: SnapshotId) -> bool {
        self.entry_mut(scope, id).is_some_and(|entry| entry.writes.has_failed)
    }

    /// Counts a queued write. Returns the creation of the entry.
    fn begin_write(&mut self, scope: &Scope, id: SnapshotId) -> WriteResult<UseTick> {
        let entry = self.entry_mut(scope, id).ok_or(StoreWriteError::SnapshotGone)?;
        entry.writes.queued += 1;
        Ok(entry.created)
    }

    fn finish_write(&mut self, write: &QueuedWrite) {
        let entry = self.entry_mut(&write.scope, write.id);
        if let Some(entry) = entry.filter(|entry| entry.created == write.created) {
            entry.writes.queued = entry.writes.queued.saturating_sub(1);
            entry.writes.has_failed |= !write.has_succeeded;
        }
    }

    fn to_write(&self, count: usize) -> Vec<SnapshotKey> {
        let (mut kept, max) = (0, self.limits.memory_bytes / 2);
        if self.bytes <= max {
            return Vec::new();
        }
        let entries = self.by_last_use.values().rev().filter_map(|id| self.entries.get(id));
        let exceeds = |entry: &&CacheEntry| {
            kept += entry.bytes;
            kept > max
        };
        let beyond: Vec<&CacheEntry> =
            entries.filter(|entry| !entry.writes.are_done()).filter(exceeds).collect();
        let oldest = beyond.into_iter().rev().take(count);
        oldest.map(|entry| SnapshotKey { scope: entry.scope, id: entry.stored.id }).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use portion_core::cursor::{Scope, ViewId};

    use super::super::tests::{bytes_of, new_snapshot};
    use super::*;
    use crate::store::StoreLimits;

    fn memory(entries: usize) -> Arc<MemoryStore> {
        let memory_bytes = entries * bytes_of(new_snapshot(1), &[]);
        Arc::new(MemoryStore::new(StoreLimits { memory_bytes, ..StoreLimits::default() }))
    }

    fn has(memory: &MemoryStore, scope: &Scope, id: u8) -> bool {
        memory.find(scope, [id; 6], ViewId::default(), Instant::now()).is_ok()
    }

    #[test]
    fn what_the_store_has_is_evicted_first() {
        let (memory, scope, now) = (memory(2), Scope::from_principal("ada"), Instant::now());
        let lost = memory.put_unwritten(&scope, new_snapshot(1), now).expect("there is room");
        memory.put_unwritten(&scope, new_snapshot(2), now).expect("there is room").succeed();
        drop(lost);
        memory.put_unwritten(&scope, new_snapshot(3), now).expect("the second is evicted").succeed();
        assert!(has(&memory, &scope, 1) && !has(&memory, &scope, 2) && has(&memory, &scope, 3));
    }

    #[test]
    fn the_only_copy_stays_and_the_new_one_is_refused() {
        let (memory, ada, bob) = (memory(2), Scope::from_principal("ada"), Scope::from_principal("bob"));
        let now = Instant::now();
        let queued =
            [1, 2].map(|id| memory.put_unwritten(&ada, new_snapshot(id), now).expect("there is room"));
        for scope in [&ada, &bob] {
            assert!(memory.put_unwritten(scope, new_snapshot(3), now).is_err());
            assert!(memory.put(scope, new_snapshot(3), now).is_err());
        }
        assert!(has(&memory, &ada, 1) && has(&memory, &ada, 2));
        queued.into_iter().for_each(QueuedWrite::succeed);
        assert!(memory.put(&bob, new_snapshot(3), now).is_ok(), "now the store has both");
    }

    #[test]
    fn a_failed_write_counts_until_the_snapshot_is_written_again() {
        let (memory, scope, now) = (memory(1), Scope::from_principal("ada"), Instant::now());
        drop(memory.put_unwritten(&scope, new_snapshot(1), now));
        assert!(memory.put(&scope, new_snapshot(2), now).is_err());
        let stored = memory.find(&scope, [1; 6], ViewId::default(), now).expect("it is kept");
        memory.mark_rewritten(&Scope::from_principal("bob"), &stored, 0);
        assert!(memory.put(&scope, new_snapshot(2), now).is_err(), "another caller's");
        let last_used = memory.whole(&scope, [1; 6]).expect("it is kept").last_used;
        assert!(!memory.mark_rewritten(&scope, &stored, last_used));
        assert!(has(&memory, &scope, 1));
        assert!(memory.mark_rewritten(&scope, &stored, last_used), "it was used since");
        assert!(memory.put(&scope, new_snapshot(2), now).is_ok());
    }

    #[test]
    fn a_write_of_an_earlier_version_does_not_count_for_the_later() {
        let (memory, scope, now) = (memory(1), Scope::from_principal("ada"), Instant::now());
        let earlier = memory.put_unwritten(&scope, new_snapshot(1), now).expect("there is room");
        let later = memory.put_unwritten(&scope, new_snapshot(1), now).expect("it replaces the earlier");
        earlier.succeed();
        assert!(memory.put(&scope, new_snapshot(2), now).is_err());
        later.succeed();
        assert!(memory.put(&scope, new_snapshot(2), now).is_ok());
    }
}
