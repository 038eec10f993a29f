//! The snapshots in the temporary file, by key, reuse key and time of expiry.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_policy::endpoint::Endpoint;

use super::space::{Run, Space};
use crate::reuse_key::ReuseKey;
use crate::rules::EndpointRule;
use crate::store::memory::Tombstone;
use crate::store::{RedactionId, SnapshotKey};

/// Largest number of snapshots: about 25 MiB of memory.
const MAX_SNAPSHOTS: usize = 1 << 16;
/// Largest number of views of a snapshot that are added while it is in the file.
const MAX_LATER_VIEWS: usize = 32;

/// Bytes in the file.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub(super) runs: Vec<Run>,
    pub(super) len: usize,
}

/// A snapshot in the file.
#[derive(Clone, Debug)]
pub(super) struct SpilledSnapshot {
    pub(super) content: Extent,
    /// Views in `content`, the root first.
    pub(super) view_ids: Vec<ViewId>,
    /// Views that were added while it was in the file, the most recently used last.
    pub(super) later_views: Vec<(ViewId, Extent)>,
    pub(super) source: Source,
    /// `None` if the time is beyond the range of the clock.
    pub(super) expires_at: Option<Instant>,
}

impl SpilledSnapshot {
    /// Returns true if the file has a view of the snapshot.
    pub(super) fn has_view(&self, view: ViewId) -> bool {
        self.view_ids.contains(&view) || self.later_views.iter().any(|(id, _)| *id == view)
    }
}

/// Facts about a snapshot that stay in memory.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) endpoint: Option<Arc<Endpoint>>,
    pub(super) arguments: Option<Arc<str>>,
    pub(super) rule: Option<Arc<EndpointRule>>,
    pub(super) redaction: Option<RedactionId>,
    pub(super) origin_snapshot: SnapshotId,
    pub(super) reuse_key: Option<ReuseKey>,
}

#[derive(Debug)]
pub(super) struct SpillIndex {
    entries: HashMap<SnapshotKey, SpilledSnapshot>,
    by_expiry: BTreeMap<(Instant, SnapshotId), SnapshotKey>,
    by_reuse: HashMap<(Scope, ReuseKey), SnapshotId>,
    space: Space,
    ttl: Duration,
    /// Latest time seen, because concurrent callers may pass their times out of order.
    latest_now: Option<Instant>,
}

impl SpillIndex {
    pub(super) fn new(bytes: u64, ttl: Duration) -> Self {
        Self {
            entries: HashMap::new(),
            by_expiry: BTreeMap::new(),
            by_reuse: HashMap::new(),
            space: Space::new(bytes),
            ttl,
            latest_now: None,
        }
    }

    /// Reserves space for a snapshot or a view; `None` if there is none.
    pub(super) fn allocate(&mut self, len: usize) -> Option<Extent> {
        if self.entries.len() >= MAX_SNAPSHOTS {
            return None;
        }
        Some(Extent { runs: self.space.allocate(len)?, len })
    }

    /// Frees space that is not part of a snapshot.
    pub(super) fn release(&mut self, extent: &Extent) {
        self.space.release(&extent.runs);
    }

    /// Adds a snapshot that was written, in place of an earlier version.
    pub(super) fn insert(&mut self, key: SnapshotKey, entry: SpilledSnapshot) {
        self.remove(&key);
        if let Some(at) = entry.expires_at {
            self.by_expiry.insert((at, key.id), key);
        }
        if let Some(reuse) = entry.source.reuse_key {
            self.by_reuse.insert((key.scope, reuse), key.id);
        }
        self.entries.insert(key, entry);
    }

    pub(super) fn contains(&self, key: &SnapshotKey) -> bool {
        self.entries.contains_key(key)
    }

    /// Returns a snapshot, and restarts its time to live.
    pub(super) fn touch(&mut self, key: &SnapshotKey, view: ViewId, now: Instant) -> Option<SpilledSnapshot> {
        let now = self.advance(now);
        let entry = self.entries.get_mut(key)?;
        if let Some(at) = entry.expires_at.take() {
            self.by_expiry.remove(&(at, key.id));
        }
        entry.expires_at = now.checked_add(self.ttl);
        if let Some(at) = entry.expires_at {
            self.by_expiry.insert((at, key.id), *key);
        }
        if let Some(index) = entry.later_views.iter().position(|(id, _)| *id == view) {
            let used = entry.later_views.remove(index);
            entry.later_views.push(used);
        }
        Some(entry.clone())
    }

    /// Adds a view that was written to a snapshot.
    pub(super) fn insert_view(&mut self, key: &SnapshotKey, view: ViewId, extent: Extent) -> bool {
        let Some(entry) = self.entries.get_mut(key) else {
            self.release(&extent);
            return false;
        };
        let is_full = entry.later_views.len() >= MAX_LATER_VIEWS;
        let replaced = entry.later_views.iter().position(|(id, _)| *id == view).or(is_full.then_some(0));
        let removed = replaced.map(|index| entry.later_views.remove(index));
        entry.later_views.push((view, extent));
        if let Some((_, extent)) = removed {
            self.release(&extent);
        }
        true
    }

    /// Removes a snapshot. Returns its source.
    pub(super) fn remove(&mut self, key: &SnapshotKey) -> Option<Source> {
        let entry = self.entries.remove(key)?;
        if let Some(at) = entry.expires_at {
            self.by_expiry.remove(&(at, key.id));
        }
        if let Some(reuse) = entry.source.reuse_key
            && self.by_reuse.get(&(key.scope, reuse)) == Some(&key.id)
        {
            self.by_reuse.remove(&(key.scope, reuse));
        }
        self.release(&entry.content);
        for (_, extent) in &entry.later_views {
            self.release(extent);
        }
        Some(entry.source)
    }

    /// Removes the snapshots whose time is over.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<(SnapshotId, Tombstone)> {
        let now = self.advance(now);
        let mut expired = Vec::new();
        while let Some((&(at, _), &key)) = self.by_expiry.first_key_value()
            && at <= now
        {
            let Some(source) = self.remove(&key) else { break };
            expired.push((key.id, source.into_tombstone(key.scope)));
        }
        expired
    }

    /// Returns the snapshot that answers equal calls of a scope.
    pub(super) fn reusable(&self, scope: &Scope, reuse: ReuseKey) -> Option<SnapshotId> {
        self.by_reuse.get(&(*scope, reuse)).copied()
    }

    /// Returns the reuse key of a snapshot, unless a later one has taken it over.
    pub(super) fn current_reuse_key(&self, key: &SnapshotKey) -> Option<ReuseKey> {
        let reuse = self.entries.get(key)?.source.reuse_key?;
        (self.reusable(&key.scope, reuse) == Some(key.id)).then_some(reuse)
    }

    /// Clears a reuse key.
    pub(super) fn forget_reuse(&mut self, scope: &Scope, reuse: ReuseKey) {
        let id = self.by_reuse.remove(&(*scope, reuse));
        if let Some(entry) = id.and_then(|id| self.entries.get_mut(&SnapshotKey { scope: *scope, id })) {
            entry.source.reuse_key = None;
        }
    }

    /// Returns the number of snapshots, and the bytes that they occupy.
    pub(super) fn usage(&self) -> (usize, u64) {
        (self.entries.len(), u64::from(self.space.used_count()) * super::space::GRANULE_BYTES)
    }

    /// Returns the time to live after the last use.
    pub(super) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// Returns the end of the file in granules.
    pub(super) fn end(&self) -> u32 {
        self.space.end()
    }

    fn advance(&mut self, now: Instant) -> Instant {
        let now = self.latest_now.map_or(now, |latest| latest.max(now));
        self.latest_now = Some(now);
        now
    }
}

impl Source {
    pub(super) fn into_tombstone(self, scope: Scope) -> Tombstone {
        let Self { endpoint, arguments, origin_snapshot, .. } = self;
        Tombstone { scope, endpoint, arguments, origin_snapshot }
    }
}
