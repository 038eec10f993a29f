//! Counts the requests that are to finish before a listener ends.

use std::sync::Arc;

use tokio::sync::watch;

/// How many requests run.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveRequests(Arc<watch::Sender<usize>>);

/// One that runs, until this is dropped.
#[derive(Debug)]
pub(super) struct ActiveRequest(ActiveRequests);

impl ActiveRequests {
    /// Counts one more.
    pub(super) fn begin(&self) -> ActiveRequest {
        self.0.send_modify(|count| *count += 1);
        ActiveRequest(self.clone())
    }

    /// How many run now.
    pub(super) fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until none runs.
    pub(super) async fn wait_until_none(&self) {
        // The sender lives as long as this borrow, so there is no error.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
