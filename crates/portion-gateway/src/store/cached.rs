//! Snapshots in memory, and in the store behind it.
//!
//! A snapshot is served from memory, decoded, as long as it is there. It is written to the store after its
//! reply was sent. If the store fails, the memory goes on alone. What the memory has no room for is written
//! before the reply. What the store has lost, but the memory has not, is written again when it is used.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::snapshot::Snapshot;
use portion_core::view::View;

use super::record::{self, Header};
use super::spill::SpillingStore;
use super::write_behind::WriteBehind;
use super::{
    BackendStatus, FieldName, MemoryStore, NewSnapshot, SnapshotKey, SnapshotStore, StoreLookupError,
    StoreReadError, StoreStats, StoreWriteError, StoredSnapshot,
};
use crate::offload::offload;
use crate::reuse_key::ReuseKey;

/// Content that is read together with the header: all of most snapshots.
const PREFETCHED: [FieldName; 28] = {
    let mut names = [FieldName::IndexPiece(0); 28];
    let mut at: usize = 0;
    while at < names.len() {
        names[at] = match at {
            0..4 => FieldName::IndexPiece(at as u32),
            _ => FieldName::Block(at as u32 - 4),
        };
        at += 1;
    }
    names
};

/// Stores snapshots in memory, and in the store or the temporary file behind it, if there is one.
#[derive(Clone)]
pub struct CachedStore {
    memory: Arc<MemoryStore>,
    spilling: Option<Arc<SpillingStore>>,
    behind: Option<Arc<WriteBehind>>,
}

impl From<Arc<MemoryStore>> for CachedStore {
    /// Stores in memory only.
    fn from(memory: Arc<MemoryStore>) -> Self {
        Self { memory, spilling: None, behind: None }
    }
}

impl From<SpillingStore> for CachedStore {
    /// Stores in memory, and in a temporary file.
    fn from(spilling: SpillingStore) -> Self {
        Self { memory: Arc::clone(spilling.memory()), spilling: Some(Arc::new(spilling)), behind: None }
    }
}

impl CachedStore {
    /// Stores in memory, and in a store behind it.
    pub fn new(memory: MemoryStore, store: Arc<dyn SnapshotStore>) -> Self {
        Self { memory: Arc::new(memory), spilling: None, behind: Some(Arc::new(WriteBehind::new(store))) }
    }

    /// Stores a snapshot, and assigns its reuse key to it in place of any earlier snapshot.
    ///
    /// # Errors
    /// If neither the memory nor the store can keep it.
    pub async fn put(
        &self,
        scope: &Scope,
        deposit: NewSnapshot,
        now: Instant,
    ) -> Result<(), StoreWriteError> {
        if let Some(spilling) = &self.spilling {
            return spilling.put(scope, deposit, now).await;
        }
        let Some(behind) = &self.behind else { return self.memory.put(scope, deposit, now) };
        let (key, reuse) = (SnapshotKey { scope: *scope, id: deposit.id }, deposit.reuse_key);
        match self.memory.put(scope, deposit.clone(), now) {
            Ok(()) => behind.put_later(key, deposit),
            Err(_) => behind.put_now(key, deposit).await?,
        }
        if let Some(reuse) = reuse {
            behind.set_reusable_later(*scope, reuse, Some(key.id)).await;
        }
        Ok(())
    }

    /// Stores a view of a stored snapshot. A view that is already stored counts as used, and gets the
    /// pagination of its first reply.
    ///
    /// # Errors
    /// If neither the memory nor the store can keep it.
    pub async fn put_view(
        &self,
        scope: &Scope,
        id: SnapshotId,
        (snapshot, view): (&Arc<Snapshot>, View),
        now: Instant,
    ) -> Result<(), StoreWriteError> {
        if let Some(spilling) = &self.spilling {
            return spilling.put_view(scope, id, (snapshot, view), now).await;
        }
        let stored = self.memory.put_view(scope, id, view.clone(), now);
        let Some(behind) = &self.behind else { return stored.map(drop) };
        let key = SnapshotKey { scope: *scope, id };
        match stored {
            Ok(view) => behind.put_view_later(key, snapshot, view),
            Err(_) => behind.put_view_now(key, snapshot, &view).await?,
        }
        Ok(())
    }

    /// Returns the snapshot and the view of a cursor.
    ///
    /// # Errors
    /// If the snapshot or the view is not stored.
    pub async fn find(
        &self,
        scope: &Scope,
        id: SnapshotId,
        view: ViewId,
        now: Instant,
    ) -> Result<StoredSnapshot, StoreLookupError> {
        if let Some(spilling) = &self.spilling {
            return spilling.find(scope, id, view, now).await;
        }
        let found = self.memory.find(scope, id, view, now);
        let Some(behind) = &self.behind else { return found };
        let key = SnapshotKey { scope: *scope, id };
        match found {
            Ok(held) => {
                behind.touch_later(key, &held);
                Ok(held)
            }
            Err(StoreLookupError::ViewGone { root }) => {
                let mut found = load_view(behind, key, &root.snapshot, view).await;
                if found.is_none() && behind.settle().await {
                    found = load_view(behind, key, &root.snapshot, view).await;
                }
                match found {
                    Some(view) => Ok(StoredSnapshot { view: self.keep_view(key, view, now), ..*root }),
                    None => Err(StoreLookupError::ViewGone { root }),
                }
            }
            Err(lost) => {
                let mut found = self.load(behind, key, view, now).await;
                // The snapshot, or its view, may wait to be written.
                let may_wait = matches!(
                    found,
                    Err(StoreLookupError::Unknown
                        | StoreLookupError::SnapshotGone { .. }
                        | StoreLookupError::ViewGone { .. })
                );
                if may_wait && behind.settle().await {
                    found = self.load(behind, key, view, now).await;
                }
                match found {
                    // The memory may remember more than the store.
                    Err(StoreLookupError::Unknown) => Err(lost),
                    found => found,
                }
            }
        }
    }

    /// Returns the last snapshot stored with a reuse key, with its root view, if it still exists.
    pub async fn find_reusable(
        &self,
        scope: &Scope,
        reuse: ReuseKey,
        now: Instant,
    ) -> Option<StoredSnapshot> {
        if let Some(spilling) = &self.spilling {
            return spilling.find_reusable(scope, reuse, now).await;
        }
        let Some(behind) = &self.behind else { return self.memory.find_reusable(scope, reuse, now) };
        behind.settle().await;
        // Another process may have stored a newer one.
        match behind.store.reusable(*scope, reuse).await {
            Ok(id) => self.find(scope, id?, View::root().id(), now).await.ok(),
            Err(_) => self.memory.find_reusable(scope, reuse, now),
        }
    }

    /// Clears a reuse key, because a newer response to the same call was not stored.
    pub async fn forget_reuse(&self, scope: &Scope, reuse: ReuseKey) {
        self.memory.forget_reuse(scope, reuse);
        if let Some(spilling) = &self.spilling {
            spilling.forget_reuse(scope, reuse);
        }
        if let Some(behind) = &self.behind {
            behind.set_reusable_later(*scope, reuse, None).await;
        }
    }

    /// Returns the state of the store behind the memory, if there is one.
    pub fn backend_status(&self) -> Option<BackendStatus> {
        self.behind.as_ref().map(|behind| behind.store.status())
    }

    /// Returns the statistics of the memory, and frees what has expired.
    pub fn stats(&self, now: Instant) -> StoreStats {
        if let Some(behind) = &self.behind {
            behind.expire_later();
        }
        match &self.spilling {
            Some(spilling) => spilling.stats(now),
            None => self.memory.stats(now),
        }
    }

    /// Waits at most `limit` until everything is written to the store. Returns true if it is.
    pub fn flush(&self, limit: Duration) -> bool {
        self.behind.as_ref().is_none_or(|behind| behind.flush(limit))
    }

    /// Reads a snapshot from the store into memory.
    async fn load(
        &self,
        behind: &WriteBehind,
        key: SnapshotKey,
        view: ViewId,
        now: Instant,
    ) -> Result<StoredSnapshot, StoreLookupError> {
        let root_id = View::root().id();
        let first = [FieldName::Header, FieldName::Meta, FieldName::View(view), FieldName::View(root_id)];
        let names: Vec<FieldName> = first.into_iter().chain(PREFETCHED).collect();
        let mut fields = behind.store.get(key, &names).await?;
        let prefetched = fields.split_off(first.len().min(fields.len()));
        let Ok([Some(header), Some(meta), packed_view, packed_root]) = <[_; 4]>::try_from(fields) else {
            return Err(unreadable());
        };
        let header = Header::decode(&header).ok_or_else(unreadable)?;
        let wanted = record::content_fields(&meta).ok_or_else(unreadable)?;
        let mut found: HashMap<FieldName, Vec<u8>> =
            PREFETCHED.into_iter().zip(prefetched).filter_map(|(name, field)| Some((name, field?))).collect();
        let rest: Vec<FieldName> = wanted.iter().copied().filter(|name| !found.contains_key(name)).collect();
        if !rest.is_empty() {
            let fields = behind.store.get(key, &rest).await?;
            found.extend(rest.into_iter().zip(fields).filter_map(|(name, field)| Some((name, field?))));
        }
        let content: Vec<Option<Vec<u8>>> = wanted.iter().map(|name| found.remove(name)).collect();
        let decoded = offload(usize::MAX, move || record::decode_snapshot(&meta, &content)).await;
        let snapshot = Arc::new(decoded.ok_or_else(unreadable)?);
        let decode = |id, packed: Option<Vec<u8>>| record::decode_view(&snapshot, id, &packed?);
        let root_view = decode(root_id, packed_root).unwrap_or_else(View::root);
        let deposit = NewSnapshot {
            id: key.id,
            snapshot: Arc::clone(&snapshot),
            view: root_view.clone(),
            endpoint: header.endpoint.clone(),
            arguments: header.arguments.clone(),
            reuse_key: None,
            rule: None,
            redaction: Some(header.redaction),
            origin_snapshot: header.origin_snapshot,
        };
        // Without room in memory, it is read again for the next reply.
        let _ = self.memory.put(&key.scope, deposit, now);
        let found = decode(view, packed_view);
        let stored = StoredSnapshot {
            id: key.id,
            snapshot,
            view: root_view,
            endpoint: header.endpoint,
            arguments: header.arguments,
            rule: None,
            redaction: Some(header.redaction),
            origin_snapshot: header.origin_snapshot,
        };
        match found {
            Some(view) => Ok(StoredSnapshot { view: self.keep_view(key, view, now), ..stored }),
            None => Err(StoreLookupError::ViewGone { root: Box::new(stored) }),
        }
    }

    /// Keeps a view that was read, if there is room.
    fn keep_view(&self, key: SnapshotKey, view: View, now: Instant) -> View {
        self.memory.put_view(&key.scope, key.id, view.clone(), now).unwrap_or(view)
    }
}

/// Returns the error for a snapshot that is damaged, or of another version.
fn unreadable() -> StoreLookupError {
    tracing::warn!("a stored snapshot cannot be read; its cursors read cursor_expired");
    StoreLookupError::Unknown
}

/// Reads a view of a snapshot that is in memory.
async fn load_view(
    behind: &WriteBehind,
    key: SnapshotKey,
    snapshot: &Snapshot,
    view: ViewId,
) -> Option<View> {
    let fields = behind.store.get(key, &[FieldName::View(view)]).await.unwrap_or_default();
    record::decode_view(snapshot, view, fields.first()?.as_deref()?)
}

impl From<StoreReadError> for StoreLookupError {
    fn from(error: StoreReadError) -> Self {
        match error {
            StoreReadError::SnapshotGone { header } => match Header::decode(&header) {
                Some(Header { endpoint, arguments, origin_snapshot, .. }) => {
                    Self::SnapshotGone { endpoint, arguments, origin_snapshot }
                }
                None => Self::Unknown,
            },
            StoreReadError::Unknown => Self::Unknown,
            StoreReadError::Unreachable(why) => Self::Unreachable(why),
        }
    }
}
