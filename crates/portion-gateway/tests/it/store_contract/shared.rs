//! The store in Redis: it obeys the contract, also without memory in front of it; instances share it, whichever of
//! their keys is the newest; and a lost store is noticed at once.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portion_core::cursor::Scope;
use portion_core::view::View;
use portion_gateway::store::redis::{RedisSettings, RedisStore, StoreUrl};
use portion_gateway::store::{
    CachedStore, FieldName, MemoryStore, SnapshotKey, SnapshotStore as _, StoreLimits, StoreLookupError,
    StoreReadError, StoreWriteError,
};
use tempfile::TempDir;

use super::files::put;
use super::{Trial, contract, named};
use crate::samples::drawers;

const TTL: Duration = Duration::from_mins(10);

/// Brings all times of expiry nearer by as many milliseconds as the argument says.
const PASS: &str = "for _, key in ipairs(redis.call('KEYS', '*')) do \
                    local left = redis.call('PTTL', key) \
                    if left >= 0 then redis.call('PEXPIRE', key, left - ARGV[1]) end end";

/// A server of its own, which ends with the test.
pub(super) struct RedisServer {
    process: Child,
    port: u16,
    _directory: TempDir,
}

impl RedisServer {
    pub(super) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with options, which may begin with the name of a file.
    pub(super) fn start_with(options: &[&str]) -> Self {
        let (port, directory) = (free_port(), tempfile::tempdir().expect("a directory"));
        let process = Command::new("redis-server")
            .args(options)
            .args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string(), "--dir"])
            .arg(directory.path())
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed; ./test installs it");
        let server = Self { process, port, _directory: directory };
        let begun = Instant::now();
        while server.ask(&["PING"]).trim() != "PONG" {
            assert!(begun.elapsed() < Duration::from_mins(1), "redis-server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// Returns what `redis-cli` says.
    pub(super) fn ask(&self, command: &[&str]) -> String {
        let output = Command::new("redis-cli").args(["-p", &self.port.to_string()]).args(command).output();
        String::from_utf8_lossy(&output.expect("redis-cli is installed with it").stdout).into_owned()
    }

    /// Returns its address, for a URL.
    pub(super) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub(super) fn open(&self, secrets: &[[u8; 32]], namespace: &str) -> RedisStore {
        open(&format!("redis://{}", self.address()), secrets, namespace)
    }

    /// Limits its memory to so many bytes more than it uses.
    fn leave_room(&self, bytes: u64) {
        let info = self.ask(&["INFO", "memory"]);
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).expect("it says how much");
        let limit = used.trim().parse::<u64>().expect("a number") + bytes;
        self.ask(&["CONFIG", "SET", "maxmemory", &limit.to_string()]);
    }

    /// Sends a signal to the server.
    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.process.id().to_string()]).status();
        assert!(sent.expect("`kill` is there").success());
    }

    /// Ends the server.
    pub(super) fn stop(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    pub(super) fn store(&self, memory_bytes: usize, secrets: &[[u8; 32]]) -> CachedStore {
        let limits = StoreLimits { memory_bytes, ttl: TTL };
        CachedStore::new(MemoryStore::new(limits), Arc::new(self.open(secrets, "names")))
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

pub(super) fn open(url: &str, secrets: &[[u8; 32]], namespace: &str) -> RedisStore {
    let settings = RedisSettings {
        url: StoreUrl::parse(url).expect("a URL"),
        secrets: secrets.to_vec(),
        namespace: namespace.into(),
        server: "server".into(),
        ttl: TTL,
    };
    RedisStore::open(settings).expect("valid settings")
}

async fn check_contract(memory_bytes: usize) {
    let server = RedisServer::start();
    let store = server.store(memory_bytes, &[[7; 32]]);
    let (start, passed) = (Instant::now(), Mutex::new(Duration::ZERO));
    let pass = Box::new(|by: Duration| {
        if !by.is_zero() {
            server.ask(&["EVAL", PASS, "0", &by.as_millis().to_string()]);
        }
        let mut passed = passed.lock().expect("no panic");
        *passed += by;
        start + *passed
    });
    contract(Trial { store: &store, ttl: TTL, pass }).await;
}

#[tokio::test]
async fn redis_behind_memory() {
    check_contract(StoreLimits::default().memory_bytes).await;
}

#[tokio::test]
async fn redis_without_memory() {
    check_contract(0).await;
}

/// An instance with an earlier key finds what was stored under it, and other namespaces find nothing.
#[tokio::test]
async fn instances_share_what_they_store() {
    let (server, scope, snapshot) =
        (RedisServer::start(), Scope::from_principal("ada"), Arc::new(drawers(20_000)));
    let (old, new) = ([1; 32], [2; 32]);
    put(&server.store(0, &[old]), &scope, 1, &snapshot).await.expect("it answers");
    for secrets in [&[old][..], &[new, old]] {
        let found =
            server.store(1 << 30, secrets).find(&scope, named(1), View::root().id(), Instant::now()).await;
        assert_eq!(found.expect("it is shared").snapshot.parts()[0].text(), snapshot.parts()[0].text());
    }
    let found = server.store(0, &[new]).find(&scope, named(1), View::root().id(), Instant::now()).await;
    assert!(matches!(found, Err(StoreLookupError::Unknown)), "{found:?}");
    let key = SnapshotKey { scope, id: named(1) };
    let found = server.open(&[old], "other").get(key, &[FieldName::Meta]).await;
    assert_eq!(found, Err(StoreReadError::Unknown));
    let names = server.ask(&["KEYS", "*"]);
    assert!(names.contains("portion:{") && !names.contains("0101"), "names reveal no ids: {names}");
}

/// A snapshot that the store evicted, but that is still in memory, is stored again when it is used.
#[tokio::test]
async fn what_is_lost_there_is_stored_again() {
    let (server, scope, snapshot) =
        (RedisServer::start(), Scope::from_principal("ada"), Arc::new(drawers(9)));
    let store = server.store(1 << 20, &[[7; 32]]);
    put(&store, &scope, 1, &snapshot).await.expect("there is room");
    assert!(store.flush(Duration::from_mins(1)));
    server.ask(&["FLUSHALL"]);
    let find = async |store: &CachedStore| {
        store.find(&scope, named(1), View::root().id(), Instant::now()).await.map(|stored| stored.id)
    };
    assert_eq!(find(&store).await.expect("it is in memory"), named(1));
    assert!(store.flush(Duration::from_mins(1)));
    assert_eq!(find(&server.store(0, &[[7; 32]])).await.expect("it is stored again"), named(1));
}

/// A store that is gone gives an error at once, and is found again when it is back.
#[tokio::test]
async fn a_lost_store_keeps_nobody_waiting() {
    let (mut server, scope) = (RedisServer::start(), Scope::from_principal("ada"));
    let (store, key) = (server.open(&[[7; 32]], "names"), SnapshotKey { scope, id: named(1) });
    assert_eq!(store.get(key, &[FieldName::Meta]).await, Err(StoreReadError::Unknown));
    server.stop();
    let found = store.get(key, &[FieldName::Meta]).await;
    assert!(matches!(found, Err(StoreReadError::Unreachable(_))), "{found:?}");
    let status = store.status();
    assert!(!status.is_available && status.problem.is_some() && status.failure_count > 0, "{status:?}");
    let again = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--save", "", "--port", &server.port.to_string()])
        .stdout(Stdio::null())
        .spawn();
    server.process = again.expect("it starts again");
    let begun = Instant::now();
    while store.get(key, &[FieldName::Meta]).await != Err(StoreReadError::Unknown) {
        assert!(begun.elapsed() < Duration::from_mins(1), "it is not found again: {:?}", store.status());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(store.status().is_available);
}

/// A store with room for small keys alone is lost until it has room for what it has refused. Other instances know that the
/// result exists.
#[tokio::test]
async fn a_store_that_is_full_for_results_is_lost() {
    let server = RedisServer::start();
    let (one, other) = (server.open(&[[7; 32]], "names"), server.open(&[[7; 32]], "names"));
    let key = |id| SnapshotKey { scope: Scope::from_principal("ada"), id: named(id) };
    let result = |blocks: u32| {
        let blocks = (0..blocks).map(|number| (FieldName::Block(number), vec![1; 60_000]));
        blocks.chain([(FieldName::Meta, vec![1; 9])]).collect::<Vec<_>>()
    };
    one.put(key(1), result(1)).await.expect("there is room");
    other.get(key(1), &[FieldName::Meta]).await.expect("it is stored");
    server.leave_room(300_000);
    let refused = one.put(key(2), result(10)).await;
    let is_full = |error: &StoreWriteError| error.to_string().contains("OOM");
    assert!(refused.as_ref().is_err_and(is_full), "{refused:?}");
    let begun = Instant::now();
    // Probes tell nothing else meanwhile.
    while begun.elapsed() < Duration::from_millis(2_500) {
        assert!(!one.status().is_available);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let told = other.get(key(2), &[FieldName::Meta]).await;
    assert_eq!(told, Err(StoreReadError::Unreachable("it has refused the result".to_owned())));
    assert_eq!(other.get(key(3), &[FieldName::Meta]).await, Err(StoreReadError::Unknown));
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let begun = Instant::now();
    while !one.status().is_available {
        assert!(begun.elapsed() < Duration::from_mins(1), "it is not found again: {:?}", one.status());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    one.put(key(2), result(10)).await.expect("there is room again");
    other.get(key(2), &[FieldName::Meta]).await.expect("it is stored");
}

/// A store that hangs gives an error within seconds, and is found again when it goes on.
#[tokio::test]
async fn a_store_that_hangs_is_lost_until_it_goes_on() {
    let (server, scope) = (RedisServer::start(), Scope::from_principal("ada"));
    let (store, key) = (server.open(&[[7; 32]], "names"), SnapshotKey { scope, id: named(1) });
    assert_eq!(store.get(key, &[FieldName::Meta]).await, Err(StoreReadError::Unknown));
    server.signal("STOP");
    let found = store.get(key, &[FieldName::Meta]).await;
    assert!(matches!(found, Err(StoreReadError::Unreachable(_))), "{found:?}");
    assert!(!store.status().is_available);
    server.signal("CONT");
    let begun = Instant::now();
    while store.get(key, &[FieldName::Meta]).await != Err(StoreReadError::Unknown) {
        assert!(begun.elapsed() < Duration::from_mins(1), "it is not found again: {:?}", store.status());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_url_is_checked_without_a_connection() {
    let check = |url: &str| RedisStore::check(&StoreUrl::parse(url).expect("a URL"));
    check("redis://127.0.0.1:1").expect("nothing listens there, but it is a URL");
    check("rediss+cluster://a.example,b.example").expect("a cluster with TLS");
    let refused = check("rediss://a.example?ca=/no/such/file").expect_err("there is no such file");
    assert!(refused.to_string().contains("the file of ca"), "{refused}");
}
