//! Fetches that end while other fetches of the same list begin.

use std::sync::Arc;
use std::time::Instant;

use portion_core::cursor::{Scope, SnapshotId};
use portion_core::payload::{Block, Content, Payload};
use portion_core::policy::Policy;
use portion_tokens::{Factor, Tokenizer};

use super::fetch::Fetch;
use super::fetches::{Deposit, Fetches};
use super::laws::paged_call;
use super::paged_list::PagedList;
use crate::effective_policy::EffectivePolicy;
use crate::renderer::capture;
use crate::store::{CachedStore, MemoryStore, NewSnapshot};

const ID: SnapshotId = [7; 6];

/// A fetch with a page of two items, which is over if its bound is two.
fn fetch(max_items: usize) -> Arc<Fetch> {
    let page = r#"{"items":[{"id":1},{"id":2}],"total":9}"#.to_owned();
    let blocks = vec![Block::new("/content/0/text", Content::Text(page))];
    let page = Payload { blocks, ..Payload::default() };
    Fetch::new(PagedList::begin(&paged_call("offset", 2, max_items), None, page).expect("a list"))
}

fn deposit(fetch: &Fetch) -> Deposit {
    let policy = Arc::new(EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::Len4, Factor::ONE));
    let snapshot = Arc::new(capture(fetch.list().to_payload(None), &policy).expect("it is captured"));
    let snapshot = NewSnapshot::new(ID, snapshot);
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
