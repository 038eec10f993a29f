//! Tracks the pending requests to a server over HTTP.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::mcp::{MessageView, RequestIdMap};
use crate::once::OneShotFlag;

/// Pending requests by id.
#[derive(Default)]
pub(super) struct InFlight {
    requests: Mutex<RequestIdMap<InFlightRequest>>,
    /// Notified whenever a request completes.
    completed: Notify,
}

/// A pending request.
pub(super) struct InFlightRequest {
    raw_id: String,
    /// True since 2026-07-28: closing its stream cancels the request.
    pub(super) is_stateless: bool,
    /// True for a subscription, which has no response.
    is_subscription: bool,
    /// Set when the response is not wanted any more.
    pub(super) cancelled: Arc<OneShotFlag>,
}

impl InFlight {
    /// Adds a request.
    pub(super) fn register(&self, request: &MessageView<'_>, cancelled: &Arc<OneShotFlag>) {
        let entry = InFlightRequest {
            raw_id: request.id().to_owned(),
            is_stateless: request.protocol_version().is_some(),
            is_subscription: request.method() == "subscriptions/listen",
            cancelled: Arc::clone(cancelled),
        };
        self.requests().insert(request.id(), entry);
    }

    /// Removes a request that was answered or is abandoned. The caller must answer it; `None` if it is not pending.
    pub(super) fn complete(&self, raw_id: &str) -> Option<InFlightRequest> {
        let request = self.requests().take(raw_id);
        self.completed.notify_waiters();
        request
    }

    /// Returns true if the request is pending.
    pub(super) fn contains(&self, raw_id: &str) -> bool {
        self.requests().contains(raw_id)
    }

    /// Returns the id of the pending request if there is exactly one.
    pub(super) fn only_id(&self) -> Option<String> {
        let requests = self.requests();
        let mut pending = requests.values();
        pending.next().filter(|_| pending.next().is_none()).map(|request| request.raw_id.clone())
    }

    /// Waits until all requests except subscriptions have completed.
    pub(super) async fn wait_until_complete(&self) {
        loop {
            let completed = self.completed.notified();
            tokio::pin!(completed);
            completed.as_mut().enable();
            if self.requests().values().all(|request| request.is_subscription) {
                return;
            }
            completed.await;
        }
    }

    fn requests(&self) -> MutexGuard<'_, RequestIdMap<InFlightRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
