//! Snapshots in the cache, and those that leave it.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
#[cfg(test)]
use portion_core::cursor::SnapshotId;
use portion_core::view::View;
use portion_policy::endpoint::Endpoint;

use super::usage::UseTick;
use super::views::ViewCache;
use crate::call::ReuseKey;
use crate::store::StoredSnapshot;

/// A snapshot in the cache.
#[derive(Debug)]
pub(super) struct CacheEntry {
    pub(super) scope: Scope,
    /// The snapshot as it is found, without its view.
    pub(super) stored: StoredSnapshot,
    pub(super) views: ViewCache,
    pub(super) reuse_key: Option<ReuseKey>,
    pub(super) bytes: usize,
    /// The part of `bytes` that is data computed from the snapshot.
    pub(super) derived_bytes: usize,
    pub(super) created: UseTick,
    pub(super) last_used: UseTick,
    pub(super) writes: StoreWrites,
    /// `None` if the time is beyond the range of the clock.
    pub(super) expires_at: Option<Instant>,
}

/// A snapshot that was removed from the cache and has to be freed.
#[derive(Debug)]
pub(super) struct RemovedSnapshot {
    pub(super) entry: CacheEntry,
    pub(super) reason: RemovalReason,
    /// True if no store has it.
    pub(super) is_lost: bool,
}

/// A snapshot with all its views, to be written to the store.
pub(in crate::store) struct WholeSnapshot {
    pub(in crate::store) snapshot: StoredSnapshot,
    /// Its views besides the root, the most recently used last.
    pub(in crate::store) views: Vec<View>,
    pub(in crate::store) reuse_key: Option<ReuseKey>,
    /// Time since its last use.
    pub(in crate::store) unused_for: Duration,
    pub(in crate::store) last_used: UseTick,
}

/// Reason why a snapshot was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemovalReason {
    Evicted,
    Expired,
}

impl From<StoredSnapshot> for WholeSnapshot {
    /// Describes a snapshot that is not in the cache.
    fn from(snapshot: StoredSnapshot) -> Self {
        let (views, reuse_key, unused_for, last_used) = (Vec::new(), None, Duration::ZERO, 0);
        Self { snapshot, views, reuse_key, unused_for, last_used }
    }
}

impl CacheEntry {
    /// Returns the snapshot with one of its views.
    pub(super) fn to_stored(&self, view: View) -> StoredSnapshot {
        StoredSnapshot { view, ..self.stored.clone() }
    }
}

impl RemovedSnapshot {
    #[cfg(test)]
    pub(super) fn id(&self) -> SnapshotId {
        self.entry.stored.id
    }

    pub(super) fn bytes(&self) -> usize {
        self.entry.bytes
    }

    pub(super) fn endpoint_name(&self) -> Cow<'_, str> {
        Endpoint::log_name(self.entry.stored.endpoint.as_deref())
    }
}

/// Writes of a snapshot and its views to the store behind the memory.
#[derive(Debug, Default)]
pub(super) struct StoreWrites {
    pub(super) queued: u32,
    pub(super) has_failed: bool,
}

impl StoreWrites {
    /// Returns true if the store has everything, or there is none.
    pub(super) fn are_done(&self) -> bool {
        self.queued == 0 && !self.has_failed
    }
}
