//! Requests under way to a server over HTTP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::latch::Latch;
use crate::mcp::{Ids, Note};

/// All of them, by their ids.
#[derive(Default)]
pub(super) struct Flights {
    under_way: Mutex<Ids<Flight>>,
    /// Notified whenever one has landed.
    landed: Notify,
}

/// A request that waits for its answer.
pub(super) struct Flight {
    raw_id: String,
    /// Of 2026-07-28 or later: to close its stream is to cancel it.
    pub(super) modern: bool,
    /// It has no end of its own.
    endless: bool,
    /// Set when the answer is not wanted any more.
    pub(super) dropped: Arc<Latch>,
}

impl Flights {
    /// A request sets out.
    pub(super) fn start(&self, request: &Note<'_>, dropped: &Arc<Latch>) {
        let flight = Flight {
            raw_id: request.id().to_owned(),
            modern: request.version().is_some(),
            endless: request.method() == "subscriptions/listen",
            dropped: Arc::clone(dropped),
        };
        self.under_way().insert(request.id(), flight);
    }

    /// An answer to it has come, or none will be waited for. Whoever lands it answers it; `None`: somebody has.
    pub(super) fn land(&self, raw_id: &str) -> Option<Flight> {
        let flight = self.under_way().take(raw_id);
        self.landed.notify_waiters();
        flight
    }

    /// Whether its answer is waited for.
    pub(super) fn has(&self, raw_id: &str) -> bool {
        self.under_way().has(raw_id)
    }

    /// The only one that is under way.
    pub(super) fn sole(&self) -> Option<String> {
        let under_way = self.under_way();
        let mut all = under_way.values();
        all.next().filter(|_| all.next().is_none()).map(|flight| flight.raw_id.clone())
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

    fn under_way(&self) -> MutexGuard<'_, Ids<Flight>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
