//! One end that takes our messages: the client's or the server's.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::sleep;

use super::OutgoingMessage;
use crate::frame::replace_line_breaks;
use crate::one_shot_flag::OneShotFlag;

/// Bytes that are written at once: as many as a pipe holds, so that a reader that reads is seen to.
const WRITE_CHUNK: usize = 64 << 10;
/// How often a waiting task looks whether there is a reader.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A writer shared by both directions. Whole messages, in the order of the calls; whoever comes while it is
/// full waits, which is how a slow reader slows its writer down.
pub(super) struct MessageWriter {
    writer: Mutex<Option<Box<dyn Write + Send>>>,
    /// When the write began that is under way.
    write_started_at: Mutex<Option<Instant>>,
    /// Set when the reader has gone.
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

    /// Writes the message and its newline. One that cannot be written shuts the outlet; then messages are
    /// dropped, for nobody would read them.
    ///
    /// A raw line break inside a message would make two of it: it becomes a space, and the fault is logged. A
    /// carriage return at the end is part of how the other side ends its lines, and stays.
    pub(super) fn send(&self, mut message: Vec<u8>) {
        let end = message.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
        let breaks = replace_line_breaks(&mut message[..end]);
        if breaks > 0 {
            tracing::warn!(
                breaks,
                bytes = message.len(),
                "a message had raw line breaks; they became spaces"
            );
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = writer.as_mut() else { return };
        message.push(b'\n');
        let written = message.chunks(WRITE_CHUNK).try_for_each(|piece| {
            *self.write_started_at() = Some(Instant::now());
            open.write_all(piece)
        });
        let written = written.and_then(|()| open.flush());
        *self.write_started_at() = None;
        if written.is_err() {
            *writer = None;
            self.reader_gone.set();
        }
    }

    /// Waits until somebody has been writing for `limit` in vain. Returns when that began.
    pub(super) async fn wait_stalled(&self, limit: Duration) -> Instant {
        loop {
            let since = *self.write_started_at();
            if let Some(since) = since.filter(|since| since.elapsed() >= limit) {
                return since;
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Sends messages on a thread, for a client may take its time to read.
    pub(super) async fn send_all(self: &Arc<Self>, messages: Vec<OutgoingMessage>) {
        self.send_on_thread(messages, false).await;
    }

    /// Sends the last answers and closes it, which a sleeping `read` of the client's input would keep open. On a
    /// thread, for a client may take its time to read.
    pub(super) async fn send_all_and_close(self: &Arc<Self>, answers: Vec<OutgoingMessage>) {
        self.send_on_thread(answers, true).await;
    }

    async fn send_on_thread(self: &Arc<Self>, messages: Vec<OutgoingMessage>, close: bool) {
        let outlet = Arc::clone(self);
        let (done, sent) = oneshot::channel();
        thread::spawn(move || {
            for message in messages {
                if let OutgoingMessage::ToClient(message) = message {
                    outlet.send(message);
                }
            }
            if close {
                outlet.close();
            }
            let _ = done.send(());
        });
        let _ = sent.await;
    }

    /// Closes it, after the message that is being written.
    pub(super) fn close(&self) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn write_started_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.write_started_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Read, pipe};

    use super::MessageWriter;

    fn written(messages: &[&str]) -> String {
        let (mut reader, writer): (PipeReader, _) = pipe().expect("a pipe");
        let outlet = MessageWriter::new(Some(Box::new(writer)));
        messages.iter().for_each(|message| outlet.send(message.as_bytes().to_vec()));
        outlet.close();
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
