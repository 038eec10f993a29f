//! Claims: in every store that processes share, one owner at a time replaces a snapshot.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use portion_core::cursor::Scope;
use portion_core::view::View;
use portion_gateway::store::disk::DiskLimits;
use portion_gateway::store::{
    CLAIM_TIME, DiskStore, FieldName, OwnerId, SnapshotKey, SnapshotStore, StoreWriteError,
};

use super::named;
use super::shared::RedisServer;

const LIMITS: DiskLimits = DiskLimits { bytes: 1 << 20, ttl: Duration::from_mins(10) };
const HERE: OwnerId = [1; 16];
const THERE: OwnerId = [2; 16];

fn key() -> SnapshotKey {
    SnapshotKey { scope: Scope::from_principal("ada"), id: named(1) }
}

fn fields(meta: &str) -> Vec<(FieldName, Vec<u8>)> {
    vec![(FieldName::Header, b"header".to_vec()), (FieldName::Meta, meta.into())]
}

async fn one_owner_replaces(store: &dyn SnapshotStore) {
    let view = View::root().id();
    assert_eq!(store.claim(key(), HERE).await, Ok(true));
    assert_eq!(store.put(key(), fields("first")).await, Ok(()));
    assert_eq!(store.claim(key(), THERE).await, Ok(false));
    assert_eq!(store.replace(key(), THERE, fields("not this")).await, Err(StoreWriteError::Claimed));
    assert_eq!(store.put_view(key(), view, b"view".to_vec()).await, Ok(()));
    assert_eq!(store.replace(key(), HERE, fields("second")).await, Ok(()));
    let read = store.get(key(), &[FieldName::Meta, FieldName::View(view)]).await;
    assert_eq!(read, Ok(vec![Some(b"second".to_vec()), Some(b"view".to_vec())]), "views are kept");
    store.release(key(), THERE).await;
    assert_eq!(store.claim(key(), THERE).await, Ok(false), "only its owner gives it up");
    store.release(key(), HERE).await;
    assert_eq!(store.replace(key(), THERE, fields("third")).await, Ok(()));
    assert_eq!(store.replace(key(), HERE, fields("not this")).await, Err(StoreWriteError::Claimed));
    let read = store.get(key(), &[FieldName::Meta]).await;
    assert_eq!(read, Ok(vec![Some(b"third".to_vec())]));
}

#[tokio::test]
async fn one_owner_replaces_files() {
    let root = tempfile::tempdir().expect("a directory");
    let store = DiskStore::open(root.path(), "server", LIMITS).expect("a directory");
    one_owner_replaces(&store).await;
}

#[tokio::test]
async fn one_owner_replaces_hashes() {
    let server = RedisServer::start();
    one_owner_replaces(&server.open(&[[7; 32]], "names")).await;
    one_owner_replaces(&server.open(&[[8; 32], [7; 32]], "rotated")).await;
}

/// Replaces a snapshot while another process adds views to it.
async fn views_are_added_meanwhile(writer: &dyn SnapshotStore, reader: &dyn SnapshotStore) {
    const VIEWS: u8 = 60;
    for round in 0..5 {
        let key = SnapshotKey { id: named(round), ..key() };
        assert_eq!(writer.put(key, fields("first")).await, Ok(()));
        for number in 0..VIEWS {
            let added = async {
                // Each time at another moment of the replacement.
                tokio::time::sleep(Duration::from_micros(u64::from(number) * 40)).await;
                reader.put_view(key, [number; 5], vec![number]).await
            };
            let (replaced, added) = tokio::join!(writer.replace(key, HERE, fields("more")), added);
            assert_eq!((replaced, added), (Ok(()), Ok(())));
        }
        let names: Vec<FieldName> = (0..VIEWS).map(|number| FieldName::View([number; 5])).collect();
        let kept = reader.get(key, &names).await.expect("a snapshot");
        let lost: Vec<usize> = (0..kept.len()).filter(|&number| kept[number].is_none()).collect();
        assert!(lost.is_empty(), "views {lost:?} are lost");
    }
}

#[tokio::test]
async fn views_that_are_added_while_a_hash_is_replaced_are_kept() {
    let server = RedisServer::start();
    let open = || server.open(&[[7; 32]], "names");
    views_are_added_meanwhile(&open(), &open()).await;
    assert!(!server.ask(&["KEYS", "*"]).contains(":draft"), "nothing is left of it");
}

#[tokio::test]
async fn views_that_are_added_while_a_file_is_replaced_are_kept() {
    let root = tempfile::tempdir().expect("a directory");
    let open = || DiskStore::open(root.path(), "server", LIMITS).expect("a directory");
    views_are_added_meanwhile(&open(), &open()).await;
}

#[tokio::test]
async fn a_claim_in_a_file_ends() {
    let root = tempfile::tempdir().expect("a directory");
    let passed = Arc::new(Mutex::new(Duration::ZERO));
    let elapsed = Arc::clone(&passed);
    let clock = Arc::new(move || *elapsed.lock().expect("no panic"));
    let store = DiskStore::with_clock(root.path(), "server", LIMITS, Some(clock)).expect("a directory");
    assert_eq!(store.claim(key(), HERE).await, Ok(true));
    *passed.lock().expect("no panic") += CLAIM_TIME / 2;
    assert_eq!(store.claim(key(), HERE).await, Ok(true), "it is renewed");
    *passed.lock().expect("no panic") += CLAIM_TIME / 2;
    assert_eq!(store.claim(key(), THERE).await, Ok(false));
    *passed.lock().expect("no panic") += CLAIM_TIME / 2;
    assert_eq!(store.claim(key(), THERE).await, Ok(true));
    assert_eq!(store.claim(key(), HERE).await, Ok(false));
    *passed.lock().expect("no panic") = Duration::ZERO;
    assert_eq!(store.claim(key(), HERE).await, Ok(true), "the clock was set back");
}

/// A hash that waits too long to be put in place is gone, and its claim is not trusted.
#[tokio::test]
async fn a_claim_in_redis_ends() {
    let server = RedisServer::start();
    let store = server.open(&[[7; 32]], "names");
    assert_eq!(store.claim(key(), HERE).await, Ok(true));
    let name = server.ask(&["KEYS", "*:claim"]).trim().to_owned();
    let left: u128 = server.ask(&["PTTL", &name]).trim().parse().expect("a number");
    assert!((1..=CLAIM_TIME.as_millis()).contains(&left), "{left} ms");
    server.ask(&["DEL", &name]);
    assert_eq!(store.claim(key(), THERE).await, Ok(true));
    assert_eq!(store.replace(key(), HERE, fields("late")).await, Err(StoreWriteError::Claimed));
    assert!(!server.ask(&["KEYS", "*"]).contains("draft"), "nothing is left of it");
}
