//! Pages of a large result at another instance: what is read from the store depends on the page, not on the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use portion_core::cursor::{Scope, SnapshotId, ViewId};
use portion_core::payload::Payload;
use portion_core::policy::Policy;
use portion_core::view::Request;
use portion_gateway::call::ReuseKey;
use portion_gateway::effective_policy::EffectivePolicy;
use portion_gateway::store::redis::RedisStore;
use portion_gateway::store::{
    BackendStatus, CachedStore, FieldName, MemoryStore, SnapshotKey, SnapshotStore, StoreFuture, StoreLimits,
    StoreReadError, StoreWriteError,
};
use portion_tokens::{Factor, Tokenizer};

use super::shared::RedisServer;
use crate::samples::trial::{Trial, ada, fault, next_cursor, portion, shown};
use crate::samples::{list_bookings, text};

/// Bytes that the page of a large result may read, packed: its header, its meta and a few blocks.
const MAX_PAGE_BYTES: usize = 64 << 10;
/// Requests that it may take.
const MAX_PAGE_REQUESTS: usize = 3;

/// A store that counts what is read from it.
pub(super) struct Counted {
    store: RedisStore,
    bytes: AtomicUsize,
    requests: AtomicUsize,
}

impl Counted {
    /// Returns the bytes and requests since the last call.
    fn take(&self) -> (usize, usize) {
        (self.bytes.swap(0, Ordering::Relaxed), self.requests.swap(0, Ordering::Relaxed))
    }
}

impl SnapshotStore for Counted {
    fn put(
        &self,
        key: SnapshotKey,
        fields: Vec<(FieldName, Vec<u8>)>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        self.store.put(key, fields)
    }

    fn put_view(
        &self,
        key: SnapshotKey,
        view: ViewId,
        bytes: Vec<u8>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        self.store.put_view(key, view, bytes)
    }

    fn get<'a>(
        &'a self,
        key: SnapshotKey,
        names: &'a [FieldName],
    ) -> StoreFuture<'a, Result<Vec<Option<Vec<u8>>>, StoreReadError>> {
        Box::pin(async move {
            let fields = self.store.get(key, names).await?;
            self.bytes.fetch_add(fields.iter().flatten().map(Vec::len).sum(), Ordering::Relaxed);
            self.requests.fetch_add(1, Ordering::Relaxed);
            Ok(fields)
        })
    }

    fn touch(&self, key: SnapshotKey) -> StoreFuture<'_, Result<(), StoreReadError>> {
        self.store.touch(key)
    }

    fn set_reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
        id: Option<SnapshotId>,
    ) -> StoreFuture<'_, Result<(), StoreWriteError>> {
        self.store.set_reusable(scope, reuse, id)
    }

    fn reusable(
        &self,
        scope: Scope,
        reuse: ReuseKey,
    ) -> StoreFuture<'_, Result<Option<SnapshotId>, StoreReadError>> {
        self.store.reusable(scope, reuse)
    }

    fn status(&self) -> BackendStatus {
        self.store.status()
    }
}

/// An instance with a store of its own memory, and what it reads from the server.
pub(super) fn instance(server: &RedisServer, memory_bytes: usize) -> (Trial, Arc<Counted>) {
    let store = server.open(&[[7; 32]], "names");
    let counted = Arc::new(Counted { store, bytes: AtomicUsize::new(0), requests: AtomicUsize::new(0) });
    let limits = StoreLimits { memory_bytes, ttl: Duration::from_mins(10) };
    let store = CachedStore::new(MemoryStore::new(limits), Arc::<Counted>::clone(&counted));
    let policy = EffectivePolicy::with_tokenizer(Policy::default(), Tokenizer::Chars4, Factor::ONE);
    (Trial::on(policy, store), counted)
}

/// Records of about 430 bytes each, with a member after them.
pub(super) fn records(count: u32) -> Payload {
    let record = |id: u32| {
        let mix = id.wrapping_mul(2_654_435_761);
        format!(
            "{{\"id\":{id},\"name\":\"Guest {mix:08x}\",\"status\":\"confirmed\",\"price\":{},\"note\":\"{}\"}}",
            mix % 9_973,
            format!("{mix:x} stays until {} ", mix % 365).repeat(14),
        )
    };
    let items: Vec<String> = (0..count).map(record).collect();
    text(format!("{{\"items\":[{}],\"total\":{count}}}", items.join(",")))
}

fn page_request(cursor: String) -> Request {
    Request { cursor: Some(cursor), limit: Some(200), ..Request::default() }
}

#[tokio::test]
async fn a_page_at_another_instance_reads_a_page() {
    for count in [10_000, 40_000] {
        let server = RedisServer::start();
        let (one, _) = instance(&server, 1 << 30);
        let first = portion(one.fresh(list_bookings(), records(count), Request::default()).await);
        let mut cursor = next_cursor(&first).expect("there is more");
        assert!(one.gateway.flush_store(Duration::from_mins(1)));
        for page in 0..45 {
            let next = portion(one.follow_as(ada(), page_request(cursor.clone())).await);
            assert!(one.gateway.flush_store(Duration::from_mins(1)));
            if page % 11 == 0 {
                for memory in [1 << 30, 0] {
                    let (other, read) = instance(&server, memory);
                    let same = portion(other.follow(cursor.clone()).await);
                    let (bytes, requests) = read.take();
                    assert_eq!(shown(&same), shown(&portion(one.follow(cursor.clone()).await)));
                    assert!(bytes <= MAX_PAGE_BYTES, "page {page} of {count} records reads {bytes} bytes");
                    assert!(requests <= MAX_PAGE_REQUESTS, "page {page} takes {requests} requests");
                }
            }
            cursor = next_cursor(&next).expect("there is more");
        }
    }
}

/// An instance keeps what it has read: it serves that without the store, and reads the rest when it is needed.
#[tokio::test]
async fn what_was_read_is_kept() {
    let mut server = RedisServer::start();
    let (one, _) = instance(&server, 1 << 30);
    let first = portion(one.fresh(list_bookings(), records(20_000), Request::default()).await);
    let near = next_cursor(&first).expect("there is more");
    let mut far = near.clone();
    for _ in 0..60 {
        far = next_cursor(&portion(one.follow(far).await)).expect("there is more");
    }
    assert!(one.gateway.flush_store(Duration::from_mins(1)));
    let ((other, read), (third, third_read)) = (instance(&server, 1 << 30), instance(&server, 1 << 30));
    let page = portion(other.follow(near.clone()).await);
    read.take();
    assert_eq!(shown(&portion(other.follow(near.clone()).await)), shown(&page));
    assert_eq!(read.take(), (0, 0), "it is in memory");
    // Another selection needs the whole; then all pages are in memory.
    portion(third.follow(near.clone()).await);
    let by_price =
        Request { cursor: Some(near.clone()), sort: Some("price desc".into()), ..Request::default() };
    let sorted = portion(third.follow_as(ada(), by_price.clone()).await);
    assert_eq!(shown(&sorted), shown(&portion(one.follow_as(ada(), by_price).await)));
    third_read.take();
    assert_eq!(shown(&portion(third.follow(near.clone()).await)), shown(&page));
    assert_eq!(third_read.take(), (0, 0), "all of it is in memory");
    server.stop();
    assert_eq!(shown(&portion(other.follow(near).await)), shown(&page), "what was read is served");
    assert_eq!(fault(other.follow(far.clone()).await).code.name(), "store_unavailable");
    assert!(!shown(&portion(third.follow(far).await)).is_empty());
}
