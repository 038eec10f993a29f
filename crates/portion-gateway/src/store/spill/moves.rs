//! Moves snapshots between memory and file. Every function has or takes the lock of the file.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

use super::SpillingStore;
use super::file::SpillFile;
use super::index::{Extent, Source, SpilledSnapshot};
use crate::store::memory::DisplacedSnapshot;
use crate::store::record;
use crate::store::{FieldName, NewSnapshot, SnapshotKey, StoreLookupError, StoreWriteError, StoredSnapshot};

/// Largest number of snapshots that are moved for one.
const MAX_DISPLACED: usize = 1 << 16;
/// Largest number of views that return to memory with their snapshot.
const MAX_RESTORED_VIEWS: usize = 32;

impl SpillingStore {
    /// Stores a snapshot in memory, after making room; else in the file.
    pub(super) fn put_with_room(
        &self,
        key: SnapshotKey,
        deposit: &NewSnapshot,
        now: Instant,
    ) -> Result<(), StoreWriteError> {
        let mut file = self.file();
        self.expire(now);
        let put = || self.memory.put(&key.scope, deposit.clone(), now);
        let refused = match self.retry_with_room(&mut file, &key.scope, None, now, put) {
            Ok(()) => {
                self.index().remove(&key);
                return Ok(());
            }
            Err(refused) => refused,
        };
        let views: Vec<View> = [deposit.view.clone()].into_iter().filter(|view| !is_root(view)).collect();
        let root = NewSnapshot { view: deposit.view.root_with_pagination(), ..deposit.clone() };
        let expires_at = now.checked_add(self.index().ttl());
        if self.write(&mut file, key, &root, &views, expires_at).is_none() {
            self.memory.count_refused();
            return Err(refused);
        }
        // An earlier version of a list that grows.
        self.memory.discard(&key.scope, key.id);
        Ok(())
    }

    /// Stores a view of a snapshot in memory, after making room; else in the file.
    pub(super) fn put_view_with_room(
        &self,
        key: SnapshotKey,
        snapshot: &Snapshot,
        view: &View,
        now: Instant,
    ) -> Result<(), StoreWriteError> {
        let mut file = self.file();
        self.expire(now);
        let put = || self.memory.put_view(&key.scope, key.id, view.clone(), now).map(drop);
        let mut outcome = self.retry_with_room(&mut file, &key.scope, Some(key.id), now, put);
        if matches!(outcome, Err(StoreWriteError::NoCapacity { .. }))
            && let Some(displaced) = self.memory.displaced(&key.scope, key.id)
        {
            self.displace(&mut file, &displaced);
        }
        let spilled = if outcome.is_err() { self.index().touch(&key, view.id(), now) } else { None };
        if let Some(spilled) = spilled {
            // Without room for its new pagination, a view that the file has stays as it is.
            let is_kept = self.write_view(&mut file, key, snapshot, view) || spilled.has_view(view.id());
            outcome = if is_kept { Ok(()) } else { outcome };
        }
        if matches!(outcome, Err(StoreWriteError::NoCapacity { .. })) {
            self.memory.count_refused();
        }
        outcome
    }

    /// Reads a snapshot from the file, and moves it to memory if there is room.
    pub(super) fn load(
        &self,
        key: SnapshotKey,
        view: ViewId,
        now: Instant,
    ) -> Result<StoredSnapshot, StoreLookupError> {
        let mut file = self.file();
        let in_memory = || self.memory.find(&key.scope, key.id, view, now);
        let found = in_memory();
        if !matches!(found, Err(StoreLookupError::SnapshotGone { .. } | StoreLookupError::Unknown)) {
            return found;
        }
        let Some(spilled) = self.index().touch(&key, view, now) else { return in_memory() };
        let Some((snapshot, mut views)) = read(&mut file, &spilled) else {
            tracing::warn!("a result on disk cannot be read; its cursors read cursor_expired");
            let source = self.index().remove(&key);
            if let Some(source) = source {
                self.memory.bury(key.id, source.into_tombstone(key.scope));
            }
            return in_memory();
        };
        let root = views.remove(0);
        let SpilledSnapshot { source, .. } = spilled;
        let Source { endpoint, arguments, rule, redaction, origin_snapshot, reuse_key } = source;
        let stored = StoredSnapshot {
            id: key.id,
            snapshot: Arc::new(snapshot),
            view: root,
            endpoint,
            arguments,
            rule,
            redaction,
            origin_snapshot,
        };
        let deposit = NewSnapshot { reuse_key, ..stored.clone().into() };
        let kept = views.split_off(views.len().saturating_sub(MAX_RESTORED_VIEWS));
        let restore = || self.memory.restore(&key.scope, deposit.clone(), kept.clone(), now);
        if self.retry_with_room(&mut file, &key.scope, None, now, restore).is_ok() {
            self.index().remove(&key);
        }
        if stored.view.id() == view {
            return Ok(stored);
        }
        match kept.into_iter().chain(views).find(|other| other.id() == view) {
            Some(view) => Ok(StoredSnapshot { view, ..stored }),
            None => Err(StoreLookupError::ViewGone { root: Box::new(stored) }),
        }
    }

    /// Stores something in memory. As long as there is no room, snapshots are moved to the file. `keep` stays.
    fn retry_with_room(
        &self,
        file: &mut SpillFile,
        scope: &Scope,
        keep: Option<SnapshotId>,
        now: Instant,
        store: impl Fn() -> Result<(), StoreWriteError>,
    ) -> Result<(), StoreWriteError> {
        let mut outcome = store();
        for _ in 0..MAX_DISPLACED {
            let Err(StoreWriteError::NoCapacity { bytes, .. }) = outcome else { break };
            let Some(displaced) = self.memory.next_displaced(scope, bytes, keep, now) else { break };
            if !self.displace(file, &displaced) {
                if displaced.scope == *scope {
                    break;
                }
                // It belongs to a principal above its share, and this one is below.
                self.memory.evict(&displaced);
            }
            outcome = store();
        }
        outcome
    }

    /// Moves a snapshot from memory to the file. Returns false if the file has no room.
    fn displace(&self, file: &mut SpillFile, displaced: &DisplacedSnapshot) -> bool {
        let DisplacedSnapshot { scope, deposit, views, expires_at, .. } = displaced;
        let key = SnapshotKey { scope: *scope, id: deposit.id };
        if self.write(file, key, deposit, views, *expires_at).is_none() {
            return false;
        }
        if !self.memory.release(displaced) {
            // It was used meanwhile, and stays in memory.
            self.index().remove(&key);
        }
        true
    }

    /// Writes a snapshot with its views. `deposit` has the root view. Returns `None` if the file has no room.
    fn write(
        &self,
        file: &mut SpillFile,
        key: SnapshotKey,
        deposit: &NewSnapshot,
        views: &[View],
        expires_at: Option<Instant>,
    ) -> Option<()> {
        let snapshot = &deposit.snapshot;
        let view_ids: Vec<ViewId> = [&deposit.view].into_iter().chain(views).map(View::id).collect();
        let views = [&deposit.view].into_iter().chain(views).map(|view| record::encode_view(snapshot, view));
        let fields: Vec<Vec<u8>> =
            record::encode_content(snapshot).chain(views).map(|(_, field)| field).collect();
        let content = self.write_bytes(file, &join(&fields))?;
        let NewSnapshot { endpoint, arguments, rule, redaction, origin_snapshot, reuse_key, .. } =
            deposit.clone();
        let source = Source { endpoint, arguments, rule, redaction, origin_snapshot, reuse_key };
        self.index()
            .insert(key, SpilledSnapshot { content, view_ids, later_views: Vec::new(), source, expires_at });
        Some(())
    }

    /// Writes a view of a snapshot that is in the file. Returns false if the file has no room.
    fn write_view(&self, file: &mut SpillFile, key: SnapshotKey, snapshot: &Snapshot, view: &View) -> bool {
        let (_, bytes) = record::encode_view(snapshot, view);
        let extent = self.write_bytes(file, &bytes);
        extent.is_some_and(|extent| self.index().insert_view(&key, view.id(), extent))
    }

    fn write_bytes(&self, file: &mut SpillFile, bytes: &[u8]) -> Option<Extent> {
        let extent = self.index().allocate(bytes.len())?;
        if file.write(&extent.runs, bytes).is_ok() {
            return Some(extent);
        }
        self.index().release(&extent);
        None
    }
}

/// Reads a snapshot and its views, the root first; `None` if it cannot be read.
fn read(file: &mut SpillFile, spilled: &SpilledSnapshot) -> Option<(Snapshot, Vec<View>)> {
    let bytes = file.read(&spilled.content.runs, spilled.content.len).ok()?;
    let mut fields = split(&bytes)?;
    let names = record::content_fields(fields.first()?)?;
    let packed_views = fields.split_off((1 + names.len()).min(fields.len()));
    let mut fields = fields.into_iter();
    let meta = fields.next()?;
    let content: HashMap<FieldName, Vec<u8>> = names.into_iter().zip(fields).collect();
    let snapshot = record::decode_snapshot(&meta, &content).filter(|snapshot| !snapshot.is_partial())?;
    let decode = |(id, packed): (&ViewId, &Vec<u8>)| record::decode_view(&snapshot, *id, packed);
    let mut views: Vec<View> =
        spilled.view_ids.iter().zip(&packed_views).map(decode).collect::<Option<_>>()?;
    for (id, extent) in &spilled.later_views {
        let packed = file.read(&extent.runs, extent.len).ok()?;
        let Some(later) = record::decode_view(&snapshot, *id, &packed) else { continue };
        match views.iter_mut().find(|view| view.id() == *id) {
            Some(view) => *view = std::mem::take(view).with_pagination_of(&later),
            None => views.push(later),
        }
    }
    (!views.is_empty()).then_some((snapshot, views))
}

/// Joins fields: their number, their lengths, their bytes.
fn join(fields: &[Vec<u8>]) -> Vec<u8> {
    let content: usize = fields.iter().map(Vec::len).sum();
    let mut bytes = Vec::with_capacity(content + 8 * (fields.len() + 1));
    let lengths = [fields.len()].into_iter().chain(fields.iter().map(Vec::len));
    lengths.for_each(|length| bytes.extend_from_slice(&(length as u64).to_le_bytes()));
    fields.iter().for_each(|field| bytes.extend_from_slice(field));
    bytes
}

/// Splits what was joined; `None` if it is damaged.
fn split(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (count, mut lengths) = bytes.split_first_chunk()?;
    let count = usize::try_from(u64::from_le_bytes(*count)).ok()?;
    let mut content = lengths.get(count.checked_mul(8)?..)?;
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, rest) = lengths.split_first_chunk()?;
        let (field, later) = content.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        fields.push(field.to_vec());
        (lengths, content) = (rest, later);
    }
    Some(fields)
}

fn is_root(view: &View) -> bool {
    view.id() == View::root().id()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{join, split};

    #[test]
    fn damaged_fields_are_not_split() {
        let joined = join(&[b"one".to_vec(), Vec::new(), b"three".to_vec()]);
        assert_eq!(joined.len(), 4 * 8 + 8);
        for len in 0..joined.len() {
            assert_eq!(split(&joined[..len]), None, "{len} bytes");
        }
        for count in [4, u64::MAX, u64::MAX / 8, 1 << 61] {
            let claimed = [&count.to_le_bytes()[..], &joined[8..]].concat();
            assert_eq!(split(&claimed), None, "{count} fields");
        }
    }

    proptest! {
        #[test]
        fn joined_fields_are_split(fields in vec(vec(any::<u8>(), 0..30), 0..9)) {
            prop_assert_eq!(split(&join(&fields)), Some(fields));
        }

        #[test]
        fn any_bytes_are_split_or_not(bytes in vec(any::<u8>(), 0..80)) {
            let _ = split(&bytes);
        }
    }
}
