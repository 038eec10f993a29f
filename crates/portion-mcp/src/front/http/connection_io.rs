//! Byte stream of a client connection. Ends connections whose clients do not read. Adds a body to the error responses of
//! hyper, which consist of a status only, so that even a client that does not speak HTTP gets an explanation. hyper 1 has
//! no hook for these responses: they are written before a service is called, so they are recognized in the stream.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use portion_net::io::TimedIo;

use super::activity::ConnectionActivity;
use super::request_checks::HEAD_TOO_LARGE;
use crate::mcp::error_code::{INVALID_REQUEST, json_rpc_error};

/// Upper bound of the length of an error head of hyper.
const MAX_BARE_HEAD_BYTES: usize = 256;
const EMPTY_BODY_FIELD: &[u8] = b"content-length: 0\r\n";

/// True if a request has been received whose response has not begun.
#[derive(Clone, Debug, Default)]
pub(super) struct ResponsePending(Arc<AtomicBool>);

/// Byte stream of a connection.
pub(super) struct ConnectionIo<S> {
    stream: TimedIo<S>,
    response_pending: ResponsePending,
    activity: ConnectionActivity,
    /// Bytes written in place of an error response of hyper.
    replacement: Vec<u8>,
    replacement_written: usize,
}

impl ResponsePending {
    /// Records that a request has been received.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true for an error response of hyper: a 4xx head without a body while no response is pending. Resets the
    /// flag with each response.
    fn takes_hyper_error(&self, bytes: &[u8]) -> bool {
        if !bytes.starts_with(b"HTTP/1.") || bytes.get(8..10) == Some(b" 1") {
            return false;
        }
        let bare = bytes.get(8..10) == Some(b" 4")
            && bytes.len() < MAX_BARE_HEAD_BYTES
            && bytes.ends_with(b"\r\n\r\n");
        let bodiless = || {
            bytes.windows(EMPTY_BODY_FIELD.len()).any(|field| field.eq_ignore_ascii_case(EMPTY_BODY_FIELD))
        };
        !self.0.swap(false, Ordering::Relaxed) && bare && bodiless()
    }
}

impl<S: Write + Unpin> ConnectionIo<S> {
    pub(super) fn new(
        stream: S,
        response_pending: &ResponsePending,
        activity: &ConnectionActivity,
        write_timeout: Duration,
    ) -> Self {
        Self {
            stream: TimedIo::new(stream, write_timeout),
            response_pending: response_pending.clone(),
            activity: activity.clone(),
            replacement: Vec::new(),
            replacement_written: 0,
        }
    }

    /// Writes the replacement of these bytes; returns false if they need none.
    fn poll_replacement(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<bool>> {
        if self.replacement.is_empty() {
            if !self.response_pending.takes_hyper_error(bytes) {
                return Poll::Ready(Ok(false));
            }
            self.replacement = error_with_body(bytes);
        }
        while self.replacement_written < self.replacement.len() {
            let rest = &self.replacement[self.replacement_written..];
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.replacement_written += written;
        }
        (self.replacement, self.replacement_written) = (Vec::new(), 0);
        Poll::Ready(Ok(true))
    }
}

impl<S: Read + Unpin> Read for ConnectionIo<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.activity.on_read();
        Poll::Ready(Ok(()))
    }
}

impl<S: Write + Unpin> Write for ConnectionIo<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if ready!(self.poll_replacement(cx, buf))? {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        self.activity.on_write();
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty()).map(|buf| &**buf).unwrap_or_default();
        if ready!(self.poll_replacement(cx, first))? {
            return Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs))?;
        self.activity.on_write();
        Poll::Ready(Ok(written))
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

/// Returns the same status with a body that explains it.
fn error_with_body(head: &[u8]) -> Vec<u8> {
    let status =
        String::from_utf8_lossy(head.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    let message = match status.get(9..12) {
        Some("431") => HEAD_TOO_LARGE,
        Some("414") => "the request target is too long",
        _ => "this is not HTTP/1.1; post JSON-RPC 2.0 to this path",
    };
    let body = json_rpc_error("null", INVALID_REQUEST, message);
    let length = body.len();
    let head = "content-type: application/json\r\nconnection: close";
    format!("{status}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::io::ErrorKind;
    use std::pin::Pin;
    use std::time::Duration;

    use hyper::rt::Write as _;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, duplex};

    use super::{ConnectionIo, ResponsePending};
    use crate::front::http::activity::ConnectionActivity;

    #[tokio::test]
    async fn a_client_that_does_not_read_is_disconnected() {
        let (near, mut far) = duplex(8);
        let (pending, activity) = (ResponsePending::default(), ConnectionActivity::new());
        let mut stream =
            ConnectionIo::new(TokioIo::new(near), &pending, &activity, Duration::from_millis(20));
        let mut write = async || poll_fn(|cx| Pin::new(&mut stream).poll_write(cx, b"12345678")).await;
        assert_eq!(write().await.expect("there is room"), 8);
        assert_eq!(write().await.expect_err("nobody reads").kind(), ErrorKind::TimedOut);
        far.read_exact(&mut [0; 8]).await.expect("what was written");
        assert_eq!(write().await.expect("there is room again"), 8);
    }
}
