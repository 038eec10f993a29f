//! Places for connections: so many at once, and the one that is idle longest makes room for a new one.
//!
//! A few file descriptors are kept back, so that a connection can be taken even when the process has no others left.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::pace::{Pace, Phase};

/// What every system has and what can be opened any number of times.
const NOTHING: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// All connections of a listener.
#[derive(Debug)]
pub(super) struct Seats {
    most: usize,
    taken: Mutex<Taken>,
    left: Notify,
    reserve: Mutex<Vec<File>>,
    reserved: usize,
}

#[derive(Debug, Default)]
struct Taken {
    /// In the order in which they came.
    paces: BTreeMap<u64, Pace>,
    count: u64,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    pub(super) pace: Pace,
}

impl Seats {
    /// Places for so many connections, and so many descriptors kept back.
    pub(super) fn new(most: usize, reserved: usize) -> Arc<Self> {
        let seats =
            Self { most, taken: Mutex::default(), left: Notify::new(), reserve: Mutex::default(), reserved };
        seats.refill();
        Arc::new(seats)
    }

    /// Takes a place. `None` where every connection is busy with a request.
    pub(super) fn take(self: &Arc<Self>) -> Option<Seat> {
        let mut taken = self.taken();
        if taken.paces.len() >= self.most && !taken.evict() {
            return None;
        }
        let (number, pace) = (taken.count, Pace::new());
        taken.count += 1;
        taken.paces.insert(number, pace.clone());
        Some(Seat { seats: Arc::clone(self), number, pace })
    }

    /// Makes some connections that are idle leave.
    pub(super) fn evict_some(&self) {
        let mut taken = self.taken();
        for _ in 0..=taken.paces.len() / 8 {
            if !taken.evict() {
                return;
            }
        }
    }

    /// Waits until no connection is left.
    pub(super) async fn empty(&self) {
        loop {
            let mut left = std::pin::pin!(self.left.notified());
            left.as_mut().enable();
            if self.taken().paces.is_empty() {
                return;
            }
            left.await;
        }
    }

    /// Gives one of the descriptors that were kept back to the process. Returns whether there was one.
    pub(super) fn spend(&self) -> bool {
        self.reserve().pop().is_some()
    }

    /// Keeps descriptors back again, as far as there are any.
    pub(super) fn refill(&self) {
        let mut reserve = self.reserve();
        while reserve.len() < self.reserved {
            let Ok(file) = File::open(NOTHING) else { return };
            reserve.push(file);
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(&self) -> MutexGuard<'_, Vec<File>> {
        self.reserve.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Makes the connection leave that is idle longest; if none is, the one whose head takes longest.
    fn evict(&mut self) -> bool {
        let waiting = self.paces.iter().filter_map(|(number, pace)| match pace.phase() {
            (Phase::Busy, _) => None,
            (phase, since) => Some(((phase == Phase::Head, since), *number)),
        });
        let Some((_, number)) = waiting.min() else { return false };
        if let Some(pace) = self.paces.remove(&number) {
            pace.evict();
        }
        true
    }
}

impl Seat {
    /// Keeps descriptors back again, now that the connection has given back its own.
    pub(super) fn refill(&self) {
        self.seats.refill();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken().paces.remove(&self.number);
        self.seats.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::Seats;

    #[tokio::test]
    async fn the_one_that_is_idle_longest_makes_room() {
        let seats = Seats::new(3, 1);
        let [first, second, third] = [(); 3].map(|()| seats.take().expect("a place"));
        let busy = first.pace.asked();
        drop(second.pace.asked());
        // The second is idle, the third has only begun.
        let fourth = seats.take().expect("the second makes room");
        second.pace.evicted().await;
        let fifth = seats.take().expect("the third makes room");
        third.pace.evicted().await;
        let _busy = [fourth.pace.asked(), fifth.pace.asked()];
        assert!(seats.take().is_none(), "all are busy");
        drop(busy);
        assert!(seats.take().is_some());
        first.pace.evicted().await;
    }

    #[test]
    fn descriptors_are_kept_back() {
        let seats = Seats::new(1, 2);
        assert!(seats.spend() && seats.spend() && !seats.spend());
        seats.refill();
        assert!(seats.spend());
    }
}
