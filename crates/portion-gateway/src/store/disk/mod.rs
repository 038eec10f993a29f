//! Stores snapshots in an `SQLite` database: in a file, so that they survive a restart and are shared by the processes of a
//! user, or in a temporary file that only this process can open.
//!
//! Only the owner can read the files. The directory contains:
//!
//! - `key`: the secret that signs cursors, see [`load_or_create_secret`];
//! - `results.db`, and the files of `SQLite` beside it: snapshots with their fields, the headers of those that are gone, which
//!   are kept for a day, and the snapshots that answer equal calls. A damaged file is emptied.
//!
//! A snapshot is written, replaced and removed in a transaction: nobody reads half of one.

mod availability;
mod database;
mod directory;
mod eviction;
mod tables;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use rusqlite::TransactionBehavior::{Deferred, Immediate};
use rusqlite::{OptionalExtension as _, params};

use self::availability::Availability;
use self::database::Database;
use self::tables::{bytes_of, count_bytes, field, millis, put_view};
use super::{
    BackendStatus, FieldName, Fields, OwnerId, ReadFuture, SnapshotKey, SnapshotStore, StoreFuture,
    StoreReadError, StoreWriteError, WriteFuture, WriteResult,
};
use crate::call::ReuseKey;
use crate::offload::offload;

pub use directory::load_or_create_secret;
pub use directory::prepare_directory;

/// Returns the time since some point in the past; replaceable in tests.
pub type StoreClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Limits of a [`DiskStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLimits {
    /// Bytes of all snapshots: `snapshotDisk`.
    pub bytes: u64,
    /// Time to live after the last use: `snapshotTtl`.
    pub ttl: Duration,
}

/// Stores snapshots in a file.
#[derive(Clone)]
pub struct DiskStore {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    namespace: String,
    limits: DiskLimits,
    is_temporary: bool,
    availability: Availability,
    evicted: AtomicU64,
    expired: AtomicU64,
}

/// Content of a store, and counts since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskUsage {
    pub(super) snapshots: usize,
    pub(super) bytes: u64,
    pub(super) evicted: u64,
    pub(super) expired: u64,
}

impl DiskStore {
    /// Opens the store in a directory, which is created if it is missing. Stores with different namespaces share
    /// the directory and its limit, but none of their content: the namespace is that of the server.
    ///
    /// # Errors
    /// As for [`prepare_directory`].
    pub fn open(root: &Path, namespace: &str, limits: DiskLimits) -> io::Result<Self> {
        Self::with_clock(root, namespace, limits, None)
    }

    /// Opens the store with another clock.
    ///
    /// # Errors
    /// As for [`prepare_directory`].
    pub fn with_clock(
        root: &Path,
        namespace: &str,
        limits: DiskLimits,
        clock: Option<StoreClock>,
    ) -> io::Result<Self> {
        prepare_directory(root)?;
        Ok(Self::new(Database::new(Some(root.to_owned()), clock), namespace, limits, false))
    }

    /// Creates a store in a temporary file, in the first directory that can be written: `TMPDIR`, `/var/tmp`, `/tmp`. It has no
    /// name, and the system frees it when the process ends. Without room, a new snapshot is refused, unless another scope has
    /// more than its share.
    pub fn temporary(limits: DiskLimits, clock: Option<StoreClock>) -> Self {
        let start = Instant::now();
        let clock = clock.unwrap_or_else(|| Arc::new(move || start.elapsed()));
        Self::new(Database::new(None, Some(clock)), "", limits, true)
    }

    fn new(database: Database, namespace: &str, limits: DiskLimits, is_temporary: bool) -> Self {
        let shared = Shared {
            database,
            namespace: namespace.to_owned(),
            limits,
            is_temporary,
            availability: Availability::new(is_temporary),
            evicted: AtomicU64::new(0),
            expired: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns what is stored.
    pub(super) fn usage(&self) -> DiskUsage {
        let Shared { database, evicted, expired, .. } = &*self.shared;
        let (evicted, expired) = (evicted.load(Ordering::Relaxed), expired.load(Ordering::Relaxed));
        let counted = database.transact(Deferred, |tx, now| {
            let live = "SELECT count(*), ifnull(sum(bytes), 0) FROM snapshots WHERE NOT gone AND used > ?";
            tx.query_row(live, [now - self.shared.ttl()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
            })
        });
        let (snapshots, bytes) = counted.unwrap_or_default();
        DiskUsage { snapshots: snapshots as usize, bytes: bytes.unsigned_abs(), evicted, expired }
    }

    fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        act: impl FnOnce(&Shared) -> T + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(offload(bytes, move || act(&shared)))
    }

    fn write(
        &self,
        bytes: usize,
        act: impl FnOnce(&Shared) -> WriteResult + Send + 'static,
    ) -> WriteFuture<'_> {
        self.run(usize::MAX, move |shared| {
            let written = act(shared);
            shared.availability.record_write(bytes, &written);
            written
        })
    }

    fn read<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Shared) -> Result<T, StoreReadError> + Send + 'static,
    ) -> ReadFuture<'_, T> {
        self.run(usize::MAX, move |shared| {
            let read = act(shared);
            shared.availability.record_read(&read);
            read
        })
    }
}

impl SnapshotStore for DiskStore {
    fn put(&self, key: SnapshotKey, fields: Fields) -> WriteFuture<'_> {
        self.put_whole(key, fields, Vec::new(), Duration::ZERO)
    }

    fn put_whole(
        &self,
        key: SnapshotKey,
        fields: Fields,
        views: Vec<(ViewId, Vec<u8>)>,
        unused_for: Duration,
    ) -> WriteFuture<'_> {
        let bytes = bytes_of(&fields) + views.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        self.write(bytes, move |shared| {
            shared.transact(|tx, now| {
                let stored = shared.put(tx, key, (&fields, bytes), now)?;
                if let Ok(row) = stored {
                    views.iter().try_for_each(|(view, bytes)| put_view(tx, row, *view, bytes))?;
                    tx.execute(
                        "UPDATE snapshots SET used = ? WHERE row = ?",
                        [now - millis(unused_for), row],
                    )?;
                    count_bytes(tx, row)?;
                }
                Ok(stored.map(drop))
            })
        })
    }

    fn claim(&self, key: SnapshotKey, owner: OwnerId) -> WriteFuture<'_, bool> {
        self.run(usize::MAX, move |shared| {
            shared.transact(|tx, now| shared.claim(tx, key, owner, now).map(Ok))
        })
    }

    fn release(&self, key: SnapshotKey, owner: OwnerId) -> StoreFuture<'_, ()> {
        self.run(usize::MAX, move |shared| {
            let released = "DELETE FROM claims WHERE scope = ? AND id = ? AND owner = ?";
            // Otherwise it expires.
            let _ = shared.database.transact(Immediate, |tx, _| {
                tx.execute(released, params![shared.scope(key.scope), key.id, owner])
            });
        })
    }

    fn replace(&self, key: SnapshotKey, owner: OwnerId, fields: Fields) -> WriteFuture<'_> {
        let bytes = bytes_of(&fields);
        self.write(bytes, move |shared| {
            shared.transact(|tx, now| {
                if shared.claim(tx, key, owner, now)? {
                    Ok(shared.put(tx, key, (&fields, bytes), now)?.map(drop))
                } else {
                    Ok(Err(StoreWriteError::Claimed))
                }
            })
        })
    }

    fn put_view(&self, key: SnapshotKey, view: ViewId, bytes: Vec<u8>) -> WriteFuture<'_> {
        // If it was written, there may still be no room for a snapshot.
        self.run(usize::MAX, move |shared| {
            let written = shared.transact(|tx, now| shared.put_view(tx, key, view, &bytes, now));
            shared.availability.record_small_write(&written);
            written
        })
    }

    fn get<'a>(&'a self, key: SnapshotKey, names: &'a [FieldName]) -> ReadFuture<'a, Vec<Option<Vec<u8>>>> {
        let names = names.to_vec();
        self.read(move |shared| {
            let read =
                shared.database.transact(Deferred, |tx, now| match shared.find(tx, key, now)?.live() {
                    Ok(row) => {
                        names.iter().map(|name| field(tx, row, *name)).collect::<Result<_, _>>().map(Ok)
                    }
                    Err(gone) => Ok(Err(gone)),
                });
            let read = read.map_err(StoreReadError::Unreachable)?;
            if read.is_ok() {
                shared.mark_used(key, &names);
            }
            read
        })
    }

    fn touch(&self, key: SnapshotKey) -> ReadFuture<'_, ()> {
        self.read(move |shared| {
            let found = shared.database.transact(Deferred, |tx, now| shared.find(tx, key, now));
            found.map_err(StoreReadError::Unreachable)?.live()?;
            shared.mark_used(key, &[]);
            Ok(())
        })
    }

    fn set_reusable(&self, scope: Scope, reuse: ReuseKey, id: Option<SnapshotId>) -> WriteFuture<'_> {
        self.run(usize::MAX, move |shared| {
            let (scope, key) = (shared.scope(scope), reuse.as_bytes());
            let changed = shared.transact(|tx, _| {
                match id {
                    Some(id) => tx.execute(
                        "INSERT OR REPLACE INTO reuse (scope, key, id) VALUES (?, ?, ?)",
                        params![scope, key, id],
                    ),
                    None => tx.execute("DELETE FROM reuse WHERE scope = ? AND key = ?", params![scope, key]),
                }?;
                Ok(Ok(()))
            });
            shared.availability.record_small_write(&changed);
            changed
        })
    }

    fn reusable(&self, scope: Scope, reuse: ReuseKey) -> ReadFuture<'_, Option<SnapshotId>> {
        self.read(move |shared| {
            let (scope, key) = (shared.scope(scope), reuse.as_bytes());
            let select = "SELECT id FROM reuse WHERE scope = ? AND key = ?";
            let read = shared.database.transact(Deferred, |tx, _| {
                tx.query_row(select, params![scope, key], |row| row.get(0)).optional()
            });
            read.map_err(StoreReadError::Unreachable)
        })
    }

    fn expire(&self) -> StoreFuture<'_, ()> {
        self.run(usize::MAX, |shared| {
            shared.probe();
            // The next one tries again.
            let _ = shared.sweep();
        })
    }

    fn status(&self) -> BackendStatus {
        self.shared.availability.status()
    }
}
