//! Snapshots in this process's memory.
//!
//! # Who makes room for whom
//! Each principal has an equal share of the memory guaranteed, and may use what others leave idle. When a
//! snapshot comes that does not fit, then, one snapshot after the other:
//!
//! 1. While its principal would hold more than its share, its own least recently used goes.
//! 2. Then whoever holds most gives back of what it borrowed, its least recently used first. There is always
//!    someone: if all kept to their shares, the snapshot would fit.
//!
//! So nobody within its share ever loses anything to anyone else, and the total is never exceeded. A
//! snapshot larger than a share that does not fit besides what the others hold is refused, and nothing
//! goes for it. Shares are equal parts for all who hold anything at that moment and who comes with it:
//! memory divided by principals, so one that is alone has it all.
//!
//! What is expired goes before anything else, whenever the store is used. Nothing runs in the background.

mod cache;
#[cfg(test)]
mod laws;
mod tombstones;
mod usage;
mod views;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::view::View;

use self::cache::{RemovalReason, RemovedSnapshot, SnapshotCache};
use super::{
    NewSnapshot, SnapshotStore, StoreFuture, StoreLimits, StoreLookupError, StoreStats, StoreWriteError,
    StoredSnapshot,
};
use crate::call::ReuseKey;

/// Keeps snapshots in memory, within a number of bytes.
#[derive(Debug)]
pub struct MemoryStore {
    cache: Mutex<SnapshotCache>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(limits: StoreLimits) -> Self {
        Self { cache: Mutex::new(SnapshotCache::new(limits)) }
    }

    /// Does something with the shelf. What departs is logged and freed after the lock is released, for
    /// both can take long.
    fn with_cache<T>(&self, act: impl FnOnce(&mut SnapshotCache) -> T) -> T {
        let (answer, departed) = {
            let mut guard = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
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

impl SnapshotStore for MemoryStore {
    fn put<'a>(
        &'a self,
        scope: &'a Scope,
        deposit: NewSnapshot,
        now: Instant,
    ) -> StoreFuture<'a, Result<(), StoreWriteError>> {
        Box::pin(async move { self.with_cache(|shelf| shelf.put(scope, deposit, now)) })
    }

    fn put_view<'a>(
        &'a self,
        scope: &'a Scope,
        id: SnapshotId,
        view: View,
        now: Instant,
    ) -> StoreFuture<'a, Result<(), StoreWriteError>> {
        Box::pin(async move { self.with_cache(|shelf| shelf.put_view(scope, id, view, now)) })
    }

    fn find<'a>(
        &'a self,
        scope: &'a Scope,
        id: SnapshotId,
        view: ViewId,
        now: Instant,
    ) -> StoreFuture<'a, Result<StoredSnapshot, StoreLookupError>> {
        Box::pin(async move { self.with_cache(|shelf| shelf.find(scope, id, view, now)) })
    }

    fn find_reusable<'a>(
        &'a self,
        scope: &'a Scope,
        reuse: ReuseKey,
        now: Instant,
    ) -> StoreFuture<'a, Option<StoredSnapshot>> {
        Box::pin(async move { self.with_cache(|shelf| shelf.find_reusable(scope, reuse, now)) })
    }

    fn forget_reuse<'a>(&'a self, scope: &'a Scope, reuse: ReuseKey) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.with_cache(|shelf| shelf.forget_reuse(scope, reuse)) })
    }

    fn stats(&self, now: Instant) -> StoreStats {
        self.with_cache(|shelf| shelf.stats(now))
    }
}

fn log_removal(departed: &RemovedSnapshot) {
    let endpoint = &*departed.endpoint_name();
    let bytes = departed.bytes();
    match departed.reason {
        RemovalReason::Evicted => {
            tracing::info!(endpoint, bytes, "snapshot evicted to make room; its cursors read cursor_expired");
        }
        RemovalReason::Expired => tracing::debug!(endpoint, bytes, "snapshot expired"),
    }
}
