//! Fetches of lists in a store that several instances share: one of them fetches a list, the others wait for what it stores.
//!
//! The instance that fetches a list has its claim in the store. If it renews the claim no more, another one goes on, from
//! what is stored.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::UpstreamList;

use super::carrier::payload_of;
use super::fetch::Fetch;
use super::fetches::Fetches;
use super::need::Need;
use crate::effective_policy::EffectivePolicy;
use crate::offload::offload;
use crate::renderer::{capture, payload_bytes};
use crate::store::StoredSnapshot;

/// Time after which a claim is renewed, or the items fetched since are stored.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// Pause after a list was stored, as a multiple of the time that it took: a long list is written again as a whole.
const STORING_PAUSE: u32 = 9;
/// Time between looks at a list that another instance fetches.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Outcome of waiting for a list that another instance may fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// This instance has claimed the list, and may fetch it.
    Fetch,
    /// The need is met, or another instance fetches the list.
    Wait,
    /// The store does not answer, and only another instance may have the rest of the list.
    StoreLost,
}

/// Returns true if the fetch of a stored list is not over, as far as the list tells.
pub(crate) fn is_growing(stored: &StoredSnapshot) -> bool {
    stored.snapshot.upstream_list().filter(|list| list.is_partial).is_some_and(|list| {
        list.stop_reason.as_ref().is_none_or(|reason| reason == UpstreamList::STILL_FETCHING)
    })
}

/// Returns a list that another instance still fetches with the reason why a reply shows no more of it. What is stored does
/// not change.
pub(crate) async fn note_pending(stored: StoredSnapshot, policy: &Arc<EffectivePolicy>) -> StoredSnapshot {
    let Some(list) = stored.snapshot.upstream_list().cloned() else { return stored };
    let mut payload = payload_of(&stored.snapshot);
    let list = UpstreamList { stop_reason: Some(UpstreamList::STILL_FETCHING.to_owned()), ..list };
    payload.upstream_list = Some(Box::new(list));
    let policy = Arc::clone(policy);
    let captured = offload(payload_bytes(&payload), move || capture(payload, &policy)).await;
    let Ok(snapshot) = captured else { return stored };
    let snapshot = Arc::new(snapshot);
    match stored.view.rebased(&snapshot) {
        Some(view) => StoredSnapshot { snapshot, view, ..stored },
        None => stored,
    }
}

impl Fetches {
    /// Claims a list before its first items are stored.
    pub(crate) fn claim_later(&self, scope: &Scope, id: SnapshotId) {
        self.store.claim_later(scope, id, self.owner);
    }

    /// Gives up the claim of a list, unless it is fetched here.
    pub(crate) async fn release(&self, scope: &Scope, id: SnapshotId) {
        if !self.is_in_progress(id) {
            self.store.release(scope, id, self.owner).await;
        }
    }

    /// Waits until a stored list meets a need, or until this instance may fetch it. Also returns the list as it is stored.
    pub(crate) async fn wait_for_turn(
        &self,
        scope: &Scope,
        mut stored: StoredSnapshot,
        need: Need,
        deadline: Instant,
    ) -> (StoredSnapshot, Turn) {
        if !self.store.is_shared() {
            return (stored, Turn::Fetch);
        }
        let mut was_growing = false;
        loop {
            stored = self.store.refresh(scope, stored, (self.clock)()).await;
            let grows = is_growing(&stored);
            // A fetch that stopped during this call is tried again by the next one.
            let has_stopped = need == Need::All && !grows && was_growing;
            if need.is_met_by(&stored) || has_stopped {
                return (stored, Turn::Wait);
            }
            was_growing = grows;
            match self.store.claim(scope, stored.id, self.owner).await {
                Ok(true) => break,
                Ok(false) if Instant::now() < deadline => tokio::time::sleep(LOOK_INTERVAL).await,
                Ok(false) => return (stored, Turn::Wait),
                // Without the store, the instance that has captured the list goes on with it.
                Err(_) if stored.rule.is_some() => return (stored, Turn::Fetch),
                // What needs the whole list takes what was fetched before the fetch stopped.
                Err(_) if need == Need::All && !grows => return (stored, Turn::Wait),
                Err(_) => return (stored, Turn::StoreLost),
            }
        }
        // More may have been stored before the claim.
        stored = self.store.refresh(scope, stored, (self.clock)()).await;
        if need.is_met_by(&stored) {
            self.release(scope, stored.id).await;
            return (stored, Turn::Wait);
        }
        (stored, Turn::Fetch)
    }

    /// Renews the claim of a list that is being fetched, and stores what was fetched. Returns if another instance fetches the
    /// list.
    pub(super) async fn share_progress(&self, fetch: &Fetch) {
        if !self.store.is_shared() {
            return std::future::pending().await;
        }
        let mut next_storing = Instant::now();
        loop {
            tokio::time::sleep(PROGRESS_INTERVAL).await;
            let Some((scope, id)) = fetch.deposit_key() else { continue };
            let begun = Instant::now();
            // A reply that stores the list holds the lock.
            let stored = fetch.stored_count.try_lock().map_or(usize::MAX, |stored| *stored);
            if fetch.progress().count > stored && begun >= next_storing {
                self.replace_and_renew(fetch, &scope, id).await;
                next_storing = Instant::now() + begun.elapsed() * STORING_PAUSE;
            } else if self.store.claim(&scope, id, self.owner).await == Ok(false) {
                self.lose(fetch, id);
            }
            if !self.is_current(fetch, id) {
                return;
            }
        }
    }

    /// Stores what was fetched, and renews the claim meanwhile: a long list may take longer than a claim holds.
    async fn replace_and_renew(&self, fetch: &Fetch, scope: &Scope, id: SnapshotId) {
        let mut storing = std::pin::pin!(self.replace_snapshot(fetch, Need::Items(0)));
        while tokio::time::timeout(PROGRESS_INTERVAL, &mut storing).await.is_err() {
            // A failure shows when the list is replaced.
            let _ = self.store.claim(scope, id, self.owner).await;
        }
    }

    /// Ends a fetch, because another instance has claimed the list.
    pub(super) fn lose(&self, fetch: &Fetch, id: SnapshotId) {
        tracing::info!("another instance goes on with a list that was fetched here");
        self.forget(fetch, id);
        fetch.edit(|list| list.stop("another instance fetches the list".into()));
    }
}
