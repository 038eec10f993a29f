//! Limits concurrent connections; a new one evicts the connection that is idle longest.
//!
//! A few file descriptors are in reserve, so that a connection can be accepted even when the process has no others
//! left.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::activity::{ConnectionActivity, Phase};

/// File that exists on every system and can be opened any number of times.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Connection limiter of a listener.
#[derive(Debug)]
pub(super) struct ConnectionLimiter {
    max_connections: usize,
    open_connections: Mutex<OpenConnections>,
    permit_released: Notify,
    reserve_files: Mutex<Vec<File>>,
    reserve_size: usize,
}

#[derive(Debug, Default)]
struct OpenConnections {
    /// By id, in the order of acceptance.
    activity_by_id: BTreeMap<u64, ConnectionActivity>,
    next_id: u64,
}

/// Permit of one connection; dropping it releases the permit.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    id: u64,
    pub(super) activity: ConnectionActivity,
}

impl ConnectionLimiter {
    /// Creates a limiter of `max_connections`, with `reserve_size` descriptors in reserve.
    pub(super) fn new(max_connections: usize, reserve_size: usize) -> Arc<Self> {
        let limiter = Self {
            max_connections,
            open_connections: Mutex::default(),
            permit_released: Notify::new(),
            reserve_files: Mutex::default(),
            reserve_size,
        };
        limiter.refill_reserve();
        Arc::new(limiter)
    }

    /// Returns a permit; `None` if every connection is busy with a request.
    pub(super) fn try_acquire(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let mut open = self.open_connections();
        if open.activity_by_id.len() >= self.max_connections && !open.evict_one() {
            return None;
        }
        let (id, activity) = (open.next_id, ConnectionActivity::new());
        open.next_id += 1;
        open.activity_by_id.insert(id, activity.clone());
        Some(ConnectionPermit { limiter: Arc::clone(self), id, activity })
    }

    /// Evicts an eighth of the connections, and at least one, as far as they are not busy.
    pub(super) fn evict_idle(&self) {
        let mut open = self.open_connections();
        for _ in 0..=open.activity_by_id.len() / 8 {
            if !open.evict_one() {
                return;
            }
        }
    }

    /// Waits until all connections have ended.
    pub(super) async fn wait_until_empty(&self) {
        loop {
            let mut released = std::pin::pin!(self.permit_released.notified());
            released.as_mut().enable();
            if self.open_connections().activity_by_id.is_empty() {
                return;
            }
            released.await;
        }
    }

    /// Closes one reserved descriptor. Returns false if none was left.
    pub(super) fn release_reserve(&self) -> bool {
        self.reserve_files().pop().is_some()
    }

    /// Refills the reserve, as far as descriptors are available.
    pub(super) fn refill_reserve(&self) {
        let mut reserve = self.reserve_files();
        while reserve.len() < self.reserve_size {
            let Ok(file) = File::open(NULL_DEVICE) else { return };
            reserve.push(file);
        }
    }

    fn open_connections(&self) -> MutexGuard<'_, OpenConnections> {
        self.open_connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve_files(&self) -> MutexGuard<'_, Vec<File>> {
        self.reserve_files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenConnections {
    /// Evicts the connection that is idle longest; if none is idle, the one that has waited longest for its head.
    fn evict_one(&mut self) -> bool {
        let candidates = self.activity_by_id.iter().filter_map(|(id, activity)| match activity.phase() {
            (Phase::Busy, _) => None,
            (phase, since) => Some(((phase == Phase::Head, since), *id)),
        });
        let Some((_, id)) = candidates.min() else { return false };
        if let Some(activity) = self.activity_by_id.remove(&id) {
            activity.evict();
        }
        true
    }
}

impl ConnectionPermit {
    /// Refills the reserve after the connection has closed its own descriptor.
    pub(super) fn refill_reserve(&self) {
        self.limiter.refill_reserve();
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.limiter.open_connections().activity_by_id.remove(&self.id);
        self.limiter.permit_released.notify_waiters();
    }
}

/// Number of running requests.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveRequests(Arc<watch::Sender<usize>>);

/// A running request; dropping it ends the request.
#[derive(Debug)]
pub(super) struct ActiveRequest(ActiveRequests);

impl ActiveRequests {
    /// Adds a request.
    pub(super) fn begin(&self) -> ActiveRequest {
        self.0.send_modify(|count| *count += 1);
        ActiveRequest(self.clone())
    }

    /// Returns the number of running requests.
    pub(super) fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until no request runs.
    pub(super) async fn wait_until_none(&self) {
        // Does not fail: the sender outlives this borrow.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::ConnectionLimiter;

    #[tokio::test]
    async fn the_connection_that_is_idle_longest_is_evicted() {
        let limiter = ConnectionLimiter::new(3, 1);
        let [first, second, third] = [(); 3].map(|()| limiter.try_acquire().expect("a place"));
        let busy = first.activity.on_request();
        drop(second.activity.on_request());
        // The second connection is idle, the third has not sent a head yet.
        let fourth = limiter.try_acquire().expect("the second makes room");
        second.activity.wait_evicted().await;
        let fifth = limiter.try_acquire().expect("the third makes room");
        third.activity.wait_evicted().await;
        let _busy = [fourth.activity.on_request(), fifth.activity.on_request()];
        assert!(limiter.try_acquire().is_none(), "all are busy");
        drop(busy);
        assert!(limiter.try_acquire().is_some());
        first.activity.wait_evicted().await;
    }

    #[test]
    fn descriptors_are_reserved() {
        let limiter = ConnectionLimiter::new(1, 2);
        assert!(limiter.release_reserve() && limiter.release_reserve() && !limiter.release_reserve());
        limiter.refill_reserve();
        assert!(limiter.release_reserve());
    }
}
