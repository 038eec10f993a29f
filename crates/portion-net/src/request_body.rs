//! Ends bodies of requests that arrive too slowly, and tells why a body failed.
//!
//! Only the time in which this program waits for the client counts: an upstream that reads slowly is not the client's
//! fault.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep_until};

/// Lowest transfer rate of a body in bytes per second, after the stall timeout.
const MIN_BYTES_PER_SECOND: u32 = 8 << 10;

/// Error of a body.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The body arrives too slowly.
#[derive(Clone, Copy, Debug, Error)]
#[error("the body of the request arrives too slowly")]
pub struct SlowBody;

/// Reason that a body has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFailure {
    /// It arrives too slowly.
    Slow,
    /// It breaks off, or is not valid HTTP.
    Invalid,
}

/// A body that ends with [`SlowBody`] if it arrives too slowly.
#[derive(Debug)]
pub struct TimedBody<B> {
    inner: B,
    stall_timeout: Duration,
    bytes: u64,
    /// Time in which nothing was available, until the last frame.
    waited: Duration,
    waiting_since: Option<Instant>,
    timer: Pin<Box<Sleep>>,
    progress: BodyProgress,
}

/// Progress of a body, as its reader sees it.
#[derive(Clone, Debug)]
pub struct BodyProgress(Arc<Progress>);

#[derive(Debug)]
struct Progress {
    failure: OnceLock<BodyFailure>,
    last_sent: Mutex<Instant>,
}

impl BodyProgress {
    /// Returns the reason that the body failed, if it did.
    pub fn failure(&self) -> Option<BodyFailure> {
        self.0.failure.get().copied()
    }

    /// Returns the time at which the last bytes were sent, or the request was begun.
    pub fn last_sent(&self) -> Instant {
        *self.0.last_sent.lock()
    }

    fn set_sent(&self) {
        *self.0.last_sent.lock() = Instant::now();
    }
}

impl<B> TimedBody<B> {
    /// Creates a body that may wait this long for its next bytes.
    pub fn new(inner: B, stall_timeout: Duration) -> Self {
        let last_sent = Mutex::new(Instant::now());
        Self {
            inner,
            stall_timeout,
            bytes: 0,
            waited: Duration::ZERO,
            waiting_since: None,
            timer: Box::pin(sleep_until(Instant::now())),
            progress: BodyProgress(Arc::new(Progress { failure: OnceLock::new(), last_sent })),
        }
    }

    /// Returns the progress of the body.
    pub fn progress(&self) -> BodyProgress {
        self.progress.clone()
    }

    /// Returns how much longer this body may wait.
    fn remaining(&self) -> Duration {
        let at_slowest = Duration::from_secs(self.bytes) / MIN_BYTES_PER_SECOND;
        (self.stall_timeout + at_slowest).saturating_sub(self.waited).min(self.stall_timeout)
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(cx) {
            this.waited += this.waiting_since.take().map(|since| since.elapsed()).unwrap_or_default();
            this.progress.set_sent();
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            this.bytes += data.map_or(0, Bytes::len) as u64;
            if matches!(frame, Some(Err(_))) {
                let _ = this.progress.0.failure.set(BodyFailure::Invalid);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        if this.waiting_since.is_none() {
            let now = Instant::now();
            this.waiting_since = Some(now);
            let deadline = now + this.remaining();
            this.timer.as_mut().reset(deadline);
        }
        ready!(this.timer.as_mut().poll(cx));
        let _ = this.progress.0.failure.set(BodyFailure::Slow);
        Poll::Ready(Some(Err(SlowBody.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_may_wait_as_long_as_its_rate_allows() {
        let check = |kibibytes: u64, waited: u64, expect: u64| {
            let mut body = TimedBody::new((), Duration::from_secs(10));
            (body.bytes, body.waited) = (kibibytes << 10, Duration::from_secs(waited));
            assert_eq!(body.remaining().as_secs(), expect, "{kibibytes} KiB after {waited} s");
        };
        check(0, 0, 10);
        check(0, 8, 2);
        check(0, 12, 0);
        check(8, 10, 1);
        check(800, 10, 10);
        check(800, 109, 1);
        check(1 << 20, 100, 10);
    }
}
