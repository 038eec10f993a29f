//! Open connections of a listener: their number, and which of them are idle.
//!
//! A few file descriptors are in reserve, so that a connection can be accepted even when the process has no others left.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// File that exists on every system and can be opened any number of times.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Open connections of a listener.
#[derive(Debug)]
pub(super) struct Connections {
    limit: usize,
    open: Mutex<OpenConnections>,
    reserve: Mutex<Vec<File>>,
    reserve_size: usize,
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
    idle: Notify,
    evicted: Notify,
}

#[derive(Debug)]
struct ActivityState {
    request_count: usize,
    had_request: bool,
    idle_since: Instant,
}

/// Connection of a client, an extension of its requests.
#[derive(Clone, Debug)]
pub struct ClientConnection(pub(super) Arc<Connection>);

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
        };
        connections.refill_reserve();
        Arc::new(connections)
    }

    /// Adds a connection. Returns `None` if there are too many, and every one is busy.
    pub(super) fn try_add(self: &Arc<Self>, peer: IpAddr) -> Option<Arc<Connection>> {
        let mut open = lock(&self.open);
        if open.activity_by_id.len() >= self.limit && !open.evict_one() {
            return None;
        }
        let state = ActivityState { request_count: 0, had_request: false, idle_since: Instant::now() };
        let activity =
            Arc::new(Activity { state: Mutex::new(state), idle: Notify::new(), evicted: Notify::new() });
        let id = open.next_id;
        open.next_id += 1;
        open.activity_by_id.insert(id, Arc::clone(&activity));
        Some(Arc::new(Connection { connections: Arc::clone(self), id, activity, peer }))
    }

    /// Evicts an eighth of the connections, and at least one, as far as they are not busy.
    pub(super) fn evict_idle(&self) {
        let mut open = lock(&self.open);
        for _ in 0..=open.activity_by_id.len() / 8 {
            if !open.evict_one() {
                return;
            }
        }
    }

    /// Closes one reserved descriptor. Returns false if none was left.
    pub(super) fn release_reserve(&self) -> bool {
        lock(&self.reserve).pop().is_some()
    }

    /// Refills the reserve, as far as descriptors are available.
    pub(super) fn refill_reserve(&self) {
        let mut reserve = lock(&self.reserve);
        while reserve.len() < self.reserve_size {
            let Ok(file) = File::open(NULL_DEVICE) else { return };
            reserve.push(file);
        }
    }
}

impl OpenConnections {
    /// Evicts the connection that is idle longest; if none is idle, the one that has waited longest for its first head.
    fn evict_one(&mut self) -> bool {
        let candidates = self.activity_by_id.iter().filter_map(|(id, activity)| {
            let state = lock(&activity.state);
            (state.request_count == 0).then_some(((!state.had_request, state.idle_since), *id))
        });
        let Some((_, id)) = candidates.min() else { return false };
        if let Some(activity) = self.activity_by_id.remove(&id) {
            activity.evicted.notify_one();
        }
        true
    }
}

impl Connection {
    /// Records that bytes were written to the client.
    pub(super) fn on_write(&self) {
        let mut state = lock(&self.activity.state);
        if state.request_count == 0 {
            state.idle_since = Instant::now();
        }
    }

    /// Waits until the connection is evicted.
    pub(super) async fn wait_evicted(&self) {
        self.activity.evicted.notified().await;
    }

    /// Waits until no request has been in progress for this time: `first` before the first request, then `later`.
    pub(super) async fn wait_idle(&self, first: Duration, later: Duration) {
        loop {
            let deadline = {
                let state = lock(&self.activity.state);
                let timeout = if state.had_request { later } else { first };
                (state.request_count == 0).then(|| state.idle_since + timeout)
            };
            match deadline {
                None => self.activity.idle.notified().await,
                Some(deadline) if deadline <= Instant::now() => return,
                Some(deadline) => sleep_until(deadline).await,
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.connections.open).activity_by_id.remove(&self.id);
    }
}

impl ClientConnection {
    /// Returns the address of the client.
    pub fn peer(&self) -> IpAddr {
        self.0.peer
    }

    /// Begins a request or a tunnel.
    pub fn begin_request(&self) -> RequestGuard {
        let mut state = lock(&self.0.activity.state);
        (state.request_count, state.had_request) = (state.request_count + 1, true);
        RequestGuard(Arc::clone(&self.0))
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let mut state = lock(&self.0.activity.state);
        state.request_count -= 1;
        if state.request_count == 0 {
            state.idle_since = Instant::now();
            self.0.activity.idle.notify_one();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

    use tokio::time::timeout;

    use super::{ClientConnection, Connection, Connections};

    fn add(connections: &Arc<Connections>) -> Option<ClientConnection> {
        connections.try_add(Ipv4Addr::LOCALHOST.into()).map(ClientConnection)
    }

    #[tokio::test]
    async fn the_connection_that_is_idle_longest_is_evicted() {
        let connections = Connections::new(3, 1);
        let [first, second, third] = [(); 3].map(|()| add(&connections).expect("a place"));
        let busy = first.begin_request();
        drop(second.begin_request());
        // The second connection is idle, the third has not sent a head yet.
        let fourth = add(&connections).expect("the second makes room");
        second.0.wait_evicted().await;
        let fifth = add(&connections).expect("the third makes room");
        third.0.wait_evicted().await;
        let _busy = [fourth.begin_request(), fifth.begin_request()];
        assert!(add(&connections).is_none(), "all are busy");
        drop(busy);
        assert!(add(&connections).is_some());
        first.0.wait_evicted().await;
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
        let connection: &Connection = &client.0;
        let ends = async |first, later| {
            timeout(Duration::from_millis(50), connection.wait_idle(first, later)).await.is_ok()
        };
        assert!(ends(Duration::ZERO, hour).await && !ends(hour, Duration::ZERO).await);
        let (one, other) = (client.begin_request(), client.begin_request());
        assert!(!ends(Duration::ZERO, Duration::ZERO).await);
        drop(one);
        assert!(!ends(Duration::ZERO, Duration::ZERO).await);
        drop(other);
        assert!(ends(hour, Duration::ZERO).await && !ends(Duration::ZERO, hour).await);
    }
}
