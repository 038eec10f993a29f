//! Lists that one instance fetches page by page, and others read meanwhile.
//!
//! The instance that fetches a list claims its snapshot, and replaces it in the store before its memory: what the store
//! has is what every instance serves.

use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId};

use super::load::{self, Extent};
use super::{
    CachedStore, FieldName, OwnerId, SnapshotKey, StoreWriteError, StoredSnapshot, WriteResult, record,
};

impl CachedStore {
    /// Returns true if other instances may read what is stored.
    pub(crate) fn is_shared(&self) -> bool {
        self.behind.is_some()
    }

    /// Claims a snapshot that is about to be stored, after the reply was sent, and before it is stored.
    pub(crate) fn claim_later(&self, scope: &Scope, id: SnapshotId, owner: OwnerId) {
        if let Some(behind) = &self.behind {
            behind.claim_later(SnapshotKey { scope: *scope, id }, owner);
        }
    }

    /// Claims a snapshot, or renews the claim. Returns false while another instance has it.
    ///
    /// # Errors
    /// If the store does not answer.
    pub(crate) async fn claim(&self, scope: &Scope, id: SnapshotId, owner: OwnerId) -> WriteResult<bool> {
        match &self.behind {
            Some(behind) => behind.store.claim(SnapshotKey { scope: *scope, id }, owner).await,
            None => Ok(true),
        }
    }

    /// Gives up a claim.
    pub(crate) async fn release(&self, scope: &Scope, id: SnapshotId, owner: OwnerId) {
        if let Some(behind) = &self.behind {
            behind.store.release(SnapshotKey { scope: *scope, id }, owner).await;
        }
    }

    /// Gives up a claim later.
    pub(crate) fn release_later(&self, scope: &Scope, id: SnapshotId, owner: OwnerId) {
        if let Some(behind) = &self.behind {
            behind.release_later(SnapshotKey { scope: *scope, id }, owner);
        }
    }

    /// Replaces a snapshot by one with more items of the same list, first in the store.
    ///
    /// # Errors
    /// [`StoreWriteError::Claimed`] if another instance has claimed it; then the memory forgets it. Otherwise if neither
    /// the memory nor the store can keep it.
    pub(crate) async fn replace(
        &self,
        scope: &Scope,
        new: StoredSnapshot,
        owner: OwnerId,
        now: Instant,
    ) -> WriteResult {
        let Some(behind) = &self.behind else { return self.put(scope, new, now).await };
        let key = SnapshotKey { scope: *scope, id: new.id };
        let written = behind.replace(key, owner, new.clone()).await;
        if written == Err(StoreWriteError::Claimed) {
            self.memory.discard(scope, key.id);
            return written;
        }
        // If the store fails, the memory goes on alone.
        let Ok(write) = self.memory.put_unwritten(scope, new, now) else {
            if written.is_ok() {
                self.memory.discard(scope, key.id);
            }
            return written;
        };
        if written.is_ok() {
            write.succeed();
        }
        Ok(())
    }

    /// Returns a stored snapshot as the store has it, if it is a list that is not complete, and the store has another
    /// version of it.
    pub(crate) async fn refresh(
        &self,
        scope: &Scope,
        stored: StoredSnapshot,
        now: Instant,
    ) -> StoredSnapshot {
        let key = SnapshotKey { scope: *scope, id: stored.id };
        let Some(behind) = &self.behind else { return stored };
        let Some(list) = stored.snapshot.upstream_list().filter(|list| list.is_partial) else {
            return stored;
        };
        // A read of what the store does not have would wait for it.
        if behind.store.touch(key).await.is_err() {
            return stored;
        }
        let fields = behind.store.get(key, &[FieldName::Meta]).await.unwrap_or_default();
        let Some(meta) = fields.into_iter().flatten().next() else { return stored };
        let stored_list = record::upstream_list(&meta);
        let has_less = stored_list.as_ref().is_some_and(|known| known.fetched < list.fetched);
        // The store has refused what was fetched since.
        if stored_list.as_ref() == Some(list) || (has_less && self.memory.is_only_copy(scope, key.id)) {
            return stored;
        }
        let loaded = Box::pin(load::load(behind, key, stored.view.id(), Extent::Whole)).await;
        let Ok((root, view)) = loaded else { return stored };
        let Some(view) = view.or_else(|| stored.view.rebased(&root.snapshot)) else { return stored };
        let root = StoredSnapshot { rule: stored.rule, ..root };
        let known = self.memory.whole(scope, key.id).map(|whole| whole.views).unwrap_or_default();
        if self.memory.put(scope, root.clone(), now).is_err() {
            self.memory.discard(scope, key.id);
        }
        // The store has them, too, but perhaps not yet.
        let others = known.iter().filter(|other| other.id() != view.id());
        for other in others.filter_map(|other| other.rebased(&root.snapshot)) {
            self.keep_view(key, other, now);
        }
        StoredSnapshot { view: self.keep_view(key, view, now), ..root }
    }
}

#[cfg(test)]
mod tests;
