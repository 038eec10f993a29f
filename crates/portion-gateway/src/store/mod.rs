//! Stores snapshots between a reply and its follow-ups.
//!
//! [`CachedStore`] is what the gateway uses. It keeps decoded snapshots in a [`MemoryStore`], and writes them
//! to a [`SnapshotStore`] behind it, if there is one: a [`DiskStore`], or a store over a network (`redis`). What the
//! memory has lost, or another process has stored, is read from there. To a temporary file it writes only what
//! the memory may soon have no room for.
//!
//! A store returns each snapshot to the scope that it belongs to, and to no other. In memory, snapshots are
//! shared as [`Arc`]s: nothing is locked while one is rendered, and one that is evicted meanwhile lives until
//! that reply is made. Each successful look-up counts as an issued cursor, because the reply contains one: it
//! restarts the time to live.
//!
//! For the memory, time is an argument, so that tests control it; a store behind it has a clock of its own.
//! `tests/it/store_contract` tests what every store must do.

mod cached;
pub mod disk;
mod growing;
mod load;
mod memory;
mod record;
#[cfg(feature = "redis")]
pub mod redis;
mod temporary;
mod write_behind;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;
use portion_policy::endpoint::Endpoint;
use thiserror::Error;

use crate::call::ReuseKey;
use crate::rules::EndpointRule;

pub use cached::CachedStore;
pub use disk::DiskStore;
pub use load::Extent;
pub use memory::MemoryStore;
pub use portion_policy::store_url::split_at_credentials;
pub use record::RedactionId;
pub(crate) use record::redaction_id;

/// Time for which a claim holds, unless it is renewed.
pub const CLAIM_TIME: Duration = Duration::from_secs(6);

/// Identifies a process that claims snapshots.
pub type OwnerId = [u8; 16];

/// Future of a store operation.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Outcome of an operation that writes.
pub type WriteResult<T = ()> = Result<T, StoreWriteError>;

/// A snapshot that was looked up.
pub type LookupResult = Result<StoredSnapshot, StoreLookupError>;

/// Future of an operation that writes.
pub type WriteFuture<'a, T = ()> = StoreFuture<'a, WriteResult<T>>;

/// Future of an operation that reads.
pub type ReadFuture<'a, T> = StoreFuture<'a, Result<T, StoreReadError>>;

/// Fields of a snapshot with their bytes.
pub type Fields = Vec<(FieldName, Vec<u8>)>;

/// Stores snapshots as fields of bytes, outside the memory of this process.
///
/// The interface suits a store over a network that has hashes with a time to live: one hash for each
/// snapshot, so that it expires and is evicted as a whole, and one request for any number of its fields. What
/// the fields contain is up to the caller; they are already compressed, and carry checksums.
pub trait SnapshotStore: Send + Sync {
    /// Stores a snapshot with all its fields, or nothing.
    fn put(&self, key: SnapshotKey, fields: Fields) -> WriteFuture<'_>;

    /// Stores a snapshot with further views, as [`put`](Self::put) and [`put_view`](Self::put_view) do. A temporary store takes
    /// into account that it was used last some time ago.
    fn put_whole(
        &self,
        key: SnapshotKey,
        fields: Fields,
        views: Vec<(ViewId, Vec<u8>)>,
        unused_for: Duration,
    ) -> WriteFuture<'_> {
        let _ = unused_for;
        Box::pin(async move {
            self.put(key, fields).await?;
            for (view, bytes) in views {
                self.put_view(key, view, bytes).await?;
            }
            Ok(())
        })
    }

    /// Claims the right to replace a snapshot for [`CLAIM_TIME`], or renews the claim. Returns false while another
    /// owner has it. A store that no other process writes keeps the default.
    fn claim(&self, key: SnapshotKey, owner: OwnerId) -> WriteFuture<'_, bool> {
        let _ = (key, owner);
        Box::pin(async { Ok(true) })
    }

    /// Gives up a claim, if the owner has it.
    fn release(&self, key: SnapshotKey, owner: OwnerId) -> StoreFuture<'_, ()> {
        let _ = (key, owner);
        Box::pin(async {})
    }

    /// Stores a snapshot as [`put`](Self::put) does, if its owner can claim it, and keeps the views that were added.
    /// Nothing is stored under a claim that has ended meanwhile.
    fn replace(&self, key: SnapshotKey, owner: OwnerId, fields: Fields) -> WriteFuture<'_> {
        let _ = owner;
        self.put(key, fields)
    }

    /// Adds a view to a stored snapshot, or replaces it. The number of views is bounded: those used longest
    /// ago may go, but never those written with the snapshot.
    fn put_view(&self, key: SnapshotKey, view: ViewId, bytes: Vec<u8>) -> WriteFuture<'_>;

    /// Reads fields of a snapshot, in the order of `names`; `None` for each that it does not have. Restarts its
    /// time to live. Waits for nothing that another instance may still be writing.
    fn get<'a>(&'a self, key: SnapshotKey, names: &'a [FieldName]) -> ReadFuture<'a, Vec<Option<Vec<u8>>>>;

    /// Restarts the time to live of a snapshot that was read from memory. If it is not stored, that is an error.
    fn touch(&self, key: SnapshotKey) -> ReadFuture<'_, ()>;

    /// Sets the snapshot that answers equal calls of a scope, or clears it.
    fn set_reusable(&self, scope: Scope, reuse: ReuseKey, id: Option<SnapshotId>) -> WriteFuture<'_>;

    /// Returns the snapshot that answers equal calls of a scope. It may be gone.
    fn reusable(&self, scope: Scope, reuse: ReuseKey) -> ReadFuture<'_, Option<SnapshotId>>;

    /// Removes what has expired. Called now and then; a store that expires its content itself does nothing.
    fn expire(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {})
    }

    /// Returns its state. A store that is always there keeps the default.
    fn status(&self) -> BackendStatus {
        BackendStatus::default()
    }
}

/// State of a store behind the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendStatus {
    /// True if it can be read and written.
    pub is_available: bool,
    /// Error of the store.
    pub problem: Option<String>,
    /// Operations that failed.
    pub failure_count: u64,
}

impl Default for BackendStatus {
    fn default() -> Self {
        Self { is_available: true, problem: None, failure_count: 0 }
    }
}

/// A snapshot and its scope. A store finds a snapshot only by both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SnapshotKey {
    /// Scope that it belongs to.
    pub scope: Scope,
    /// Its id.
    pub id: SnapshotId,
}

/// Name of a field of a stored snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldName {
    /// Facts that the store remembers for a while after the snapshot is gone.
    Header,
    /// Index and metadata, except the other fields.
    Meta,
    /// Offsets of items of long lists.
    IndexPiece(u32),
    /// Part of the texts.
    Block(u32),
    /// A view.
    View(ViewId),
}

impl fmt::Display for FieldName {
    /// Writes a short name, such as `block-3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str("header"),
            Self::Meta => f.write_str("meta"),
            Self::IndexPiece(index) => write!(f, "index-{index}"),
            Self::Block(index) => write!(f, "block-{index}"),
            Self::View(id) => {
                f.write_str("view-")?;
                id.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

/// A snapshot that is stored, with its metadata.
#[derive(Clone, Debug)]
pub struct StoredSnapshot {
    /// Random id.
    pub id: SnapshotId,
    /// The snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The requested view; of a new snapshot, that of its first cursors. The root view is always stored as well.
    pub view: View,
    /// Endpoint of its payload; remembered for a while after the snapshot is gone.
    pub endpoint: Option<Arc<Endpoint>>,
    /// Arguments of the call, if they are short and contain no secret; remembered as long as the endpoint.
    pub arguments: Option<Arc<str>>,
    /// Key under which a new snapshot is reused by equal calls; `None` for one that was found.
    pub reuse_key: Option<ReuseKey>,
    /// Rule under which it was captured, and which applies to follow-ups, if this process captured it.
    pub rule: Option<Arc<EndpointRule>>,
    /// Redaction under which it was captured, if another process captured it.
    pub redaction: Option<RedactionId>,
    /// Snapshot of the original payload: itself, unless it is the answer to a query.
    pub origin_snapshot: SnapshotId,
}

impl StoredSnapshot {
    /// Returns a snapshot of an original payload, with the root view and no other metadata.
    pub fn new(id: SnapshotId, snapshot: Arc<Snapshot>) -> Self {
        Self {
            id,
            snapshot,
            view: View::root(),
            endpoint: None,
            arguments: None,
            reuse_key: None,
            rule: None,
            redaction: None,
            origin_snapshot: id,
        }
    }
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
    /// Another instance has claimed the snapshot.
    #[error("another instance stores this snapshot")]
    Claimed,
    /// The store does not answer.
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
        /// Arguments of the call, if they are still known.
        arguments: Option<Arc<str>>,
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
    /// The store does not answer.
    #[error("the snapshot store is not available: {0}")]
    Unreachable(String),
}

/// Reason why fields were not read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum StoreReadError {
    /// Expired or evicted.
    #[error("the snapshot is no longer kept")]
    SnapshotGone {
        /// Its [`FieldName::Header`].
        header: Vec<u8>,
    },
    /// Never stored, or of another scope, or gone too long ago.
    #[error("the snapshot is not known")]
    Unknown,
    /// The store does not answer.
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
    /// Snapshots in the temporary file. Some of them may be in memory as well.
    pub spilled: usize,
    /// Bytes that they occupy there.
    pub spilled_bytes: u64,
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
