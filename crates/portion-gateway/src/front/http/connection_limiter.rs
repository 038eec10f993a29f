//! Places for connections: so many at once, and the one that is idle longest makes room for a new one.
//!
//! A few file descriptors are kept back, so that a connection can be taken even when the process has no others left.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::activity::{ConnectionActivity, Phase};

/// What every system has and what can be opened any number of times.
const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// All connections of a listener.
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
    /// In the order in which they came.
    activity_by_id: BTreeMap<u64, ConnectionActivity>,
    next_id: u64,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limiter: Arc<ConnectionLimiter>,
    id: u64,
    pub(super) activity: ConnectionActivity,
}

impl ConnectionLimiter {
    /// Places for so many connections, and so many descriptors kept back.
    pub(super) fn new(most: usize, reserved: usize) -> Arc<Self> {
        let seats = Self {
            max_connections: most,
            open_connections: Mutex::default(),
            permit_released: Notify::new(),
            reserve_files: Mutex::default(),
            reserve_size: reserved,
        };
        seats.refill_reserve();
        Arc::new(seats)
    }

    /// Takes a place. `None` where every connection is busy with a request.
    pub(super) fn try_acquire(self: &Arc<Self>) -> Option<ConnectionPermit> {
        let mut taken = self.open_connections();
        if taken.activity_by_id.len() >= self.max_connections && !taken.evict_one() {
            return None;
        }
        let (number, pace) = (taken.next_id, ConnectionActivity::new());
        taken.next_id += 1;
        taken.activity_by_id.insert(number, pace.clone());
        Some(ConnectionPermit { limiter: Arc::clone(self), id: number, activity: pace })
    }

    /// Makes some connections that are idle leave.
    pub(super) fn evict_idle(&self) {
        let mut taken = self.open_connections();
        for _ in 0..=taken.activity_by_id.len() / 8 {
            if !taken.evict_one() {
                return;
            }
        }
    }

    /// Waits until no connection is left.
    pub(super) async fn wait_until_empty(&self) {
        loop {
            let mut left = std::pin::pin!(self.permit_released.notified());
            left.as_mut().enable();
            if self.open_connections().activity_by_id.is_empty() {
                return;
            }
            left.await;
        }
    }

    /// Gives one of the descriptors that were kept back to the process. Returns whether there was one.
    pub(super) fn release_reserve(&self) -> bool {
        self.reserve_files().pop().is_some()
    }

    /// Keeps descriptors back again, as far as there are any.
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
    /// Makes the connection leave that is idle longest; if none is, the one whose head takes longest.
    fn evict_one(&mut self) -> bool {
        let waiting = self.activity_by_id.iter().filter_map(|(number, pace)| match pace.phase() {
            (Phase::Busy, _) => None,
            (phase, since) => Some(((phase == Phase::Head, since), *number)),
        });
        let Some((_, number)) = waiting.min() else { return false };
        if let Some(pace) = self.activity_by_id.remove(&number) {
            pace.evict();
        }
        true
    }
}

impl ConnectionPermit {
    /// Keeps descriptors back again, now that the connection has given back its own.
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

#[cfg(test)]
mod tests {
    use super::ConnectionLimiter;

    #[tokio::test]
    async fn the_one_that_is_idle_longest_makes_room() {
        let seats = ConnectionLimiter::new(3, 1);
        let [first, second, third] = [(); 3].map(|()| seats.try_acquire().expect("a place"));
        let busy = first.activity.on_request();
        drop(second.activity.on_request());
        // The second is idle, the third has only begun.
        let fourth = seats.try_acquire().expect("the second makes room");
        second.activity.wait_evicted().await;
        let fifth = seats.try_acquire().expect("the third makes room");
        third.activity.wait_evicted().await;
        let _busy = [fourth.activity.on_request(), fifth.activity.on_request()];
        assert!(seats.try_acquire().is_none(), "all are busy");
        drop(busy);
        assert!(seats.try_acquire().is_some());
        first.activity.wait_evicted().await;
    }

    #[test]
    fn descriptors_are_kept_back() {
        let seats = ConnectionLimiter::new(1, 2);
        assert!(seats.release_reserve() && seats.release_reserve() && !seats.release_reserve());
        seats.refill_reserve();
        assert!(seats.release_reserve());
    }
}
