//! Delays the first request of a session until its listening stream is open.
//!
//! Clients open the listening stream and send the first request at the same time, and a server that sends a request of
//! its own during that first request needs the stream. The proxy could reorder the two.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// Longest wait of the first request for the response to the stream request.
const STREAM_ANSWER_TIMEOUT: Duration = Duration::from_millis(300);
/// Longest wait for the stream request: a client on the same machine needs a few milliseconds.
const STREAM_REQUEST_TIMEOUT: Duration = Duration::from_millis(30);

/// State of the opening of a session.
#[derive(Default)]
pub(super) struct SessionOpening {
    /// True if the client has sent `initialized`, and no request since.
    is_client_ready: AtomicBool,
    stream_requested: AtomicBool,
    stream_answered: AtomicBool,
    changed: Notify,
}

/// Guard of a request for the listening stream; dropping it marks the request as answered.
pub(super) struct StreamRequestGuard<'a>(&'a SessionOpening);

impl SessionOpening {
    /// Records that the client has sent `initialized`.
    pub(super) fn mark_client_ready(&self) {
        self.is_client_ready.store(true, Ordering::Release);
    }

    /// Records a request for the listening stream.
    pub(super) fn begin_stream_request(&self) -> StreamRequestGuard<'_> {
        self.stream_requested.store(true, Ordering::Release);
        self.changed.notify_waiters();
        StreamRequestGuard(self)
    }

    /// Waits for the listening stream. Returns at once except for the first request after
    /// [`mark_client_ready`](Self::mark_client_ready).
    pub(super) async fn wait_for_stream(&self) {
        if !self.is_client_ready.swap(false, Ordering::AcqRel) {
            return;
        }
        if timeout(STREAM_REQUEST_TIMEOUT, self.wait_for(&self.stream_requested)).await.is_ok() {
            let _ = timeout(STREAM_ANSWER_TIMEOUT, self.wait_for(&self.stream_answered)).await;
        }
    }

    async fn wait_for(&self, flag: &AtomicBool) {
        loop {
            let changed = self.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            if flag.load(Ordering::Acquire) {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for StreamRequestGuard<'_> {
    fn drop(&mut self) {
        self.0.stream_answered.store(true, Ordering::Release);
        self.0.changed.notify_waiters();
    }
}
