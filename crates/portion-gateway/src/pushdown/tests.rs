//! Fetches that end while other fetches of the same list begin, here or at another instance.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::{Block, Content, Payload, UpstreamList};
use portion_core::policy::Policy;
use portion_core::view::View;
use portion_tokens::{Factor, Tokenizer};

use super::fetch::Fetch;
use super::fetches::{Deposit, Fetches};
use super::laws::paged_call;
use super::need::Need;
use super::paged_list::PagedList;
use super::sharing::{Turn, note_pending};
use crate::effective_policy::EffectivePolicy;
use crate::renderer::capture;
use crate::store::disk::DiskLimits;
use crate::store::{CachedStore, DiskStore, MemoryStore, StoredSnapshot};

const ID: SnapshotId = [7; 6];

/// A fetch with a page of two items, which is over if its bound is two.
fn fetch(max_items: usize) -> Arc<Fetch> {
    Fetch::new(PagedList::begin(&paged_call("offset", 2, max_items), None, page(1)).expect("a list"))
}

/// A page of two items of nine.
fn page(first: usize) -> Payload {
    let page = format!("{{\"items\":[{{\"id\":{first}}},{{\"id\":{}}}],\"total\":9}}", first + 1);
    let blocks = vec![Block::new("/content/0/text", Content::Text(page))];
    Payload { blocks, ..Payload::default() }
}

fn deposit(fetch: &Fetch) -> Deposit {
    let policy = Arc::new(EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::Len4, Factor::ONE));
    let snapshot = Arc::new(capture(fetch.list().to_payload(None), &policy).expect("it is captured"));
    let snapshot = StoredSnapshot::new(ID, snapshot);
    Deposit { scope: Scope::from_principal("ada"), snapshot, policy }
}

#[tokio::test]
async fn the_end_of_an_earlier_fetch_does_not_end_a_later_one() {
    let store = CachedStore::from(Arc::new(MemoryStore::default()));
    let fetches = Arc::new(Fetches::new(store, Arc::new(Instant::now)));
    let (earlier, later) = (fetch(2), fetch(9));
    // `attach` settles a fetch that is over.
    fetches.attach(&earlier, deposit(&earlier), 2).await;
    assert!(!fetches.is_in_progress(ID));
    fetches.attach(&later, deposit(&later), 2).await;
    // The task of the earlier one settles it once more.
    fetches.settle(&earlier).await;
    assert!(fetches.is_in_progress(ID));
    fetches.settle(&later).await;
    assert!(!fetches.is_in_progress(ID));
}

/// An instance with a store in this directory.
fn instance(root: &Path) -> (CachedStore, Fetches) {
    let limits = DiskLimits { bytes: 1 << 20, ttl: Duration::from_mins(10) };
    let file = DiskStore::open(root, "server", limits).expect("a directory");
    let store = CachedStore::new(MemoryStore::default(), Arc::new(file));
    (store.clone(), Fetches::new(store, Arc::new(Instant::now)))
}

fn fetched(stored: &StoredSnapshot) -> usize {
    stored.snapshot.upstream_list().expect("a list").fetched
}

#[tokio::test]
async fn one_instance_at_a_time_fetches_a_list() {
    let root = tempfile::tempdir().expect("a directory");
    let ((here, fetching), (there, waiting)) = (instance(root.path()), instance(root.path()));
    let fetching = Arc::new(fetching);
    let fetch = fetch(9);
    let deposit = deposit(&fetch);
    let (scope, policy) = (deposit.scope, Arc::clone(&deposit.policy));
    fetching.claim_later(&scope, ID);
    here.put(&scope, deposit.snapshot.clone(), Instant::now()).await.expect("there is room");
    fetching.attach(&fetch, deposit, 2).await;
    let stored = there.find(&scope, ID, View::root().id(), Instant::now()).await.expect("it is stored");
    let (stored, turn) = waiting.wait_for_turn(&scope, stored, Need::Items(4), Instant::now()).await;
    assert_eq!((fetched(&stored), turn), (2, Turn::Wait), "the other one fetches it");
    let pending = note_pending(stored.clone(), &policy).await;
    let gap = pending.snapshot.upstream_list().and_then(UpstreamList::describe_gap).expect("a gap");
    assert!(gap.contains("of 2 fetched") && gap.contains("still being fetched"), "{gap}");
    fetch.edit(|list| list.add_page(&page(3)));
    fetching.replace_snapshot(&fetch, Need::Items(0)).await;
    let (stored, turn) = waiting.wait_for_turn(&scope, stored, Need::Items(4), Instant::now()).await;
    assert_eq!((fetched(&stored), turn), (4, Turn::Wait), "what it stores is read");
    // It renews its claim no more.
    here.release(&scope, ID, fetching.owner).await;
    let (stored, turn) = waiting.wait_for_turn(&scope, stored, Need::Items(6), Instant::now()).await;
    assert_eq!((fetched(&stored), turn), (4, Turn::Fetch));
    fetch.edit(|list| list.add_page(&page(5)));
    fetching.replace_snapshot(&fetch, Need::Items(0)).await;
    assert!(!fetching.is_in_progress(ID), "it has lost the list");
    let stored = here.find(&scope, ID, View::root().id(), Instant::now()).await.expect("it is stored");
    assert_eq!(fetched(&stored), 4, "what the store has is served");
}

/// The memory has the only copy of the items that were fetched since.
#[tokio::test]
async fn what_the_store_refuses_of_a_list_stays_in_memory() {
    let root = tempfile::tempdir().expect("a directory");
    let (here, fetching) = instance(root.path());
    let fetch = fetch(9);
    let deposit = deposit(&fetch);
    let (scope, policy) = (deposit.scope, Arc::clone(&deposit.policy));
    fetching.claim_later(&scope, ID);
    here.put(&scope, deposit.snapshot, Instant::now()).await.expect("there is room");
    assert!(here.flush(Duration::from_secs(10)));
    // More than the store may have as a whole.
    let limits = DiskLimits { bytes: 1, ttl: Duration::from_mins(10) };
    let full = Arc::new(DiskStore::open(root.path(), "server", limits).expect("a directory"));
    let memory = MemoryStore::default();
    let stored = here.find(&scope, ID, View::root().id(), Instant::now()).await.expect("it is stored");
    memory.put(&scope, stored, Instant::now()).expect("there is room");
    let store = CachedStore::new(memory, full);
    fetch.edit(|list| list.add_page(&page(3)));
    let grown = capture(fetch.to_payload(Need::Items(0)), &policy).expect("it is captured");
    let grown = StoredSnapshot::new(ID, Arc::new(grown));
    store.replace(&scope, grown, fetching.owner, Instant::now()).await.expect("the memory has room");
    let stored = store.find(&scope, ID, View::root().id(), Instant::now()).await.expect("it is there");
    let stored = store.refresh(&scope, stored, Instant::now()).await;
    assert_eq!(fetched(&stored), 4);
}
