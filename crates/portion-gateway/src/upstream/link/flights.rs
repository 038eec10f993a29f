//! Requests under way to a server over HTTP.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::latch::Latch;
use crate::mcp::{Note, same};

/// All of them, by what their ids are known by.
#[derive(Default)]
pub(super) struct Flights {
    under_way: Mutex<HashMap<String, Flight>>,
    /// Notified whenever one has landed.
    landed: Notify,
}

/// A request that waits for its answer.
pub(super) struct Flight {
    /// Of 2026-07-28 or later: to close its stream is to cancel it.
    pub(super) modern: bool,
    /// It has no end of its own.
    pub(super) endless: bool,
    /// Set when the answer is not wanted any more.
    pub(super) dropped: Arc<Latch>,
}

impl Flights {
    /// A request sets out.
    pub(super) fn start(&self, request: &Note<'_>, dropped: &Arc<Latch>) {
        let flight = Flight {
            modern: request.version().is_some(),
            endless: request.method() == "subscriptions/listen",
            dropped: Arc::clone(dropped),
        };
        self.under_way().insert(request.key(), flight);
    }

    /// An answer to it has come, or none will be waited for. Whoever lands it answers it; `None`: somebody has.
    pub(super) fn land(&self, raw_id: &str) -> Option<Flight> {
        let flight = self.under_way().remove(&same(raw_id));
        self.landed.notify_waiters();
        flight
    }

    /// Whether its answer is waited for.
    pub(super) fn has(&self, raw_id: &str) -> bool {
        self.under_way().contains_key(&same(raw_id))
    }

    /// The only one that is under way.
    pub(super) fn sole(&self) -> Option<String> {
        let under_way = self.under_way();
        let mut keys = under_way.keys();
        keys.next().filter(|_| keys.next().is_none()).cloned()
    }

    /// Waits until all have landed that will.
    pub(super) async fn settled(&self) {
        loop {
            let landed = self.landed.notified();
            tokio::pin!(landed);
            landed.as_mut().enable();
            if self.under_way().values().all(|flight| flight.endless) {
                return;
            }
            landed.await;
        }
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<String, Flight>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
