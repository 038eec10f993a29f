//! The first moments of a session: clients open their listening stream and send their first request at once, and a
//! server that has something to ask during that request needs the stream to be there. Passing through a proxy the two
//! may change places; so the first request waits a moment for the stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// How long the first request waits for a stream that has been asked for.
const ASKED_FOR: Duration = Duration::from_millis(300);
/// How long it waits for one to be asked for: a client on the same machine needs a few milliseconds.
const UNASKED: Duration = Duration::from_millis(30);

/// The state of a session's opening.
#[derive(Default)]
pub(super) struct Opening {
    /// The client has said that it is ready, and no request has come since.
    ready: AtomicBool,
    coming: AtomicBool,
    answered: AtomicBool,
    moved: Notify,
}

/// A listening stream that has been asked for, until it is answered.
pub(super) struct Coming<'a>(&'a Opening);

impl Opening {
    /// The client says that it is ready.
    pub(super) fn ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// The listening stream is asked for; dropping this says that it is answered.
    pub(super) fn coming(&self) -> Coming<'_> {
        self.coming.store(true, Ordering::Release);
        self.moved.notify_waiters();
        Coming(self)
    }

    /// To be waited for by a request; only the first one after [`ready`](Self::ready) does wait.
    pub(super) async fn passed(&self) {
        if !self.ready.swap(false, Ordering::AcqRel) {
            return;
        }
        if timeout(UNASKED, self.until(&self.coming)).await.is_ok() {
            let _ = timeout(ASKED_FOR, self.until(&self.answered)).await;
        }
    }

    async fn until(&self, set: &AtomicBool) {
        loop {
            let moved = self.moved.notified();
            let mut moved = std::pin::pin!(moved);
            moved.as_mut().enable();
            if set.load(Ordering::Acquire) {
                return;
            }
            moved.await;
        }
    }
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        self.0.answered.store(true, Ordering::Release);
        self.0.moved.notify_waiters();
    }
}
