//! Writes messages to the client or to the server.

use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::frame::replace_line_breaks;
use crate::message_processor::OutgoingMessage;
use crate::once::OneShotFlag;

/// Bytes written at once: as many as a pipe holds, so that a reader's progress is noticed.
const WRITE_CHUNK: usize = 64 << 10;
/// Time without reading after which a client counts as stalled during shutdown.
pub(super) const CLIENT_STALL_TIMEOUT: Duration = Duration::from_millis(500);
/// Interval at which a waiting task checks for progress.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A writer shared by both directions. It writes whole messages, in the order of the calls. Callers wait while the pipe
/// is full, so a slow reader slows the writer down.
pub(super) struct MessageWriter {
    writer: Mutex<Option<Box<dyn Write + Send>>>,
    /// Start of the current write.
    write_started_at: Mutex<Option<Instant>>,
    /// Set when a write has failed: the reader has closed its end.
    pub(super) reader_gone: OneShotFlag,
}

impl MessageWriter {
    pub(super) fn new(writer: Option<Box<dyn Write + Send>>) -> Self {
        Self {
            writer: Mutex::new(writer),
            write_started_at: Mutex::default(),
            reader_gone: OneShotFlag::default(),
        }
    }

    /// Writes a message and its newline. A write error closes the writer; later messages are dropped.
    ///
    /// A raw line break inside a message would split it: it is replaced by a space and logged. Carriage returns at the
    /// end belong to the line ending of the sender and stay.
    pub(super) fn send(&self, mut message: Vec<u8>) {
        let end = message.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
        let breaks = replace_line_breaks(&mut message[..end]);
        if breaks > 0 {
            tracing::warn!(breaks, bytes = message.len(), "replaced raw line breaks in a message by spaces");
        }
        let mut writer = self.writer.lock();
        let Some(open) = writer.as_mut() else { return };
        message.push(b'\n');
        let written = message.chunks(WRITE_CHUNK).try_for_each(|piece| {
            *self.write_started_at.lock() = Some(Instant::now());
            open.write_all(piece)
        });
        let written = written.and_then(|()| open.flush());
        *self.write_started_at.lock() = None;
        if written.is_err() {
            *writer = None;
            self.reader_gone.set();
        }
    }

    /// Writes the messages for the client, and drops all others.
    pub(super) fn send_for_client(&self, messages: Vec<OutgoingMessage>) {
        for message in messages {
            if let OutgoingMessage::ToClient(message) = message {
                self.send(message);
            }
        }
    }

    /// Waits until a write has blocked for `limit`. Returns the start of that write.
    pub(super) async fn wait_stalled(&self, limit: Duration) -> Instant {
        loop {
            let since = *self.write_started_at.lock();
            if let Some(since) = since.filter(|since| since.elapsed() >= limit) {
                return since;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until the client neither writes, once its input has ended, nor reads.
    pub(super) async fn wait_client_stalled(&self, client_done: &OneShotFlag) {
        client_done.wait().await;
        self.wait_stalled(CLIENT_STALL_TIMEOUT).await;
    }

    /// Sends messages on a thread, because a client may be slow to read.
    pub(super) async fn send_all(self: &Arc<Self>, messages: Vec<OutgoingMessage>) {
        self.send_on_thread(messages, false).await;
    }

    /// Sends the last responses and closes the writer, which a thread blocked in `read` would keep open. On a thread,
    /// because a client may be slow to read.
    pub(super) async fn send_all_and_close(self: &Arc<Self>, responses: Vec<OutgoingMessage>) {
        self.send_on_thread(responses, true).await;
    }

    async fn send_on_thread(self: &Arc<Self>, messages: Vec<OutgoingMessage>, close: bool) {
        let writer = Arc::clone(self);
        let (done, sent) = oneshot::channel();
        thread::spawn(move || {
            writer.send_for_client(messages);
            if close {
                writer.close();
            }
            let _ = done.send(());
        });
        let _ = sent.await;
    }

    /// Closes the writer after the current message.
    pub(super) fn close(&self) {
        *self.writer.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Read, pipe};

    use super::MessageWriter;

    fn written(messages: &[&str]) -> String {
        let (mut reader, pipe_writer): (PipeReader, _) = pipe().expect("a pipe");
        let writer = MessageWriter::new(Some(Box::new(pipe_writer)));
        messages.iter().for_each(|message| writer.send(message.as_bytes().to_vec()));
        writer.close();
        let mut all = String::new();
        reader.read_to_string(&mut all).expect("UTF-8");
        all
    }

    #[test]
    fn a_message_is_one_line() {
        assert_eq!(written(&["{\n\"a\":\r\n1}", "{}"]), "{ \"a\":  1}\n{}\n");
        assert_eq!(written(&["{}\r", "\r"]), "{}\r\n\r\n", "how a server ends its lines is left alone");
    }
}
