//! One list that grows while its pages are fetched.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::{Payload, UpstreamList};
use portion_core::view::View;
use tokio::sync::watch;

use super::fetches::Deposit;
use super::need::Need;
use super::paged_list::PagedList;

/// A list that grows.
#[derive(Debug)]
pub(crate) struct Fetch {
    list: Mutex<PagedList>,
    progress: watch::Sender<Progress>,
    /// Its snapshot in the store, once there is one.
    pub(super) deposit: Mutex<Option<Deposit>>,
    /// Views that replies have stored since.
    views: Mutex<Vec<View>>,
    /// Held while the snapshot is replaced; the number of items in the store.
    pub(super) stored_count: tokio::sync::Mutex<usize>,
}

/// Progress of a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) count: usize,
    pub(super) is_over: bool,
    /// True if the last page decides nothing about the need of a first reply.
    is_uncertain: bool,
}

impl Fetch {
    pub(super) fn new(list: PagedList) -> Arc<Self> {
        let progress = watch::Sender::new(Progress::of(&list));
        Arc::new(Self {
            list: Mutex::new(list),
            progress,
            deposit: Mutex::default(),
            views: Mutex::default(),
            stored_count: tokio::sync::Mutex::default(),
        })
    }

    /// Waits until the list meets a need, or is not fetched any more, or until `deadline`.
    pub(crate) async fn wait(&self, need: Need, deadline: Instant) {
        let mut progress = self.progress.subscribe();
        let met = progress
            .wait_for(|progress| need.is_met(progress.count, progress.is_over) && !progress.is_uncertain);
        let _ = tokio::time::timeout_at(deadline.into(), met).await;
    }

    /// Returns true if the list meets a need, or is not fetched any more.
    pub(super) fn meets(&self, need: Need) -> bool {
        let progress = *self.progress.borrow();
        need.is_met(progress.count, progress.is_over)
    }

    /// Returns true if both are the same fetch.
    pub(super) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }

    /// Returns the scope and the id of its snapshot in the store, once there is one.
    pub(super) fn deposit_key(&self) -> Option<(Scope, SnapshotId)> {
        let deposit = self.deposit.lock();
        deposit.as_ref().map(|deposit| (deposit.scope, deposit.snapshot.id))
    }

    pub(super) fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    /// Returns the list as it is. `need`: what was waited for.
    pub(crate) fn to_payload(&self, need: Need) -> Payload {
        let reason = (!self.meets(need)).then_some(UpstreamList::STILL_FETCHING);
        self.list().to_payload(reason)
    }

    /// Returns true if the first page is the whole list, and there is nothing to fetch.
    pub(crate) fn is_one_page(&self) -> bool {
        let list = self.list();
        list.is_complete() && list.productive_pages <= 1 && list.skipped == 0
    }

    /// Returns true if an item of the upstream's list was not fetched, and the list is not known to be complete.
    pub(crate) fn lacks(&self, item: usize) -> bool {
        let list = self.list();
        !list.is_complete() && list.skipped + list.item_count <= item
    }

    /// Returns the number of items of the upstream's list before the first fetched one.
    pub(crate) fn skipped(&self) -> usize {
        self.list().skipped
    }

    /// Returns the path of the list in its first page, if it has one.
    pub(crate) fn list_path(&self) -> Option<Arc<str>> {
        self.list().path.clone()
    }

    /// Returns the number of fetched items.
    pub(crate) fn len(&self) -> usize {
        self.list().item_count
    }

    /// Changes the list, and wakes those who wait for it.
    pub(super) fn edit<T>(&self, edit: impl FnOnce(&mut PagedList) -> T) -> T {
        let mut list = self.list();
        let outcome = edit(&mut list);
        self.progress.send_replace(Progress::of(&list));
        outcome
    }

    /// Keeps a view of the snapshot, which is replaced as the list grows.
    pub(super) fn record_view(&self, view: &View) {
        let mut views = self.views.lock();
        views.retain(|known| known.id() != view.id());
        views.push(view.clone());
    }

    pub(super) fn views(&self) -> Vec<View> {
        self.views.lock().clone()
    }

    pub(super) fn list(&self) -> MutexGuard<'_, PagedList> {
        self.list.lock()
    }
}

impl Progress {
    fn of(list: &PagedList) -> Self {
        Self { count: list.item_count, is_over: list.is_over(), is_uncertain: list.is_end_uncertain() }
    }
}
