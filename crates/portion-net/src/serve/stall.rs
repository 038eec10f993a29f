//! Ends connections and streams whose clients take nothing of a response, and ties a guard to a body.
//!
//! A client of HTTP/2 that keeps the flow-control window of a stream closed reads the connection all the same, so that a time
//! limit for writes does not end it. [`StreamExecutor`] runs each stream in a task, and resets it if its body has not moved for
//! that time. Other streams of the connection go on.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use http_body_util::combinators::MapErr;
use hyper::rt::{Executor, Read, ReadBufCursor, Write};
use parking_lot::Mutex;
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::connections::Connection;

/// Largest part of a body that is handed over at once: a client that reads this much in each time limit is not ended.
const MAX_PART_BYTES: usize = 16 << 10;

/// Byte stream with a time limit for each write. Reads, flushes and the shutdown have none.
#[derive(Debug)]
pub(super) struct TimedIo<S> {
    stream: S,
    write_timeout: Duration,
    /// Set while a write is pending.
    timer: Option<Pin<Box<Sleep>>>,
    connection: Arc<Connection>,
}

impl<S> TimedIo<S> {
    /// Wraps the stream of a connection. A write that is pending for `write_timeout` ends in [`io::ErrorKind::TimedOut`].
    pub(super) fn new(stream: S, write_timeout: Duration, connection: Arc<Connection>) -> Self {
        Self { stream, write_timeout, timer: None, connection }
    }

    /// Returns the result of a write, or an error if writes have been pending for too long.
    fn poll_timed(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.timer = None;
            self.connection.on_write();
            return written;
        }
        let timeout = self.write_timeout;
        ready!(self.timer.get_or_insert_with(|| Box::pin(sleep(timeout))).as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: Read + Unpin> Read for TimedIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.connection.on_read();
        Poll::Ready(Ok(()))
    }
}

impl<S: Write + Unpin> Write for TimedIo<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.poll_timed(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.poll_timed(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Ties `guard` to a body. The guard is dropped together with the body: at its end, or when the peer goes.
pub fn guarded<B: Body, G>(body: B, guard: G) -> MapErr<B, impl FnMut(B::Error) -> B::Error> {
    body.map_err(move |error| {
        let _owned_by_this = &guard;
        error
    })
}

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
#[derive(Clone, Debug, Default)]
struct StreamProgress(Arc<Mutex<Option<Instant>>>);

/// A body in small parts, which records when they are handed over. A body of HTTP/1.1 stays as it is.
#[derive(Debug)]
pub(super) struct PacedBody<B> {
    inner: B,
    /// Data of the last frame that was not handed over yet.
    rest: Bytes,
    progress: Option<StreamProgress>,
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
pub(super) fn paced<B>(inner: B) -> PacedBody<B> {
    PacedBody { inner, rest: Bytes::new(), progress: PROGRESS.try_with(Clone::clone).ok() }
}

impl StreamProgress {
    /// Waits until a part was handed over and nothing was requested since for this time.
    async fn wait_stalled(&self, timeout: Duration) {
        loop {
            let handed_over = *self.0.lock();
            let deadline = handed_over.unwrap_or_else(Instant::now) + timeout;
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for PacedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = &mut *self;
        let Some(progress) = &this.progress else { return Pin::new(&mut this.inner).poll_frame(cx) };
        *progress.0.lock() = None;
        if this.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => this.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let part = this.rest.split_to(this.rest.len().min(MAX_PART_BYTES));
        *progress.0.lock() = Some(Instant::now());
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
    use std::future::poll_fn;
    use std::io::ErrorKind;
    use std::net::Ipv4Addr;
    use std::pin::Pin;
    use std::time::Duration;

    use http_body::Body;
    use hyper::rt::Write as _;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, duplex};
    use tokio::time::timeout;

    use super::{MAX_PART_BYTES, PROGRESS, StreamProgress, TimedIo, paced};
    use crate::serve::connections::Connections;

    #[tokio::test]
    async fn a_client_that_does_not_read_is_disconnected() {
        let (near, mut far) = duplex(8);
        let connection = Connections::new(1, 0).try_add(Ipv4Addr::LOCALHOST.into()).expect("a place");
        let mut stream = TimedIo::new(TokioIo::new(near), Duration::from_millis(20), connection);
        let mut write = async || poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, b"12345678")).await;
        assert_eq!(write().await.expect("there is room"), 8);
        assert_eq!(write().await.expect_err("nobody reads").kind(), ErrorKind::TimedOut);
        far.read_exact(&mut [0; 8]).await.expect("what was written");
        assert_eq!(write().await.expect("there is room again"), 8);
    }

    async fn next_part(body: &mut (impl Body<Data = bytes::Bytes> + Unpin)) -> Option<bytes::Bytes> {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await?;
        frame.ok()?.into_data().ok()
    }

    #[tokio::test]
    async fn a_stream_stalls_while_a_part_waits_for_its_client_only() {
        let progress = StreamProgress::default();
        let stalls = async || {
            timeout(Duration::from_millis(50), progress.wait_stalled(Duration::from_millis(1))).await.is_ok()
        };
        let text = "a".repeat(MAX_PART_BYTES * 2 + 7);
        let mut body = PROGRESS.sync_scope(progress.clone(), || paced(text.clone()));
        assert!(!stalls().await, "nothing was handed over yet");
        let mut read = Vec::new();
        while let Some(part) = next_part(&mut body).await {
            read.extend(part);
            assert_eq!(body.size_hint().exact(), Some((text.len() - read.len()) as u64));
            assert!(stalls().await, "the client takes nothing");
        }
        assert!(read == text.as_bytes() && body.is_end_stream());
        assert!(!stalls().await, "the response has ended");
    }

    #[tokio::test]
    async fn other_bodies_stay_as_they_are() {
        let mut body = paced("a".repeat(MAX_PART_BYTES * 2));
        assert_eq!(next_part(&mut body).await.expect("a part").len(), MAX_PART_BYTES * 2);
    }
}
