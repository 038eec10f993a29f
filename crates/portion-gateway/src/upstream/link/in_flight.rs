//! Requests under way to a server over HTTP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::mcp::{MessageView, RequestIdMap};
use crate::one_shot_flag::OneShotFlag;

/// All of them, by their ids.
#[derive(Default)]
pub(super) struct InFlight {
    requests: Mutex<RequestIdMap<InFlightRequest>>,
    /// Notified whenever one has landed.
    completed: Notify,
}

/// A request that waits for its answer.
pub(super) struct InFlightRequest {
    raw_id: String,
    /// Of 2026-07-28 or later: to close its stream is to cancel it.
    pub(super) is_stateless: bool,
    /// It has no end of its own.
    is_subscription: bool,
    /// Set when the answer is not wanted any more.
    pub(super) cancelled: Arc<OneShotFlag>,
}

impl InFlight {
    /// A request sets out.
    pub(super) fn register(&self, request: &MessageView<'_>, dropped: &Arc<OneShotFlag>) {
        let flight = InFlightRequest {
            raw_id: request.id().to_owned(),
            is_stateless: request.protocol_version().is_some(),
            is_subscription: request.method() == "subscriptions/listen",
            cancelled: Arc::clone(dropped),
        };
        self.requests().insert(request.id(), flight);
    }

    /// An answer to it has come, or none will be waited for. Whoever lands it answers it; `None`: somebody has.
    pub(super) fn complete(&self, raw_id: &str) -> Option<InFlightRequest> {
        let flight = self.requests().take(raw_id);
        self.completed.notify_waiters();
        flight
    }

    /// Whether its answer is waited for.
    pub(super) fn contains(&self, raw_id: &str) -> bool {
        self.requests().contains(raw_id)
    }

    /// The only one that is under way.
    pub(super) fn only_id(&self) -> Option<String> {
        let under_way = self.requests();
        let mut all = under_way.values();
        all.next().filter(|_| all.next().is_none()).map(|flight| flight.raw_id.clone())
    }

    /// Waits until all have landed that will.
    pub(super) async fn wait_until_complete(&self) {
        loop {
            let landed = self.completed.notified();
            tokio::pin!(landed);
            landed.as_mut().enable();
            if self.requests().values().all(|flight| flight.is_subscription) {
                return;
            }
            landed.await;
        }
    }

    fn requests(&self) -> MutexGuard<'_, RequestIdMap<InFlightRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
