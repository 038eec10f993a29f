//! Snapshots in the cache, and those that leave it.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_policy::endpoint::Endpoint;

use super::unwritten::StoreWrites;
use super::usage::UseTick;
use super::views::ViewCache;
use crate::reuse_key::ReuseKey;
use crate::rules::EndpointRule;
use crate::store::{RedactionId, StoredSnapshot};

/// A snapshot in the cache.
#[derive(Debug)]
pub(super) struct CacheEntry {
    pub(super) id: SnapshotId,
    pub(super) scope: Scope,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) views: ViewCache,
    pub(super) endpoint: Option<Arc<Endpoint>>,
    pub(super) arguments: Option<Arc<str>>,
    pub(super) rule: Option<Arc<EndpointRule>>,
    pub(super) redaction: Option<RedactionId>,
    pub(super) origin_snapshot: SnapshotId,
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

impl WholeSnapshot {
    /// Returns true unless parts of it are in the store only.
    pub(in crate::store) fn has_all_blocks(&self) -> bool {
        !self.snapshot.snapshot.is_partial()
    }
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
        let (endpoint, arguments, rule) = (self.endpoint.clone(), self.arguments.clone(), self.rule.clone());
        StoredSnapshot {
            id: self.id,
            snapshot: Arc::clone(&self.snapshot),
            view,
            endpoint,
            arguments,
            rule,
            redaction: self.redaction,
            origin_snapshot: self.origin_snapshot,
        }
    }
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
