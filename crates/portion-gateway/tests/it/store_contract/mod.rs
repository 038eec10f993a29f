//! Contract of snapshot stores, for any store behind the memory. A new store adds tests at the end.

mod claims;
mod clocks;
mod damage;
mod file_failures;
mod files;
mod pages;
mod restart;
mod shared;
mod shared_views;
mod spill_laws;
mod spilled;
mod topologies;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::samples::lines::Lines;
use crate::samples::{bookings, create_order, drawer, drawers, list_bookings, paginated, requested};
use portion_core::cursor::{Scope, SnapshotId};
use portion_core::snapshot::{Snapshot, capture};
use portion_core::view::{Request, View};
use portion_gateway::call::ReuseKey;
use portion_gateway::store::{
    CachedStore, MemoryStore, StoreLimits, StoreLookupError, StoreWriteError, StoredSnapshot,
};

/// Runs an operation in this thread, whose log is captured: without a runtime, files are waited for nowhere.
fn run<T>(operation: impl Future<Output = T>) -> T {
    match pin!(operation).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("it waits"),
    }
}

/// An empty store under test, and its clock.
struct Trial<'a> {
    store: &'a CachedStore,
    ttl: Duration,
    /// Advances the clock, and returns the time.
    pass: Box<dyn FnMut(Duration) -> Instant + 'a>,
}

impl Trial<'_> {
    /// Advances the clock once everything is written.
    fn wait(&mut self, by: Duration) {
        assert!(self.store.flush(Duration::from_mins(1)), "the store is not written");
        (self.pass)(by);
    }

    fn now(&mut self) -> Instant {
        (self.pass)(Duration::ZERO)
    }

    async fn put(&mut self, scope: &Scope, id: u8, snapshot: &Arc<Snapshot>, view: View) {
        let new = StoredSnapshot {
            view,
            endpoint: Some(Arc::new(list_bookings())),
            reuse_key: Some(key("{}")),
            ..StoredSnapshot::new(named(id), Arc::clone(snapshot))
        };
        let now = self.now();
        self.store.put(scope, new, now).await.expect("there is room");
    }

    async fn find(&mut self, scope: &Scope, id: u8, view: &View) -> Result<StoredSnapshot, StoreLookupError> {
        let now = self.now();
        self.store.find(scope, named(id), view.id(), now).await
    }

    async fn recall(&mut self, scope: &Scope) -> Option<SnapshotId> {
        let now = self.now();
        self.store.find_reusable(scope, key("{}"), now).await.map(|stored| stored.id)
    }
}

fn named(id: u8) -> SnapshotId {
    [id; 6]
}

fn key(arguments: &str) -> ReuseKey {
    ReuseKey::new(&list_bookings(), arguments)
}

/// Tests the whole contract on one store.
async fn contract(mut trial: Trial<'_>) {
    what_was_put_is_found(&mut trial).await;
    nobody_else_finds_it(&mut trial).await;
    views_are_kept_with_it(&mut trial).await;
    the_first_reply_sets_the_pagination_of_a_view(&mut trial).await;
    a_view_without_its_snapshot_is_refused(&mut trial).await;
    the_latest_of_equal_calls_is_recalled(&mut trial).await;
    a_list_that_grows_is_still_recalled(&mut trial).await;
    every_use_starts_its_time_anew(&mut trial).await;
    what_has_gone_is_told_from_what_never_was(&mut trial).await;
}

async fn what_was_put_is_found(trial: &mut Trial<'_>) {
    let (scope, snapshot) = (Scope::from_principal("found"), Arc::new(drawers(3)));
    let (root, first) = (View::root(), drawer(&snapshot, 0));
    trial.put(&scope, 1, &snapshot, first.clone()).await;
    for view in [&root, &first] {
        let stored = trial.find(&scope, 1, view).await.expect("it was put");
        assert_eq!(stored.id, named(1));
        assert_eq!(stored.view.id(), view.id());
        assert_eq!(stored.snapshot.payload_bytes(), snapshot.payload_bytes());
        assert_eq!(stored.endpoint.as_deref(), Some(&list_bookings()));
    }
}

async fn nobody_else_finds_it(trial: &mut Trial<'_>) {
    let (ada, bob, snapshot) =
        (Scope::from_principal("ada"), Scope::from_principal("bob"), Arc::new(drawers(3)));
    trial.put(&ada, 2, &snapshot, View::root()).await;
    let found = trial.find(&bob, 2, &View::root()).await;
    assert!(matches!(found, Err(StoreLookupError::Unknown)), "{found:?}");
    assert_eq!(trial.recall(&bob).await, None);
    let now = trial.now();
    let kept = trial.store.put_view(&bob, named(2), (&snapshot, drawer(&snapshot, 0)), now).await;
    assert_eq!(kept, Err(StoreWriteError::SnapshotGone));
    trial.store.forget_reuse(&bob, key("{}")).await;
    assert_eq!(trial.recall(&ada).await, Some(named(2)));
}

async fn views_are_kept_with_it(trial: &mut Trial<'_>) {
    let (scope, snapshot) = (Scope::from_principal("views"), Arc::new(drawers(500)));
    let views: Vec<View> = (0..500).map(|n| drawer(&snapshot, n)).collect();
    trial.put(&scope, 3, &snapshot, View::root()).await;
    for view in &views {
        let now = trial.now();
        trial.store.put_view(&scope, named(3), (&snapshot, view.clone()), now).await.expect("it is small");
        trial.wait(Duration::ZERO);
        // A view that is used repeatedly stays, and so does the root.
        trial.find(&scope, 3, &views[0]).await.expect("it is in use");
    }
    trial.find(&scope, 3, &views[499]).await.expect("it is the latest");
    trial.find(&scope, 3, &View::root()).await.expect("the root is always there");
    let Err(StoreLookupError::ViewGone { root }) = trial.find(&scope, 3, &views[1]).await else {
        panic!("the number of views is bounded, the least recently used goes");
    };
    assert_eq!(root.view.id(), View::root().id());
    assert_eq!(root.id, named(3));
}

async fn the_first_reply_sets_the_pagination_of_a_view(trial: &mut Trial<'_>) {
    let (scope, snapshot) = (Scope::from_principal("pagination"), Arc::new(capture(bookings(400))));
    let selection = Request { fields: Some("id".into()), ..Request::default() };
    trial.put(&scope, 10, &snapshot, View::root()).await;
    for request in [Request::default(), selection] {
        let paginated = paginated(&snapshot, &request, 20);
        for view in [requested(&snapshot, &request), paginated.clone()] {
            let now = trial.now();
            trial.store.put_view(&scope, named(10), (&snapshot, view), now).await.expect("it is small");
        }
        trial.wait(Duration::ZERO);
        let found = trial.find(&scope, 10, &paginated).await.expect("it was put");
        assert_eq!(found.view.page_size(), Some(20));
    }
}

async fn a_view_without_its_snapshot_is_refused(trial: &mut Trial<'_>) {
    let snapshot = Arc::new(drawers(3));
    let now = trial.now();
    let kept = trial
        .store
        .put_view(&Scope::from_principal("views"), named(99), (&snapshot, drawer(&snapshot, 0)), now)
        .await;
    assert_eq!(kept, Err(StoreWriteError::SnapshotGone));
}

async fn the_latest_of_equal_calls_is_recalled(trial: &mut Trial<'_>) {
    let (scope, snapshot) = (Scope::from_principal("recalled"), Arc::new(drawers(3)));
    assert_eq!(trial.recall(&scope).await, None);
    for id in [4, 5] {
        trial.put(&scope, id, &snapshot, View::root()).await;
        assert_eq!(trial.recall(&scope).await, Some(named(id)));
    }
    let now = trial.now();
    assert!(trial.store.find_reusable(&scope, key("{\"a\":1}"), now).await.is_none());
    trial.store.forget_reuse(&scope, key("{}")).await;
    assert_eq!(trial.recall(&scope).await, None);
    trial.find(&scope, 5, &View::root()).await.expect("a cursor still leads there");
}

async fn a_list_that_grows_is_still_recalled(trial: &mut Trial<'_>) {
    let (scope, snapshot) = (Scope::from_principal("grows"), Arc::new(drawers(3)));
    let grown = StoredSnapshot {
        endpoint: Some(Arc::new(list_bookings())),
        ..StoredSnapshot::new(named(8), Arc::new(drawers(9)))
    };
    for (before, expect) in [(vec![8], 8), (vec![8, 9], 9)] {
        for id in before {
            trial.put(&scope, id, &snapshot, View::root()).await;
        }
        let now = trial.now();
        trial.store.put(&scope, grown.clone(), now).await.expect("there is room");
        assert_eq!(trial.recall(&scope).await, Some(named(expect)));
    }
}

async fn every_use_starts_its_time_anew(trial: &mut Trial<'_>) {
    let (scope, snapshot) = (Scope::from_principal("time"), Arc::new(drawers(3)));
    let (root, wait) = (View::root(), trial.ttl * 3 / 4);
    trial.put(&scope, 6, &snapshot, root.clone()).await;
    trial.wait(wait);
    trial.find(&scope, 6, &root).await.expect("its time is not over");
    trial.wait(wait);
    let now = trial.now();
    trial
        .store
        .put_view(&scope, named(6), (&snapshot, drawer(&snapshot, 0)), now)
        .await
        .expect("it was found since");
    trial.wait(wait);
    assert_eq!(trial.recall(&scope).await, Some(named(6)));
    trial.wait(wait);
    trial.find(&scope, 6, &root).await.expect("it was recalled since");
    trial.wait(trial.ttl);
    assert_eq!(trial.recall(&scope).await, None);
    let found = trial.find(&scope, 6, &root).await;
    assert!(matches!(found, Err(StoreLookupError::SnapshotGone { .. })), "{found:?}");
}

async fn what_has_gone_is_told_from_what_never_was(trial: &mut Trial<'_>) {
    let (scope, snapshot) = (Scope::from_principal("gone"), Arc::new(drawers(3)));
    let now = trial.now();
    let new = StoredSnapshot {
        endpoint: Some(Arc::new(create_order())),
        arguments: Some("{\"table\":7}".into()),
        origin_snapshot: named(6),
        ..StoredSnapshot::new(named(7), Arc::clone(&snapshot))
    };
    trial.store.put(&scope, new, now).await.expect("there is room");
    trial.wait(trial.ttl);
    match trial.find(&scope, 7, &View::root()).await {
        Err(StoreLookupError::SnapshotGone { endpoint, arguments, origin_snapshot: origin }) => {
            assert_eq!((endpoint.as_deref(), origin), (Some(&create_order()), named(6)));
            assert_eq!(arguments.as_deref(), Some("{\"table\":7}"));
        }
        found => panic!("{found:?}"),
    }
    for (scope, id) in [(scope, 98), (Scope::from_principal("another"), 7)] {
        let found = trial.find(&scope, id, &View::root()).await;
        assert!(matches!(found, Err(StoreLookupError::Unknown)), "{found:?}");
    }
}

#[test]
fn an_eviction_is_logged_with_its_size() {
    let (scope, now) = (Scope::from_principal("ada"), Instant::now());
    let new_snapshot = |id| StoredSnapshot::new(named(id), Arc::new(drawers(3)));
    let roomy = MemoryStore::default();
    roomy.put(&scope, new_snapshot(1), now).expect("there is room");
    let memory_bytes = roomy.stats(now).bytes;
    let store = MemoryStore::new(StoreLimits { memory_bytes, ..StoreLimits::default() });
    let lines = Lines::default();
    let guard = tracing::subscriber::set_default(lines.clone());
    for id in 1..3 {
        store.put(&scope, new_snapshot(id), now).expect("there is room");
    }
    drop(guard);
    let log = lines.text();
    assert!(log.lines().count() == 1 && log.trim_end().ends_with(&format!(" bytes={memory_bytes}")), "{log}");
}

#[tokio::test]
async fn memory() {
    let limits = StoreLimits::default();
    let store = CachedStore::from(Arc::new(MemoryStore::new(limits)));
    let mut now = Instant::now();
    let pass = Box::new(move |by| {
        now += by;
        now
    });
    contract(Trial { store: &store, ttl: limits.ttl, pass }).await;
}
