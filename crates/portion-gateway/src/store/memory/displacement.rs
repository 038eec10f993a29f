//! Snapshots that leave the cache for a file instead of being evicted.

use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId};

use super::cache::SnapshotCache;
use super::cache_entry::{CacheEntry, DisplacedSnapshot, RemovalReason};
use crate::store::NewSnapshot;

impl SnapshotCache {
    /// Returns the snapshot that has to leave next, so that `bytes` more of a scope fit; `None` if they fit, or if
    /// that is not possible. `keep` must stay.
    pub(super) fn next_displaced(
        &mut self,
        scope: &Scope,
        bytes: usize,
        keep: Option<SnapshotId>,
        now: Instant,
    ) -> Option<DisplacedSnapshot> {
        self.expire(now);
        self.count_derived(bytes);
        if bytes > self.room(scope, keep) {
            return None;
        }
        let id = self.next_eviction(scope, bytes, keep)?;
        self.entries.get(&id).map(CacheEntry::displaced)
    }

    /// Returns a snapshot of a scope that is to leave.
    pub(super) fn displaced(&self, scope: &Scope, id: SnapshotId) -> Option<DisplacedSnapshot> {
        self.entries.get(&id).filter(|entry| entry.scope == *scope).map(CacheEntry::displaced)
    }

    /// Removes a snapshot that was written to the file. Returns false if it was used meanwhile: then it stays.
    pub(super) fn release(&mut self, displaced: &DisplacedSnapshot) -> bool {
        self.is_unchanged(displaced) && self.detach(displaced.deposit.id).is_some()
    }

    /// Evicts a snapshot that could not be written, unless it was used meanwhile.
    pub(super) fn evict(&mut self, displaced: &DisplacedSnapshot) {
        if self.is_unchanged(displaced) {
            self.remove(displaced.deposit.id, RemovalReason::Evicted);
        }
    }

    /// Removes a snapshot of a scope, because the file has a newer version.
    pub(super) fn discard(&mut self, scope: &Scope, id: SnapshotId) {
        if self.entries.get(&id).is_some_and(|entry| entry.scope == *scope) {
            self.detach(id);
        }
    }

    /// Counts snapshots that left the file.
    pub(super) fn count_expired(&mut self) {
        self.expired += 1;
    }

    /// Counts a snapshot or view for which neither the memory nor the file has room.
    pub(super) fn count_refused(&mut self) {
        self.refused += 1;
    }

    fn is_unchanged(&self, displaced: &DisplacedSnapshot) -> bool {
        self.entries.get(&displaced.deposit.id).is_some_and(|entry| entry.last_used == displaced.last_used)
    }
}

impl CacheEntry {
    fn displaced(&self) -> DisplacedSnapshot {
        let stored = self.to_stored(self.views.root().clone());
        DisplacedSnapshot {
            scope: self.scope,
            deposit: NewSnapshot { reuse_key: self.reuse_key, ..stored.into() },
            views: self.views.recent().cloned().collect(),
            expires_at: self.expires_at,
            last_used: self.last_used,
        }
    }
}
