//! Ends responses of HTTP/2 whose client takes nothing of them.
//!
//! A client that keeps the flow-control window of a stream closed reads the connection all the same, so that a time limit for
//! writes does not end it. [`StreamExecutor`] runs each stream in a task, and resets it if its body has not moved for that
//! time. Other streams of the connection go on.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::rt::Executor;
use tokio::time::{Instant, sleep_until};

use crate::body::{Body, BoxError, PollFrame};

/// Largest part of a body that is handed over at once: a client that reads this much in each time limit is not ended.
const MAX_PART_BYTES: usize = 16 << 10;

tokio::task_local! {
    /// Progress of the stream that the current task runs.
    static PROGRESS: StreamProgress;
}

/// Runs streams of HTTP/2, and resets those that stall for this time.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamExecutor {
    pub(super) stall_timeout: Duration,
}

/// Time at which the last part of a body was handed over, until the next one is requested.
#[derive(Clone, Default)]
struct StreamProgress(Arc<Mutex<Option<Instant>>>);

/// A body in small parts, which records when they are handed over.
struct PacedBody {
    inner: Body,
    /// Data of the last frame that was not handed over yet.
    rest: Bytes,
    progress: StreamProgress,
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        let (progress, timeout) = (StreamProgress::default(), self.stall_timeout);
        tokio::spawn(async move {
            tokio::select! {
                _ = PROGRESS.scope(progress.clone(), stream) => {}
                () = progress.wait_stalled(timeout) => tracing::debug!("a client took nothing of a response"),
            }
        });
    }
}

/// Returns a body that records its progress, if a [`StreamExecutor`] runs the current task.
pub(super) fn paced(body: Body) -> Body {
    match PROGRESS.try_with(Clone::clone) {
        Ok(progress) => PacedBody { inner: body, rest: Bytes::new(), progress }.boxed_unsync(),
        Err(_) => body,
    }
}

impl StreamProgress {
    /// Waits until a part was handed over and nothing was requested since for this time.
    async fn wait_stalled(&self, timeout: Duration) {
        loop {
            let handed_over = *self.state();
            let deadline = handed_over.unwrap_or_else(Instant::now) + timeout;
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpBody for PacedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> PollFrame {
        *self.progress.state() = None;
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => self.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let count = self.rest.len().min(MAX_PART_BYTES);
        let part = self.rest.split_to(count);
        *self.progress.state() = Some(Instant::now());
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, inner) = (self.rest.len() as u64, self.inner.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body::Body as _;
    use http_body_util::BodyExt as _;
    use tokio::time::timeout;

    use super::{MAX_PART_BYTES, PROGRESS, StreamProgress, paced};
    use crate::body::full;

    #[tokio::test]
    async fn a_stream_stalls_while_a_part_waits_for_its_client_only() {
        let progress = StreamProgress::default();
        let stalls = async || {
            timeout(Duration::from_millis(50), progress.wait_stalled(Duration::from_millis(1))).await.is_ok()
        };
        let text = "a".repeat(MAX_PART_BYTES * 2 + 7);
        let mut body = PROGRESS.sync_scope(progress.clone(), || paced(full(text.clone())));
        assert!(!stalls().await, "nothing was handed over yet");
        let mut read = Vec::new();
        while let Some(frame) = body.frame().await {
            assert_eq!(
                body.size_hint().exact(),
                Some((text.len() - read.len()).saturating_sub(MAX_PART_BYTES) as u64)
            );
            read.extend(frame.expect("no error").into_data().expect("data"));
            assert!(stalls().await, "the client takes nothing");
        }
        assert!(read == text.as_bytes() && body.is_end_stream());
        assert!(!stalls().await, "the response has ended");
    }

    #[tokio::test]
    async fn other_bodies_stay_as_they_are() {
        let mut body = paced(full("a".repeat(MAX_PART_BYTES * 2)));
        let first = body.frame().await.expect("a frame").expect("no error").into_data().expect("data");
        assert_eq!(first.len(), MAX_PART_BYTES * 2);
    }
}
