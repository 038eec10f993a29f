//! Reads and changes the tables: each function runs within a transaction.

use std::sync::atomic::Ordering;
use std::time::Duration;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use rusqlite::TransactionBehavior::Immediate;
use rusqlite::{OptionalExtension as _, Transaction, params};

use super::Shared;
use super::eviction::{Entry, evicted_for};
use crate::store::{
    CLAIM_TIME, FieldName, OwnerId, SnapshotKey, StoreReadError, StoreWriteError, WriteResult,
};

/// Largest number of views of a snapshot that were added later.
const MAX_VIEWS: usize = 64;
/// Time for which the header of a snapshot that is gone is kept.
const HEADER_TTL: Duration = Duration::from_hours(24);

/// A stored snapshot, found by its key.
pub(super) enum Found {
    Live(i64),
    Gone(Vec<u8>),
    Unknown,
}

impl Shared {
    /// Returns the scope within the namespace of this store.
    pub(super) fn scope(&self, scope: Scope) -> [u8; 32] {
        *scope.derive(&self.namespace).as_bytes()
    }

    pub(super) fn ttl(&self) -> i64 {
        millis(self.limits.ttl)
    }

    /// Changes the database.
    pub(super) fn transact<T>(
        &self,
        act: impl Fn(&Transaction<'_>, i64) -> rusqlite::Result<WriteResult<T>>,
    ) -> WriteResult<T> {
        self.database.transact(Immediate, act).map_err(StoreWriteError::Unreachable)?
    }

    pub(super) fn find(&self, tx: &Transaction<'_>, key: SnapshotKey, now: i64) -> rusqlite::Result<Found> {
        let select = "SELECT row, NOT gone AND used > ? FROM snapshots WHERE scope = ? AND id = ?";
        let values = params![now.saturating_sub(self.ttl()), self.scope(key.scope), key.id];
        let found = tx.query_row(select, values, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(match found {
            Some((row, true)) => Found::Live(row),
            Some((row, false)) => Found::Gone(field(tx, row, FieldName::Header)?.unwrap_or_default()),
            None => Found::Unknown,
        })
    }

    /// Restarts the time to live of a snapshot, and marks views as used. What was read is served, if that fails.
    pub(super) fn mark_used(&self, key: SnapshotKey, names: &[FieldName]) {
        let marked = self.transact(|tx, now| {
            let used = "UPDATE snapshots SET used = ? WHERE scope = ? AND id = ? AND NOT gone RETURNING row";
            let row: Option<i64> =
                tx.query_row(used, params![now, self.scope(key.scope), key.id], |row| row.get(0)).optional()?;
            for view in names.iter().filter(|name| matches!(name, FieldName::View(_))) {
                let used = "UPDATE fields SET added = (SELECT max(added) + 1 FROM fields WHERE snapshot = ?1) \
                    WHERE snapshot = ?1 AND name = ?2 AND added IS NOT NULL";
                tx.execute(used, params![row, view.to_string()])?;
            }
            Ok(Ok(()))
        });
        self.availability.record_small_write(&marked);
    }

    pub(super) fn put(
        &self,
        tx: &Transaction<'_>,
        key: SnapshotKey,
        (fields, bytes): (&[(FieldName, Vec<u8>)], usize),
        now: i64,
    ) -> rusqlite::Result<WriteResult<i64>> {
        let (scope, limit) = (self.scope(key.scope), self.limits.bytes);
        let no_capacity = Err(StoreWriteError::NoCapacity { bytes, room: limit as usize });
        if bytes as u64 > limit || !self.make_room(tx, scope, key.id, (bytes as u64, now))? {
            return Ok(no_capacity);
        }
        // Ids are random, so one that exists is a repeated write, or a list that has grown.
        let insert = "INSERT INTO snapshots (scope, id, used, bytes) VALUES (?, ?, ?, 0) \
            ON CONFLICT DO UPDATE SET used = excluded.used, gone = 0 RETURNING row";
        let row: i64 = tx.query_row(insert, params![scope, key.id, now], |row| row.get(0))?;
        // Views that were added before are kept, but those that are written now replace them.
        tx.execute("DELETE FROM fields WHERE snapshot = ? AND added IS NULL", [row])?;
        let mut insert =
            tx.prepare("INSERT OR REPLACE INTO fields (snapshot, name, value) VALUES (?, ?, ?)")?;
        for (name, value) in fields {
            insert.execute(params![row, name.to_string(), value])?;
        }
        count_bytes(tx, row)?;
        Ok(Ok(row))
    }

    pub(super) fn put_view(
        &self,
        tx: &Transaction<'_>,
        key: SnapshotKey,
        view: ViewId,
        bytes: &[u8],
        now: i64,
    ) -> rusqlite::Result<WriteResult> {
        let Found::Live(row) = self.find(tx, key, now)? else {
            return Ok(Err(StoreWriteError::SnapshotGone));
        };
        tx.execute("UPDATE snapshots SET used = ? WHERE row = ?", [now, row])?;
        let (bytes_count, limit) = (bytes.len(), self.limits.bytes);
        if self.is_temporary && used_without(tx, None)? + bytes_count as u64 > limit {
            // Without room for its new pagination, a view that is there stays as it is.
            let known = field(tx, row, FieldName::View(view))?;
            let no_capacity = StoreWriteError::NoCapacity { bytes: bytes_count, room: limit as usize };
            return Ok(known.map(drop).ok_or(no_capacity));
        }
        put_view(tx, row, view, bytes)?;
        count_bytes(tx, row).map(Ok)
    }

    /// Evicts snapshots until `bytes` more of a scope fit. Returns false if they do not. The snapshot itself is replaced.
    fn make_room(
        &self,
        tx: &Transaction<'_>,
        scope: [u8; 32],
        id: SnapshotId,
        (bytes, now): (u64, i64),
    ) -> rusqlite::Result<bool> {
        let limit = self.limits.bytes;
        let fits = || used_without(tx, Some((scope, id))).map(|used| used + bytes <= limit);
        if fits()? {
            return Ok(true);
        }
        while self.remove_expired(tx, now)? {}
        if fits()? {
            return Ok(true);
        }
        let select = "SELECT row, scope, bytes FROM snapshots \
            WHERE NOT gone AND NOT (scope = ? AND id = ?) ORDER BY used, row";
        let entry = |row: &rusqlite::Row<'_>| {
            let bytes: i64 = row.get(2)?;
            Ok(Entry { row: row.get(0)?, scope: row.get(1)?, bytes: bytes.unsigned_abs() })
        };
        let mut select = tx.prepare(select)?;
        let entries = select.query_map(params![scope, id], entry)?.collect::<rusqlite::Result<_>>()?;
        let Some(evicted) = evicted_for(entries, scope, bytes, limit, self.is_temporary) else {
            return Ok(false);
        };
        for Entry { row, bytes, .. } in evicted {
            tracing::info!(bytes, "stored snapshot evicted to make room");
            remove(tx, row)?;
            self.evicted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(true)
    }

    /// Removes a snapshot whose time is over. Returns false if there is none.
    fn remove_expired(&self, tx: &Transaction<'_>, now: i64) -> rusqlite::Result<bool> {
        let select = "SELECT row FROM snapshots WHERE NOT gone AND used <= ? LIMIT 1";
        let row = tx.query_row(select, [now.saturating_sub(self.ttl())], |row| row.get(0)).optional()?;
        let Some(row) = row else { return Ok(false) };
        self.expired.fetch_add(1, Ordering::Relaxed);
        remove(tx, row).map(|()| true)
    }

    pub(super) fn claim(
        &self,
        tx: &Transaction<'_>,
        key: SnapshotKey,
        owner: OwnerId,
        now: i64,
    ) -> rusqlite::Result<bool> {
        let insert = "INSERT INTO claims (scope, id, owner, until) VALUES (?1, ?2, ?3, ?4) \
            ON CONFLICT DO UPDATE SET owner = ?3, until = ?4 WHERE owner = ?3 OR until <= ?5 OR until > ?4";
        let (scope, until) = (self.scope(key.scope), now + millis(CLAIM_TIME));
        // One that ends later than any claim of now was made before the clock was set back.
        Ok(tx.execute(insert, params![scope, key.id, owner, until, now])? > 0)
    }

    /// Writes as much as could not be written last, and removes it.
    pub(super) fn probe(&self) {
        let Some(bytes) = self.availability.probe_bytes() else { return };
        let probed = self.database.transact(Immediate, |tx, now| {
            let id = SnapshotId::default();
            let insert = "INSERT OR REPLACE INTO snapshots (scope, id, used, bytes, gone) VALUES (x'', ?, ?, 0, 1) RETURNING row";
            let row: i64 = tx.query_row(insert, params![id, now], |row| row.get(0))?;
            let fill = "INSERT INTO fields (snapshot, name, value) VALUES (?, 'probe', zeroblob(?))";
            tx.execute(fill, params![row, bytes as i64])?;
            Ok(row)
        });
        let delete = |row| {
            let delete = |tx: &Transaction<'_>, _| tx.execute("DELETE FROM snapshots WHERE row = ?", [row]);
            self.database.transact(Immediate, delete).map(drop)
        };
        self.availability.record_probe(probed.and_then(delete));
    }

    /// Removes what has expired, one snapshot at a time, so that nobody waits for long.
    pub(super) fn sweep(&self) -> Result<(), String> {
        while self.database.transact(Immediate, |tx, now| self.remove_expired(tx, now))? {}
        self.database.transact(Immediate, |tx, now| {
            let end = now.saturating_sub(self.ttl()).saturating_sub(millis(HEADER_TTL));
            tx.execute("DELETE FROM snapshots WHERE gone AND used <= ?", [end])?;
            tx.execute("DELETE FROM claims WHERE until <= ?", [now])?;
            let leads_nowhere = "DELETE FROM reuse WHERE NOT EXISTS (SELECT 1 FROM snapshots \
                WHERE scope = reuse.scope AND id = reuse.id AND NOT gone)";
            tx.execute(leads_nowhere, [])
        })?;
        self.database.shrink()
    }
}

impl Found {
    /// Returns the row of a snapshot that is there.
    pub(super) fn live(self) -> Result<i64, StoreReadError> {
        match self {
            Self::Live(row) => Ok(row),
            Self::Gone(header) => Err(StoreReadError::SnapshotGone { header }),
            Self::Unknown => Err(StoreReadError::Unknown),
        }
    }
}

pub(super) fn field(tx: &Transaction<'_>, row: i64, name: FieldName) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut select = tx.prepare("SELECT value FROM fields WHERE snapshot = ? AND name = ?")?;
    select.query_row(params![row, name.to_string()], |row| row.get(0)).optional()
}

/// Returns the bytes of all snapshots but one.
fn used_without(tx: &Transaction<'_>, other: Option<([u8; 32], SnapshotId)>) -> rusqlite::Result<u64> {
    let used = "SELECT ifnull(sum(bytes), 0) FROM snapshots WHERE NOT (scope IS ? AND id IS ?)";
    let (scope, id) = other.unzip();
    let used: i64 = tx.query_row(used, params![scope, id], |row| row.get(0))?;
    Ok(used.unsigned_abs())
}

/// Removes a snapshot, and keeps its header for a while.
fn remove(tx: &Transaction<'_>, row: i64) -> rusqlite::Result<()> {
    let header = FieldName::Header.to_string();
    tx.execute("DELETE FROM fields WHERE snapshot = ? AND name <> ?", params![row, header])?;
    tx.execute("UPDATE snapshots SET bytes = 0, gone = 1 WHERE row = ?", [row]).map(drop)
}

/// Adds a view to a snapshot, in place of the one that was used longest ago, if there are many.
pub(super) fn put_view(tx: &Transaction<'_>, row: i64, view: ViewId, bytes: &[u8]) -> rusqlite::Result<()> {
    let insert = "INSERT INTO fields (snapshot, name, value, added) \
        VALUES (?1, ?2, ?3, (SELECT ifnull(max(added), 0) + 1 FROM fields WHERE snapshot = ?1)) \
        ON CONFLICT DO UPDATE SET value = excluded.value, added = iif(added IS NULL, NULL, excluded.added)";
    tx.execute(insert, params![row, FieldName::View(view).to_string(), bytes])?;
    let bounded = "DELETE FROM fields WHERE snapshot = ?1 AND added <= \
        (SELECT added FROM fields WHERE snapshot = ?1 AND added IS NOT NULL ORDER BY added DESC LIMIT 1 OFFSET ?2)";
    tx.execute(bounded, params![row, MAX_VIEWS as i64]).map(drop)
}

/// Counts the bytes of the fields of a snapshot.
pub(super) fn count_bytes(tx: &Transaction<'_>, row: i64) -> rusqlite::Result<()> {
    let count = "UPDATE snapshots SET bytes = (SELECT ifnull(sum(length(value)), 0) FROM fields WHERE snapshot = ?1) WHERE row = ?1";
    tx.execute(count, [row]).map(drop)
}

pub(super) fn bytes_of(fields: &[(FieldName, Vec<u8>)]) -> usize {
    fields.iter().map(|(_, bytes)| bytes.len()).sum()
}

pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
