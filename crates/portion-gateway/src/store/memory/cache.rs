//! The snapshot cache: entries, eviction and expiry, without locks or waiting.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

use super::cache_entry::{CacheEntry, RemovalReason, RemovedSnapshot, StoreWrites};
use super::tombstones::{Tombstone, Tombstones};
use super::usage::{UsageByScope, UsageEntry, UseTick};
use super::views::{self, ViewCache};
use crate::call::ReuseKey;
use crate::store::{
    LookupResult, StoreLimits, StoreLookupError, StoreStats, StoreWriteError, StoredSnapshot, WriteResult,
};

/// Bytes per snapshot besides its content: index entries and the root view.
const OVERHEAD_BYTES: usize = 1024;

/// Snapshots with their indexes.
#[derive(Debug, Default)]
pub(super) struct SnapshotCache {
    pub(super) limits: StoreLimits,
    /// True if a store behind it has what it evicts.
    has_store: bool,
    /// True while a scope below its share may get the place of what the store has not got.
    pub(super) gives_way: bool,
    pub(super) entries: HashMap<SnapshotId, CacheEntry>,
    /// All snapshots, the least recently used first. Every use restarts the same time to live, so this is
    /// also the order of expiry.
    pub(super) by_last_use: BTreeMap<UseTick, SnapshotId>,
    usage: UsageByScope,
    tombstones: Tombstones,
    pub(super) bytes: usize,
    /// Snapshots that were read since their derived data were counted.
    uncounted: HashSet<SnapshotId>,
    /// Snapshots with derived data, which are counted in their size.
    with_derived: HashSet<SnapshotId>,
    last_tick: UseTick,
    /// Latest time seen, because concurrent callers may pass their times out of order.
    pub(super) latest_now: Option<Instant>,
    removed: Vec<RemovedSnapshot>,
    evicted: u64,
    expired: u64,
    pub(super) refused: u64,
}

impl SnapshotCache {
    pub(super) fn new(limits: StoreLimits, has_store: bool) -> Self {
        Self { limits, has_store, ..Self::default() }
    }

    pub(super) fn put(&mut self, scope: &Scope, new: StoredSnapshot, now: Instant) -> WriteResult {
        let now = self.expire(now);
        let mut views = ViewCache::new(&new.snapshot, &new.view);
        let name = new.endpoint.as_ref().map_or(0, |endpoint| endpoint.name.len());
        let arguments = new.arguments.as_ref().map_or(0, |arguments| arguments.len());
        let root_id = views.root.id();
        if new.view.id() != root_id {
            let weight = views::view_bytes(&new.view);
            views.add(new.view, weight);
        }
        let bytes = new.snapshot.heap_bytes() + name + arguments + OVERHEAD_BYTES + views.bytes;
        if views.bytes > views.capacity_bytes {
            return self.reject(views.bytes, views.capacity_bytes);
        }
        let replaced = self.entries.get(&new.id).map(|entry| entry.bytes);
        let growth = bytes.saturating_sub(replaced.unwrap_or_default());
        self.evict_for(scope, growth, replaced.map(|_| new.id))?;
        // Ids are random, so this is a repeated write, or a list that has grown, which keeps its reuse key.
        let reuse_key = new.reuse_key.or_else(|| self.current_reuse_key(scope, new.id));
        self.detach(new.id);
        let (tick, expires) = (self.next_tick(), now.checked_add(self.limits.ttl));
        self.by_last_use.insert(tick, new.id);
        self.usage.add(*scope, UsageEntry { id: new.id, last_used: tick, bytes, reuse_key });
        self.bytes += bytes;
        let entry = CacheEntry {
            scope: *scope,
            stored: StoredSnapshot { view: View::root(), reuse_key: None, ..new },
            views,
            reuse_key,
            bytes,
            derived_bytes: 0,
            created: tick,
            last_used: tick,
            writes: StoreWrites::default(),
            expires_at: expires,
        };
        self.entries.insert(entry.stored.id, entry);
        Ok(())
    }

    /// Replaces a partial snapshot by the same with more blocks. Missing blocks count as if they were there, so its size
    /// stays the same.
    pub(super) fn complete(&mut self, scope: &Scope, id: SnapshotId, snapshot: &Arc<Snapshot>) {
        let entry = self.entry_mut(scope, id);
        if let Some(entry) = entry.filter(|entry| entry.stored.snapshot.is_partial()) {
            entry.stored.snapshot = Arc::clone(snapshot);
        }
    }

    pub(super) fn put_view(
        &mut self,
        scope: &Scope,
        id: SnapshotId,
        view: View,
        now: Instant,
    ) -> WriteResult {
        let now = self.expire(now);
        let Some(slot) = self.entry_mut(scope, id) else {
            return Err(StoreWriteError::SnapshotGone);
        };
        if slot.views.get(view.id()).is_some() {
            slot.views.inherit_pace(&view);
            self.touch(id, now);
            return Ok(());
        }
        let (bytes, room) = (views::view_bytes(&view), slot.views.capacity_bytes);
        if bytes > room {
            return self.reject(bytes, room);
        }
        let freed = slot.views.evict_for(bytes);
        let before = slot.bytes;
        self.resize(id, before - freed);
        self.touch(id, now);
        self.evict_for(scope, bytes, Some(id))?;
        if let Some(slot) = self.entries.get_mut(&id) {
            slot.views.add(view, bytes);
            let grown = slot.bytes + bytes;
            self.resize(id, grown);
        }
        Ok(())
    }

    pub(super) fn find(&mut self, scope: &Scope, id: SnapshotId, view: ViewId, now: Instant) -> LookupResult {
        let now = self.expire(now);
        let Some(slot) = self.entry_mut(scope, id) else {
            let gone = |tombstone: &Tombstone| StoreLookupError::SnapshotGone {
                endpoint: tombstone.endpoint.clone(),
                arguments: tombstone.arguments.clone(),
                origin_snapshot: tombstone.origin_snapshot,
            };
            return Err(self.tombstones.find(scope, id).map_or(StoreLookupError::Unknown, gone));
        };
        let found = match slot.views.get(view) {
            Some(view) => Ok(slot.to_stored(view)),
            None => {
                Err(StoreLookupError::ViewGone { root: Box::new(slot.to_stored(slot.views.root.clone())) })
            }
        };
        self.touch(id, now);
        self.uncounted.insert(id);
        found
    }

    pub(super) fn find_reusable(
        &mut self,
        scope: &Scope,
        reuse: ReuseKey,
        now: Instant,
    ) -> Option<StoredSnapshot> {
        let now = self.expire(now);
        let id = self.usage.find_reusable(scope, reuse)?;
        let slot = self.entries.get(&id)?;
        let stored = slot.to_stored(slot.views.root.clone());
        self.touch(id, now);
        self.uncounted.insert(id);
        Some(stored)
    }

    /// Returns the reuse key of a snapshot, unless a later one has taken it over.
    pub(super) fn current_reuse_key(&self, scope: &Scope, id: SnapshotId) -> Option<ReuseKey> {
        let entry = self.entries.get(&id).filter(|entry| entry.scope == *scope)?;
        entry.reuse_key.filter(|reuse| self.usage.find_reusable(scope, *reuse) == Some(id))
    }

    pub(super) fn forget_reuse(&mut self, scope: &Scope, reuse: ReuseKey) {
        self.usage.forget_reuse(scope, reuse);
    }

    pub(super) fn stats(&mut self, now: Instant) -> StoreStats {
        self.expire(now);
        self.count_derived(0);
        StoreStats {
            snapshots: self.entries.len(),
            principals: self.usage.scope_count(),
            bytes: self.bytes,
            spilled: 0,
            spilled_bytes: 0,
            evicted: self.evicted,
            expired: self.expired,
            refused: self.refused,
        }
    }

    /// Returns the snapshots that were removed since the last call.
    pub(super) fn take_removed(&mut self) -> Vec<RemovedSnapshot> {
        std::mem::take(&mut self.removed)
    }

    /// Returns the snapshot of a scope.
    pub(super) fn entry_mut(&mut self, scope: &Scope, id: SnapshotId) -> Option<&mut CacheEntry> {
        self.entries.get_mut(&id).filter(|entry| entry.scope == *scope)
    }

    /// Evicts until `bytes` more of a scope fit, by the rules of the [module](super). `keep` must stay.
    fn evict_for(&mut self, scope: &Scope, bytes: usize, keep: Option<SnapshotId>) -> WriteResult {
        self.count_derived(bytes);
        let room = self.room(scope, keep);
        if bytes > room {
            return self.reject(bytes, room);
        }
        while let Some(id) = self.next_eviction(scope, bytes, keep) {
            if !self.remove(id, RemovalReason::Evicted) {
                return self.reject(bytes, room);
            }
        }
        if self.fits(bytes) { Ok(()) } else { self.reject(bytes, room) }
    }

    /// Counts the derived data of the snapshots that were read, and drops some until `bytes` more fit.
    pub(super) fn count_derived(&mut self, bytes: usize) {
        for id in std::mem::take(&mut self.uncounted) {
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            let derived = entry.stored.snapshot.derived().byte_count();
            let with_derived = entry.bytes - entry.derived_bytes + derived;
            entry.derived_bytes = derived;
            if derived > 0 {
                self.with_derived.insert(id);
            }
            self.resize(id, with_derived);
        }
        while !self.fits(bytes) && !self.with_derived.is_empty() {
            let last_use = |id: &SnapshotId| self.entries.get(id).map_or(0, |entry| entry.last_used);
            let Some(id) = self.with_derived.iter().copied().min_by_key(last_use) else { return };
            self.with_derived.remove(&id);
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            entry.stored.snapshot.derived().clear();
            let rest = entry.bytes - std::mem::take(&mut entry.derived_bytes);
            self.resize(id, rest);
        }
    }

    /// Returns the bytes that a scope can have beside the others, and beside `keep`, which must stay.
    pub(super) fn room(&self, scope: &Scope, keep: Option<SnapshotId>) -> usize {
        let fixed = keep.and_then(|id| self.entries.get(&id)).map_or(0, |entry| entry.bytes);
        let memory = self.limits.memory_bytes;
        let share = memory / self.usage.scope_count_with(scope);
        let others = self.bytes - self.usage.bytes(scope);
        (memory - others).max(share).saturating_sub(fixed)
    }

    /// Returns the snapshot to evict next, so that `bytes` more of a scope fit; `None` if they fit, or if nothing besides
    /// `keep` can be evicted.
    pub(super) fn next_eviction(
        &self,
        scope: &Scope,
        bytes: usize,
        keep: Option<SnapshotId>,
    ) -> Option<SnapshotId> {
        if self.fits(bytes) {
            return None;
        }
        let share = self.limits.memory_bytes / self.usage.scope_count_with(scope);
        let is_evictable = |id: &SnapshotId| {
            Some(*id) != keep && self.entries.get(id).is_some_and(|entry| entry.writes.are_done())
        };
        if self.usage.bytes(scope) + bytes > share {
            return self.usage.oldest(scope, is_evictable);
        }
        let oldest = |is_selected: &dyn Fn(&SnapshotId) -> bool| {
            self.usage.others_above(share, scope).find_map(|other| self.usage.oldest(other, is_selected))
        };
        oldest(&is_evictable).or_else(|| if self.gives_way { oldest(&|_| true) } else { None })
    }

    fn fits(&self, bytes: usize) -> bool {
        self.bytes + bytes <= self.limits.memory_bytes
    }

    /// Removes expired snapshots. Returns the current time, which never runs backwards.
    pub(super) fn expire(&mut self, now: Instant) -> Instant {
        let now = self.latest_now.map_or(now, |clock| clock.max(now));
        self.latest_now = Some(now);
        while let Some((_, &id)) = self.by_last_use.first_key_value()
            && self.entries.get(&id).is_some_and(|slot| slot.expires_at.is_some_and(|at| at <= now))
            && self.remove(id, RemovalReason::Expired)
        {}
        now
    }

    /// Removes a snapshot. Returns true if it existed.
    pub(super) fn remove(&mut self, id: SnapshotId, reason: RemovalReason) -> bool {
        let Some(slot) = self.detach(id) else { return false };
        let StoredSnapshot { endpoint, arguments, origin_snapshot, .. } = slot.stored.clone();
        // The source of a snapshot that is gone is remembered.
        let tombstone = Tombstone { scope: slot.scope, endpoint, arguments, origin_snapshot };
        self.tombstones.add(id, tombstone);
        let is_lost = !self.has_store || !slot.writes.are_done();
        match reason {
            RemovalReason::Evicted => self.evicted += u64::from(is_lost),
            RemovalReason::Expired => self.expired += u64::from(is_lost),
        }
        self.removed.push(RemovedSnapshot { entry: slot, reason, is_lost });
        true
    }

    pub(super) fn detach(&mut self, id: SnapshotId) -> Option<CacheEntry> {
        let slot = self.entries.remove(&id)?;
        self.with_derived.remove(&id);
        let entry =
            UsageEntry { id, last_used: slot.last_used, bytes: slot.bytes, reuse_key: slot.reuse_key };
        self.usage.remove(&slot.scope, entry);
        self.by_last_use.remove(&slot.last_used);
        self.bytes -= slot.bytes;
        Some(slot)
    }

    fn touch(&mut self, id: SnapshotId, now: Instant) {
        let tick = self.next_tick();
        if let Some(slot) = self.entries.get_mut(&id) {
            self.by_last_use.remove(&slot.last_used);
            self.by_last_use.insert(tick, id);
            self.usage.touch(&slot.scope, slot.last_used, tick);
            slot.last_used = tick;
            slot.expires_at = now.checked_add(self.limits.ttl);
        }
    }

    fn resize(&mut self, id: SnapshotId, bytes: usize) {
        if let Some(slot) = self.entries.get_mut(&id) {
            self.usage.resize(&slot.scope, slot.bytes, bytes);
            self.bytes = self.bytes - slot.bytes + bytes;
            slot.bytes = bytes;
        }
    }

    fn reject(&mut self, bytes: usize, room: usize) -> WriteResult {
        // A store may have room.
        self.refused += u64::from(!self.has_store);
        Err(StoreWriteError::NoCapacity { bytes, room })
    }

    fn next_tick(&mut self) -> UseTick {
        self.last_tick += 1;
        self.last_tick
    }
}

#[cfg(test)]
impl SnapshotCache {
    /// Returns the bytes of a scope.
    pub(super) fn used(&self, scope: &Scope) -> usize {
        self.usage.bytes(scope)
    }

    /// Returns the number of scopes with snapshots, including this one.
    pub(super) fn principals_with(&self, scope: &Scope) -> usize {
        self.usage.scope_count_with(scope)
    }

    /// Asserts that redundant indexes agree.
    pub(super) fn assert_consistent(&self) {
        assert_eq!(self.bytes, self.entries.values().map(|slot| slot.bytes).sum::<usize>());
        assert_eq!(self.by_last_use.len(), self.entries.len());
        for (id, slot) in &self.entries {
            assert_eq!(self.by_last_use.get(&slot.last_used), Some(id));
            let own = self.entries.values().filter(|other| other.scope == slot.scope);
            assert_eq!(self.usage.bytes(&slot.scope), own.map(|slot| slot.bytes).sum::<usize>());
            assert!(slot.views.bytes <= slot.views.capacity_bytes);
        }
    }
}
