//! The store in a cluster, and behind sentinels: two instances share what they store.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::snapshot::capture;
use portion_core::view::View;
use portion_gateway::store::{CachedStore, MemoryStore, StoreLimits};

use super::files::put;
use super::named;
use super::shared::{RedisServer, free_port, open};
use crate::samples::{drawer, drawers, text};

/// Returns a store without memory.
fn instance(url: &str) -> CachedStore {
    let memory = MemoryStore::new(StoreLimits { memory_bytes: 0, ..StoreLimits::default() });
    CachedStore::new(memory, Arc::new(open(url, &[[7; 32]], "names")))
}

/// Stores results, one of them too large for one write, at one instance, and reads them at another.
async fn check_shared(url: &str) {
    let (one, other, scope) = (instance(url), instance(url), Scope::from_principal("ada"));
    let mut random = 1_u64;
    let noise: String = std::iter::repeat_with(|| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{random:x}")
    })
    .take(200_000)
    .collect();
    let (small, large) = (Arc::new(drawers(9)), Arc::new(capture(text(noise))));
    let now = Instant::now();
    for (id, snapshot) in [(1, &small), (2, &large)] {
        put(&one, &scope, id, snapshot).await.expect("it answers");
        let found = other.find(&scope, named(id), View::root().id(), now).await.expect("it is shared");
        assert!(found.snapshot.parts()[0].text() == snapshot.parts()[0].text(), "result {id} differs");
    }
    let view = drawer(&small, 3);
    other.put_view(&scope, named(1), (&small, view.clone()), now).await.expect("it answers");
    let found = one.find(&scope, named(1), view.id(), now).await.expect("it is shared");
    assert_eq!(found.view.id(), view.id());
}

#[tokio::test]
async fn instances_share_a_cluster() {
    let bus = free_port().to_string();
    let server = RedisServer::start_with(&["--cluster-enabled", "yes", "--cluster-port", &bus]);
    server.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]);
    let begun = Instant::now();
    while !server.ask(&["CLUSTER", "INFO"]).contains("cluster_state:ok") {
        assert!(begun.elapsed() < Duration::from_mins(1), "the cluster is not ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    check_shared(&format!("redis+cluster://{}", server.address())).await;
}

#[tokio::test]
async fn instances_share_the_master_that_sentinels_name() {
    let (master, directory) = (RedisServer::start(), tempfile::tempdir().expect("a directory"));
    let (file, address) = (directory.path().join("sentinel.conf"), master.address().replace(':', " "));
    fs::write(&file, format!("sentinel monitor results {address} 1\n")).expect("a file");
    let sentinel = RedisServer::start_with(&[file.to_str().expect("UTF-8"), "--sentinel"]);
    check_shared(&format!("redis+sentinel://{}/results", sentinel.address())).await;
}
