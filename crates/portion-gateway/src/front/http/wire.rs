//! The client's connection, on which even what is no HTTP gets an answer that says what is wrong: hyper answers that by
//! itself, with a status and nothing else.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};

use super::pace::Pace;
use super::refusal::error;
use crate::mcp::code::INVALID_REQUEST;

/// Bytes that a head of hyper's own never has.
const BARE: usize = 256;
const NO_BODY: &[u8] = b"content-length: 0\r\n";

/// Whether a request has been taken whose answer has not begun.
#[derive(Clone, Debug, Default)]
pub(super) struct Owed(Arc<AtomicBool>);

/// A connection.
pub(super) struct Wire<S> {
    stream: S,
    owed: Owed,
    pace: Pace,
    /// What is written in place of an answer of hyper's own.
    own: Vec<u8>,
    written: usize,
}

impl Owed {
    /// A request has been taken.
    pub(super) fn take(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether this is an answer that nobody here has given: a head that speaks of a client's error, and no body.
    fn is_foreign(&self, bytes: &[u8]) -> bool {
        if !bytes.starts_with(b"HTTP/1.") || bytes.get(8..10) == Some(b" 1") {
            return false;
        }
        let bare = bytes.get(8..10) == Some(b" 4") && bytes.len() < BARE && bytes.ends_with(b"\r\n\r\n");
        let bodiless = || bytes.windows(NO_BODY.len()).any(|field| field.eq_ignore_ascii_case(NO_BODY));
        !self.0.swap(false, Ordering::Relaxed) && bare && bodiless()
    }
}

impl<S: Write + Unpin> Wire<S> {
    pub(super) fn new(stream: S, owed: &Owed, pace: &Pace) -> Self {
        Self { stream, owed: owed.clone(), pace: pace.clone(), own: Vec::new(), written: 0 }
    }

    /// Writes what stands in place of these bytes; `None` where nothing does.
    fn poll_own(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<bool>> {
        if self.own.is_empty() {
            if !self.owed.is_foreign(bytes) {
                return Poll::Ready(Ok(false));
            }
            self.own = explained(bytes);
        }
        while self.written < self.own.len() {
            let rest = &self.own[self.written..];
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += written;
        }
        (self.own, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(true))
    }
}

impl<S: Read + Unpin> Read for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.pace.read();
        Poll::Ready(Ok(()))
    }
}

impl<S: Write + Unpin> Write for Wire<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if ready!(self.poll_own(cx, buf))? {
            return Poll::Ready(Ok(buf.len()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        self.pace.wrote();
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty()).map(|buf| &**buf).unwrap_or_default();
        if ready!(self.poll_own(cx, first))? {
            return Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs))?;
        self.pace.wrote();
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

/// The same status with a body that says what it means.
fn explained(head: &[u8]) -> Vec<u8> {
    let status =
        String::from_utf8_lossy(head.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    let message = match status.get(9..12) {
        Some("431") => "the head of the request is too large; send fewer or shorter header fields",
        Some("414") => "the target of the request is too long",
        _ => "this is not HTTP/1.1; post JSON-RPC 2.0 to this path",
    };
    let body = error("null", INVALID_REQUEST, message);
    let length = body.len();
    let head = "content-type: application/json\r\nconnection: close";
    format!("{status}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
}
