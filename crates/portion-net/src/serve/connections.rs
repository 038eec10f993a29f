//! Open connections of a listener: their number, and which of them are idle.
//!
//! A few file descriptors are in reserve, so that a connection can be accepted even when the process has no others left.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use http::Version;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// File that exists on every system and can be opened any number of times.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Open connections of a listener.
#[derive(Debug)]
pub(super) struct Connections {
    limit: usize,
    open: Mutex<OpenConnections>,
    reserve: Mutex<Vec<File>>,
    reserve_size: usize,
    writes: AtomicUsize,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// By id, in the order of acceptance.
    activity_by_id: BTreeMap<u64, Arc<Activity>>,
    next_id: u64,
}

/// A connection. It counts until this is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    connections: Arc<Connections>,
    id: u64,
    activity: Arc<Activity>,
    peer: IpAddr,
}

#[derive(Debug)]
struct Activity {
    state: Mutex<ActivityState>,
    /// Notified when the deadline of an idle connection may have changed.
    changed: Notify,
    evicted: Notify,
}

#[derive(Debug)]
struct ActivityState {
    request_count: usize,
    /// True on a new connection, and once a part of a further head has arrived.
    is_awaiting_head: bool,
    /// Over HTTP/2, bytes may be no head, and those that are written no response.
    is_http2: bool,
    idle_since: Instant,
}

/// Connection of a client, an extension of its requests. Whoever keeps it does not keep the connection.
#[derive(Clone, Debug)]
pub struct ClientConnection {
    connection: Weak<Connection>,
    peer: IpAddr,
}

/// A request in progress, or a tunnel. Its connection is busy until this is dropped.
#[derive(Debug)]
pub struct RequestGuard(Arc<Connection>);

impl Connections {
    /// Creates a limit of `max_connections`, and at most half of the descriptors, with `reserve_size` of them in reserve.
    pub(super) fn new(max_connections: usize, reserve_size: usize) -> Arc<Self> {
        let affordable = descriptor_limit().map_or(usize::MAX, |limit| (limit / 2).max(16));
        let connections = Self {
            limit: max_connections.min(affordable).max(1),
            open: Mutex::default(),
            reserve: Mutex::default(),
            reserve_size,
            writes: AtomicUsize::new(0),
        };
        connections.refill_reserve();
        Arc::new(connections)
    }

    /// Adds a connection. Returns `None` if there are too many, and every one is busy.
    pub(super) fn try_add(self: &Arc<Self>, peer: IpAddr) -> Option<Arc<Connection>> {
        let mut open = self.open.lock();
        if open.activity_by_id.len() >= self.limit && !open.evict_one() {
            return None;
        }
        let state = ActivityState {
            request_count: 0,
            is_awaiting_head: true,
            is_http2: false,
            idle_since: Instant::now(),
        };
        let activity =
            Arc::new(Activity { state: Mutex::new(state), changed: Notify::new(), evicted: Notify::new() });
        let id = open.next_id;
        open.next_id += 1;
        open.activity_by_id.insert(id, Arc::clone(&activity));
        Some(Arc::new(Connection { connections: Arc::clone(self), id, activity, peer }))
    }

    /// Returns the number of writes to clients so far.
    pub(super) fn write_count(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// Evicts an eighth of the connections, and at least one, as far as they are not busy.
    pub(super) fn evict_idle(&self) {
        let mut open = self.open.lock();
        for _ in 0..=open.activity_by_id.len() / 8 {
            if !open.evict_one() {
                return;
            }
        }
    }

    /// Closes one reserved descriptor. Returns false if none was left.
    pub(super) fn release_reserve(&self) -> bool {
        self.reserve.lock().pop().is_some()
    }

    /// Refills the reserve, as far as descriptors are available.
    pub(super) fn refill_reserve(&self) {
        let mut reserve = self.reserve.lock();
        while reserve.len() < self.reserve_size {
            let Ok(file) = File::open(NULL_DEVICE) else { return };
            reserve.push(file);
        }
    }
}

impl OpenConnections {
    /// Evicts the connection that is idle longest; if none is idle, the one that has waited longest for a head.
    fn evict_one(&mut self) -> bool {
        let candidates = self.activity_by_id.iter().filter_map(|(id, activity)| {
            let state = activity.state.lock();
            (state.request_count == 0).then_some(((state.is_awaiting_head, state.idle_since), *id))
        });
        let Some((_, id)) = candidates.min() else { return false };
        if let Some(activity) = self.activity_by_id.remove(&id) {
            activity.evicted.notify_one();
        }
        true
    }
}

impl Connection {
    /// Records that bytes were received.
    pub(super) fn on_read(&self) {
        let mut state = self.activity.state.lock();
        if state.is_idle_http1() {
            (state.is_awaiting_head, state.idle_since) = (true, Instant::now());
            self.activity.changed.notify_one();
        }
    }

    /// Records that bytes were written to the client.
    pub(super) fn on_write(&self) {
        self.connections.writes.fetch_add(1, Ordering::Relaxed);
        let mut state = self.activity.state.lock();
        if state.is_idle_http1() {
            state.idle_since = Instant::now();
        }
    }

    /// Waits until the connection is evicted.
    pub(super) async fn wait_evicted(&self) {
        self.activity.evicted.notified().await;
    }

    /// Waits until no request has been in progress for this time: `head` while a head is awaited, else `idle`.
    pub(super) async fn wait_idle(&self, head: Duration, idle: Duration) {
        loop {
            let deadline = {
                let state = self.activity.state.lock();
                let timeout = if state.is_awaiting_head { head } else { idle };
                (state.request_count == 0).then(|| state.idle_since + timeout)
            };
            match deadline {
                None => self.activity.changed.notified().await,
                Some(deadline) if deadline <= Instant::now() => return,
                Some(deadline) => {
                    let _ = timeout_at(deadline, self.activity.changed.notified()).await;
                }
            }
        }
    }
}

impl ActivityState {
    fn is_idle_http1(&self) -> bool {
        self.request_count == 0 && !self.is_awaiting_head && !self.is_http2
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.connections.open.lock().activity_by_id.remove(&self.id);
    }
}

impl ClientConnection {
    /// Creates the extension of a connection.
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        Self { connection: Arc::downgrade(connection), peer: connection.peer }
    }

    /// Returns the address of the client.
    pub fn peer(&self) -> IpAddr {
        self.peer
    }

    /// Begins a request, or a tunnel, over this version of HTTP, unless the connection has ended.
    pub fn begin_request(&self, version: Version) -> Option<RequestGuard> {
        let connection = self.connection.upgrade()?;
        let mut state = connection.activity.state.lock();
        state.request_count += 1;
        (state.is_awaiting_head, state.is_http2) = (false, version >= Version::HTTP_2);
        drop(state);
        Some(RequestGuard(connection))
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = self.0.activity.state.lock();
        state.request_count -= 1;
        if state.request_count == 0 {
            state.idle_since = Instant::now();
            self.0.activity.changed.notify_one();
        }
    }
}

/// Returns the limit of open file descriptors.
fn descriptor_limit() -> Option<usize> {
    #[cfg(unix)]
    return usize::try_from(rustix::process::getrlimit(rustix::process::Resource::Nofile).current?).ok();
    #[cfg(not(unix))]
    None
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::Arc;
    use std::time::Duration;

    use http::Version;
    use tokio::time::timeout;

    use super::{ClientConnection, Connection, Connections, RequestGuard};

    fn add(connections: &Arc<Connections>) -> Option<Arc<Connection>> {
        connections.try_add(Ipv4Addr::LOCALHOST.into())
    }

    fn begin(connection: &Arc<Connection>, version: Version) -> RequestGuard {
        ClientConnection::new(connection).begin_request(version).expect("the connection is open")
    }

    #[tokio::test]
    async fn the_connection_that_is_idle_longest_is_evicted() {
        let connections = Connections::new(3, 1);
        let [first, second, third] = [(); 3].map(|()| add(&connections).expect("a place"));
        let busy = begin(&first, Version::HTTP_11);
        drop(begin(&second, Version::HTTP_11));
        // The second connection is idle, the third has not sent a head yet.
        let fourth = add(&connections).expect("the second makes room");
        second.wait_evicted().await;
        let fifth = add(&connections).expect("the third makes room");
        third.wait_evicted().await;
        let _busy = [begin(&fourth, Version::HTTP_11), begin(&fifth, Version::HTTP_11)];
        assert!(add(&connections).is_none(), "all are busy");
        drop(busy);
        assert!(add(&connections).is_some());
        first.wait_evicted().await;
    }

    #[test]
    fn a_connection_counts_until_it_ends() {
        let connections = Connections::new(1, 0);
        let connection = add(&connections).expect("a place");
        let kept = ClientConnection::new(&connection);
        let busy = begin(&connection, Version::HTTP_11);
        assert!(add(&connections).is_none());
        drop((connection, busy));
        assert!(kept.begin_request(Version::HTTP_11).is_none() && add(&connections).is_some());
    }

    #[test]
    fn descriptors_are_reserved() {
        let connections = Connections::new(1, 2);
        assert!(connections.release_reserve() && connections.release_reserve());
        assert!(!connections.release_reserve());
        connections.refill_reserve();
        assert!(connections.release_reserve());
    }

    #[tokio::test]
    async fn a_connection_is_idle_without_requests_only() {
        let client = add(&Connections::new(1, 0)).expect("a place");
        let hour = Duration::from_hours(1);
        let connection: &Connection = &client;
        let ends = async |first, later| {
            timeout(Duration::from_millis(50), connection.wait_idle(first, later)).await.is_ok()
        };
        assert!(ends(Duration::ZERO, hour).await && !ends(hour, Duration::ZERO).await);
        let (one, other) = (begin(&client, Version::HTTP_11), begin(&client, Version::HTTP_11));
        assert!(!ends(Duration::ZERO, Duration::ZERO).await);
        drop(one);
        assert!(!ends(Duration::ZERO, Duration::ZERO).await);
        drop(other);
        assert!(ends(hour, Duration::ZERO).await && !ends(Duration::ZERO, hour).await);
        connection.on_read();
        assert!(ends(Duration::ZERO, hour).await, "a part of a further head has arrived");
        drop(begin(&client, Version::HTTP_2));
        connection.on_read();
        assert!(!ends(Duration::ZERO, hour).await, "a frame need not be one");
    }
}
