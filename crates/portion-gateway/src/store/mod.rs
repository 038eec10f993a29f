//! Where snapshots are kept between a reply and its follow-ups.
//!
//! A store knows whom each snapshot belongs to and never shows it to anyone else. It hands snapshots out
//! as [`Arc`]s: nothing is locked while one is rendered, and one that is evicted meanwhile lives until
//! that reply is made. Every look-up that finds something counts as a cursor issued, for every reply
//! made of it carries one: it starts the snapshot's time to live anew.
//!
//! Time is an argument, so that tests own it; a backend with a clock of its own may disregard it.
//! `tests/store_contract.rs` says what every backend must do.

mod memory;

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use thiserror::Error;

use crate::call::{Endpoint, ReuseKey};
use crate::rules::EndpointRule;

pub use memory::MemoryStore;

/// What a store promises to bring.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Keeps snapshots, each for one scope and a while.
pub trait SnapshotStore: Send + Sync {
    /// Keeps a snapshot. It answers to its reuse key from now on, in place of any earlier one.
    ///
    /// Fails with [`StoreWriteError`] where there is no room, and then nothing is evicted for it.
    fn put<'a>(
        &'a self,
        scope: &'a Scope,
        deposit: NewSnapshot,
        now: Instant,
    ) -> StoreFuture<'a, Result<(), StoreWriteError>>;

    /// Keeps a view of a snapshot that is kept. A view that is there already is as if used, and has the pace of its first
    /// reply.
    fn put_view<'a>(
        &'a self,
        scope: &'a Scope,
        id: SnapshotId,
        view: View,
        now: Instant,
    ) -> StoreFuture<'a, Result<(), StoreWriteError>>;

    /// The snapshot and the view that a cursor points to.
    fn find<'a>(
        &'a self,
        scope: &'a Scope,
        id: SnapshotId,
        view: ViewId,
        now: Instant,
    ) -> StoreFuture<'a, Result<StoredSnapshot, StoreLookupError>>;

    /// The last snapshot kept under a reuse key, with its root view, if it is still there.
    fn find_reusable<'a>(
        &'a self,
        scope: &'a Scope,
        reuse: ReuseKey,
        now: Instant,
    ) -> StoreFuture<'a, Option<StoredSnapshot>>;

    /// Lets a reuse key stand for nothing: a newer answer to the same call was not kept.
    fn forget_reuse<'a>(&'a self, scope: &'a Scope, reuse: ReuseKey) -> StoreFuture<'a, ()>;

    /// What this process knows of the store.
    fn stats(&self, now: Instant) -> StoreStats;
}

/// A snapshot to be kept, with what has to be known of it.
#[derive(Clone, Debug)]
pub struct NewSnapshot {
    /// Its name; random, so that no two are alike.
    pub id: SnapshotId,
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The view that its first cursors go through. The root view is kept as well, always.
    pub view: View,
    /// What it came from: it is remembered for a while after the snapshot has gone.
    pub endpoint: Option<Arc<Endpoint>>,
    /// What it can be recalled by.
    pub reuse_key: Option<ReuseKey>,
    /// The rule that it was captured under, which what follows is served under too.
    pub rule: Option<Arc<EndpointRule>>,
    /// The snapshot of the payload that it goes back to: itself, unless it is the answer to a question.
    pub origin_snapshot: SnapshotId,
}

/// A snapshot that is there.
#[derive(Clone, Debug)]
pub struct StoredSnapshot {
    /// Its name.
    pub id: SnapshotId,
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The view that was asked for.
    pub view: View,
    /// What it came from.
    pub endpoint: Option<Arc<Endpoint>>,
    /// The rule that it was captured under; `None` where the store is shared and cannot know.
    pub rule: Option<Arc<EndpointRule>>,
    /// The snapshot of the payload that it goes back to.
    pub origin_snapshot: SnapshotId,
}

/// Why a snapshot was not kept.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StoreWriteError {
    /// There is no room that could be made for it.
    #[error("{bytes} bytes do not fit in the {room} that this principal can have now")]
    NoCapacity {
        /// What it weighs.
        bytes: usize,
        /// What there is for it.
        room: usize,
    },
    /// The snapshot that a view belongs to is not there.
    #[error("the snapshot of this view is no longer kept")]
    SnapshotGone,
    /// The backend does not answer.
    #[error("the snapshot store does not answer: {0}")]
    Unreachable(String),
}

/// Why there is nothing to show.
#[derive(Clone, Debug, Error)]
pub enum StoreLookupError {
    /// It was here, and has expired or was evicted.
    #[error("the snapshot is no longer kept")]
    SnapshotGone {
        /// What it came from, where that is still known.
        endpoint: Option<Arc<Endpoint>>,
        /// The snapshot of the payload that it goes back to.
        origin_snapshot: SnapshotId,
    },
    /// The snapshot is here, but that view of it is not kept any more.
    #[error("the view is no longer kept")]
    ViewGone {
        /// The snapshot, with its root view.
        root: Box<StoredSnapshot>,
    },
    /// Never heard of, or not this scope's, or gone too long ago: that makes no difference to a caller.
    #[error("the snapshot is not known")]
    Unknown,
    /// The backend does not answer.
    #[error("the snapshot store does not answer: {0}")]
    Unreachable(String),
}

/// What a store holds and what became of the rest. Counts are since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Snapshots held.
    pub snapshots: usize,
    /// Scopes that hold any.
    pub principals: usize,
    /// Bytes they weigh, indexes, views and bookkeeping included.
    pub bytes: usize,
    /// Snapshots that made room for others.
    pub evicted: u64,
    /// Snapshots that came to the end of their time.
    pub expired: u64,
    /// Snapshots and views that found no room.
    pub refused: u64,
}

/// How much a store keeps, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes of all snapshots: `snapshotMemory`.
    pub memory_bytes: usize,
    /// How long a snapshot lives after the last cursor to it was issued: `snapshotTtl`.
    pub ttl: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self { memory_bytes: 512 << 20, ttl: Duration::from_mins(10) }
    }
}
