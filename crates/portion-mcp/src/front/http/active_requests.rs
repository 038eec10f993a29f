//! Counts the requests that must finish before a listener ends.

use std::sync::Arc;

use tokio::sync::watch;

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
