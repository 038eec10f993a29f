//! The snapshot cache: entries, eviction and expiry, without locks or waiting.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_policy::endpoint::Endpoint;

use super::tombstones::{Tombstone, Tombstones};
use super::usage::{UsageByScope, UsageEntry, UseTick};
use super::views::{self, ViewCache};
use crate::reuse_key::ReuseKey;
use crate::rules::EndpointRule;
use crate::store::{
    NewSnapshot, RedactionId, StoreLimits, StoreLookupError, StoreStats, StoreWriteError, StoredSnapshot,
};

/// Bytes per snapshot besides its content: index entries and the root view.
const OVERHEAD_BYTES: usize = 1024;

#[derive(Debug)]
pub(super) struct SnapshotCache {
    limits: StoreLimits,
    entries: HashMap<SnapshotId, CacheEntry>,
    /// All snapshots, the least recently used first. Every use restarts the same time to live, so this is
    /// also the order of expiry.
    by_last_use: BTreeMap<UseTick, SnapshotId>,
    usage: UsageByScope,
    tombstones: Tombstones,
    bytes: usize,
    last_tick: UseTick,
    /// Latest time seen, because concurrent callers may pass their times out of order.
    latest_now: Option<Instant>,
    removed: Vec<RemovedSnapshot>,
    evicted: u64,
    expired: u64,
    refused: u64,
}

#[derive(Debug)]
struct CacheEntry {
    id: SnapshotId,
    scope: Scope,
    snapshot: Arc<Snapshot>,
    views: ViewCache,
    endpoint: Option<Arc<Endpoint>>,
    rule: Option<Arc<EndpointRule>>,
    redaction: Option<RedactionId>,
    origin_snapshot: SnapshotId,
    reuse_key: Option<ReuseKey>,
    bytes: usize,
    last_used: UseTick,
    /// `None` if the time is beyond the range of the clock.
    expires_at: Option<Instant>,
}

/// A snapshot that was removed from the cache and has to be freed.
#[derive(Debug)]
pub(super) struct RemovedSnapshot {
    entry: CacheEntry,
    pub(super) reason: RemovalReason,
}

/// Reason why a snapshot was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemovalReason {
    Evicted,
    Expired,
}

impl RemovedSnapshot {
    #[cfg(test)]
    pub(super) fn id(&self) -> SnapshotId {
        self.entry.id
    }

    pub(super) fn bytes(&self) -> usize {
        self.entry.bytes
    }

    pub(super) fn endpoint_name(&self) -> Cow<'_, str> {
        Endpoint::log_name(self.entry.endpoint.as_deref())
    }
}

impl SnapshotCache {
    pub(super) fn new(limits: StoreLimits) -> Self {
        Self {
            limits,
            entries: HashMap::new(),
            by_last_use: BTreeMap::new(),
            usage: UsageByScope::default(),
            tombstones: Tombstones::default(),
            bytes: 0,
            last_tick: 0,
            latest_now: None,
            removed: Vec::new(),
            evicted: 0,
            expired: 0,
            refused: 0,
        }
    }

    pub(super) fn put(
        &mut self,
        scope: &Scope,
        deposit: NewSnapshot,
        now: Instant,
    ) -> Result<(), StoreWriteError> {
        let now = self.expire(now);
        let mut views = ViewCache::new(&deposit.snapshot, &deposit.view);
        let name = deposit.endpoint.as_ref().map_or(0, |endpoint| endpoint.name.len());
        let mut bytes = deposit.snapshot.heap_bytes() + name + OVERHEAD_BYTES;
        if deposit.view.id() != views.root().id() {
            let weight = views::view_bytes(&deposit.view);
            views.add(deposit.view, weight);
            bytes += weight;
        }
        if views.bytes() > views.capacity_bytes() {
            return self.reject(views.bytes(), views.capacity_bytes());
        }
        self.evict_for(scope, bytes, 0)?;
        // Ids are random, so this is a repeated write, or a list that has grown.
        self.detach(deposit.id);
        let (tick, expires) = (self.next_tick(), now.checked_add(self.limits.ttl));
        self.by_last_use.insert(tick, deposit.id);
        self.usage
            .add(*scope, UsageEntry { id: deposit.id, last_used: tick, bytes, reuse_key: deposit.reuse_key });
        self.bytes += bytes;
        let NewSnapshot {
            id,
            snapshot,
            endpoint,
            reuse_key: reuse,
            rule,
            redaction,
            origin_snapshot: origin,
            ..
        } = deposit;
        self.entries.insert(
            id,
            CacheEntry {
                id,
                scope: *scope,
                snapshot,
                views,
                endpoint,
                rule,
                redaction,
                origin_snapshot: origin,
                reuse_key: reuse,
                bytes,
                last_used: tick,
                expires_at: expires,
            },
        );
        Ok(())
    }

    pub(super) fn put_view(
        &mut self,
        scope: &Scope,
        id: SnapshotId,
        view: View,
        now: Instant,
    ) -> Result<(), StoreWriteError> {
        let now = self.expire(now);
        let Some(slot) = self.entries.get_mut(&id).filter(|slot| slot.scope == *scope) else {
            return Err(StoreWriteError::SnapshotGone);
        };
        if slot.views.get(view.id()).is_some() {
            slot.views.inherit_pace(&view);
            self.touch(id, now);
            return Ok(());
        }
        let (bytes, room) = (views::view_bytes(&view), slot.views.capacity_bytes());
        if bytes > room {
            return self.reject(bytes, room);
        }
        let freed = slot.views.evict_for(bytes);
        let before = slot.bytes;
        self.resize(id, before - freed);
        // As the most recently used snapshot of its scope it is evicted last; `evict_for` refuses before that.
        self.touch(id, now);
        self.evict_for(scope, bytes, before - freed)?;
        if let Some(slot) = self.entries.get_mut(&id) {
            slot.views.add(view, bytes);
        }
        self.resize(id, before - freed + bytes);
        Ok(())
    }

    pub(super) fn find(
        &mut self,
        scope: &Scope,
        id: SnapshotId,
        view: ViewId,
        now: Instant,
    ) -> Result<StoredSnapshot, StoreLookupError> {
        let now = self.expire(now);
        let Some(slot) = self.entries.get_mut(&id).filter(|slot| slot.scope == *scope) else {
            let gone = |tombstone: &Tombstone| StoreLookupError::SnapshotGone {
                endpoint: tombstone.endpoint.clone(),
                origin_snapshot: tombstone.origin_snapshot,
            };
            return Err(self.tombstones.find(scope, id).map_or(StoreLookupError::Unknown, gone));
        };
        let found = match slot.views.get(view) {
            Some(view) => Ok(slot.to_stored(view)),
            None => {
                Err(StoreLookupError::ViewGone { root: Box::new(slot.to_stored(slot.views.root().clone())) })
            }
        };
        self.touch(id, now);
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
        let held = slot.to_stored(slot.views.root().clone());
        self.touch(id, now);
        Some(held)
    }

    pub(super) fn forget_reuse(&mut self, scope: &Scope, reuse: ReuseKey) {
        self.usage.forget_reuse(scope, reuse);
    }

    pub(super) fn stats(&mut self, now: Instant) -> StoreStats {
        self.expire(now);
        StoreStats {
            snapshots: self.entries.len(),
            principals: self.usage.scope_count(),
            bytes: self.bytes,
            evicted: self.evicted,
            expired: self.expired,
            refused: self.refused,
        }
    }

    /// Returns the snapshots that were removed since the last call.
    pub(super) fn take_removed(&mut self) -> Vec<RemovedSnapshot> {
        std::mem::take(&mut self.removed)
    }

    /// Evicts until `bytes` more of a scope fit, by the rules of the [module](super). `fixed` bytes of the
    /// scope belong to its most recently used snapshot, and must stay.
    fn evict_for(&mut self, scope: &Scope, bytes: usize, fixed: usize) -> Result<(), StoreWriteError> {
        let memory = self.limits.memory_bytes;
        let share = memory / self.usage.scope_count_with(scope);
        let others = self.bytes - self.usage.bytes(scope);
        let room = (memory - others).max(share).saturating_sub(fixed);
        if bytes > room {
            return self.reject(bytes, room);
        }
        while self.bytes + bytes > memory {
            let owner = if self.usage.bytes(scope) + bytes > share {
                Some(*scope)
            } else {
                self.usage.largest_other(scope)
            };
            let oldest = owner.and_then(|owner| self.usage.oldest(&owner));
            if !oldest.is_some_and(|id| self.remove(id, RemovalReason::Evicted)) {
                return self.reject(bytes, room);
            }
        }
        Ok(())
    }

    /// Removes expired snapshots. Returns the current time, which never runs backwards.
    fn expire(&mut self, now: Instant) -> Instant {
        let now = self.latest_now.map_or(now, |clock| clock.max(now));
        self.latest_now = Some(now);
        while let Some((_, &id)) = self.by_last_use.first_key_value()
            && self.entries.get(&id).is_some_and(|slot| slot.expires_at.is_some_and(|at| at <= now))
            && self.remove(id, RemovalReason::Expired)
        {}
        now
    }

    /// Removes a snapshot. Returns true if it existed.
    fn remove(&mut self, id: SnapshotId, reason: RemovalReason) -> bool {
        let Some(slot) = self.detach(id) else { return false };
        let (scope, endpoint, origin) = (slot.scope, slot.endpoint.clone(), slot.origin_snapshot);
        self.tombstones.add(id, Tombstone { scope, endpoint, origin_snapshot: origin });
        match reason {
            RemovalReason::Evicted => self.evicted += 1,
            RemovalReason::Expired => self.expired += 1,
        }
        self.removed.push(RemovedSnapshot { entry: slot, reason });
        true
    }

    fn detach(&mut self, id: SnapshotId) -> Option<CacheEntry> {
        let slot = self.entries.remove(&id)?;
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

    fn reject(&mut self, bytes: usize, room: usize) -> Result<(), StoreWriteError> {
        self.refused += 1;
        Err(StoreWriteError::NoCapacity { bytes, room })
    }

    fn next_tick(&mut self) -> UseTick {
        self.last_tick += 1;
        self.last_tick
    }
}

impl CacheEntry {
    fn to_stored(&self, view: View) -> StoredSnapshot {
        let (endpoint, rule) = (self.endpoint.clone(), self.rule.clone());
        StoredSnapshot {
            id: self.id,
            snapshot: Arc::clone(&self.snapshot),
            view,
            endpoint,
            rule,
            redaction: self.redaction,
            origin_snapshot: self.origin_snapshot,
        }
    }
}

#[cfg(test)]
impl SnapshotCache {
    /// Returns the bytes of a scope.
    pub(super) fn held(&self, scope: &Scope) -> usize {
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
            assert!(slot.views.bytes() <= slot.views.capacity_bytes());
        }
    }
}
