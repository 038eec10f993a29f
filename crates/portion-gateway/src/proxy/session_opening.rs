//! The first moments of a session: clients open their listening stream and send their first request at once, and a
//! server that has something to ask during that request needs the stream to be there. Passing through a proxy the two
//! may change places; so the first request waits a moment for the stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// How long the first request waits for a stream that has been asked for.
const STREAM_ANSWER_TIMEOUT: Duration = Duration::from_millis(300);
/// How long it waits for one to be asked for: a client on the same machine needs a few milliseconds.
const STREAM_REQUEST_TIMEOUT: Duration = Duration::from_millis(30);

/// The state of a session's opening.
#[derive(Default)]
pub(super) struct SessionOpening {
    /// The client has said that it is ready, and no request has come since.
    is_client_ready: AtomicBool,
    stream_requested: AtomicBool,
    stream_answered: AtomicBool,
    changed: Notify,
}

/// A listening stream that has been asked for, until it is answered.
pub(super) struct StreamRequestGuard<'a>(&'a SessionOpening);

impl SessionOpening {
    /// The client says that it is ready.
    pub(super) fn mark_client_ready(&self) {
        self.is_client_ready.store(true, Ordering::Release);
    }

    /// The listening stream is asked for; dropping this says that it is answered.
    pub(super) fn begin_stream_request(&self) -> StreamRequestGuard<'_> {
        self.stream_requested.store(true, Ordering::Release);
        self.changed.notify_waiters();
        StreamRequestGuard(self)
    }

    /// To be waited for by a request; only the first one after [`ready`](Self::mark_client_ready) does wait.
    pub(super) async fn wait_for_stream(&self) {
        if !self.is_client_ready.swap(false, Ordering::AcqRel) {
            return;
        }
        if timeout(STREAM_REQUEST_TIMEOUT, self.wait_for(&self.stream_requested)).await.is_ok() {
            let _ = timeout(STREAM_ANSWER_TIMEOUT, self.wait_for(&self.stream_answered)).await;
        }
    }

    async fn wait_for(&self, set: &AtomicBool) {
        loop {
            let moved = self.changed.notified();
            let mut moved = std::pin::pin!(moved);
            moved.as_mut().enable();
            if set.load(Ordering::Acquire) {
                return;
            }
            moved.await;
        }
    }
}

impl Drop for StreamRequestGuard<'_> {
    fn drop(&mut self) {
        self.0.stream_answered.store(true, Ordering::Release);
        self.0.changed.notify_waiters();
    }
}
