//! Stores snapshots between a reply and its follow-ups.
//!
//! A store returns each snapshot to the scope that it belongs to, and to no other. Snapshots are shared as
//! [`Arc`]s: nothing is locked while one is rendered, and one that is evicted meanwhile lives until that
//! reply is made. Each successful look-up counts as an issued cursor, because the reply contains one: it
//! restarts the time to live.
//!
//! Time is an argument, so that tests control it; a backend with a clock of its own may ignore it.
//! `tests/store_contract.rs` tests what every backend must do.

mod memory;

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_policy::endpoint::Endpoint;
use thiserror::Error;

use crate::call::ReuseKey;
use crate::rules::EndpointRule;
pub use memory::MemoryStore;

/// Future of a store operation.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Stores snapshots, each for one scope and a limited time.
pub trait SnapshotStore: Send + Sync {
    /// Stores a snapshot, and assigns its reuse key to it in place of any earlier snapshot.
    ///
    /// Fails with [`StoreWriteError`] if there is not enough memory; then nothing is evicted.
    fn put<'a>(
        &'a self,
        scope: &'a Scope,
        deposit: NewSnapshot,
        now: Instant,
    ) -> StoreFuture<'a, Result<(), StoreWriteError>>;

    /// Stores a view of a stored snapshot. A view that is already stored counts as used, and gets the
    /// pagination of its first reply.
    fn put_view<'a>(
        &'a self,
        scope: &'a Scope,
        id: SnapshotId,
        view: View,
        now: Instant,
    ) -> StoreFuture<'a, Result<(), StoreWriteError>>;

    /// Returns the snapshot and the view of a cursor.
    fn find<'a>(
        &'a self,
        scope: &'a Scope,
        id: SnapshotId,
        view: ViewId,
        now: Instant,
    ) -> StoreFuture<'a, Result<StoredSnapshot, StoreLookupError>>;

    /// Returns the last snapshot stored with a reuse key, with its root view, if it still exists.
    fn find_reusable<'a>(
        &'a self,
        scope: &'a Scope,
        reuse: ReuseKey,
        now: Instant,
    ) -> StoreFuture<'a, Option<StoredSnapshot>>;

    /// Clears a reuse key, because a newer response to the same call was not stored.
    fn forget_reuse<'a>(&'a self, scope: &'a Scope, reuse: ReuseKey) -> StoreFuture<'a, ()>;

    /// Returns the statistics of this process.
    fn stats(&self, now: Instant) -> StoreStats;
}

/// A snapshot to store, with its metadata.
#[derive(Clone, Debug)]
pub struct NewSnapshot {
    /// Random id.
    pub id: SnapshotId,
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// View of its first cursors. The root view is always stored as well.
    pub view: View,
    /// Endpoint of its payload; remembered for a while after the snapshot is gone.
    pub endpoint: Option<Arc<Endpoint>>,
    /// Key for reuse by equal calls.
    pub reuse_key: Option<ReuseKey>,
    /// Rule under which it was captured, and which applies to follow-ups.
    pub rule: Option<Arc<EndpointRule>>,
    /// Snapshot of the original payload: itself, unless it is the answer to a query.
    pub origin_snapshot: SnapshotId,
}

/// A stored snapshot.
#[derive(Clone, Debug)]
pub struct StoredSnapshot {
    /// Id of the snapshot.
    pub id: SnapshotId,
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The requested view.
    pub view: View,
    /// Endpoint of its payload.
    pub endpoint: Option<Arc<Endpoint>>,
    /// Rule under which it was captured; `None` if the store is shared and has no rules.
    pub rule: Option<Arc<EndpointRule>>,
    /// Snapshot of the original payload.
    pub origin_snapshot: SnapshotId,
}

/// Reason why a snapshot was not stored.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StoreWriteError {
    /// Not enough memory, even after eviction.
    #[error("{bytes} bytes exceed the {room} available to this principal")]
    NoCapacity {
        /// Size of the snapshot.
        bytes: usize,
        /// Memory available for it.
        room: usize,
    },
    /// The snapshot of a view does not exist.
    #[error("the snapshot of this view has expired")]
    SnapshotGone,
    /// The backend does not answer.
    #[error("the snapshot store is not available: {0}")]
    Unreachable(String),
}

/// Reason why a snapshot was not found.
#[derive(Clone, Debug, Error)]
pub enum StoreLookupError {
    /// Expired or evicted.
    #[error("the snapshot has expired")]
    SnapshotGone {
        /// Endpoint of its payload, if it is still known.
        endpoint: Option<Arc<Endpoint>>,
        /// Snapshot of the original payload.
        origin_snapshot: SnapshotId,
    },
    /// The snapshot exists, but this view of it does not.
    #[error("the view has expired")]
    ViewGone {
        /// The snapshot, with its root view.
        root: Box<StoredSnapshot>,
    },
    /// Never stored, or of another scope, or gone too long ago: callers cannot tell these apart.
    #[error("the snapshot is unknown")]
    Unknown,
    /// The backend does not answer.
    #[error("the snapshot store is not available: {0}")]
    Unreachable(String),
}

/// Content of a store, and counts since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Stored snapshots.
    pub snapshots: usize,
    /// Scopes with stored snapshots.
    pub principals: usize,
    /// Size in bytes, indexes, views and bookkeeping included.
    pub bytes: usize,
    /// Snapshots evicted for others.
    pub evicted: u64,
    /// Snapshots expired.
    pub expired: u64,
    /// Snapshots and views refused for lack of memory.
    pub refused: u64,
}

/// Limits of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes of all snapshots: `snapshotMemory`.
    pub memory_bytes: usize,
    /// Time to live after the last cursor was issued: `snapshotTtl`.
    pub ttl: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self { memory_bytes: 512 << 20, ttl: Duration::from_mins(10) }
    }
}
