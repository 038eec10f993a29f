//! One end that takes our messages: the client's or the server's.

use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::sleep;

use super::Outgoing;
use crate::frame::unbreak;
use crate::latch::Latch;

/// Bytes that are written at once: as many as a pipe holds, so that a reader that reads is seen to.
const PIECE_BYTES: usize = 64 << 10;
/// How often a waiting task looks whether there is a reader.
const GLANCE: Duration = Duration::from_millis(20);

/// A writer shared by both directions. Whole messages, in the order of the calls; whoever comes while it is
/// full waits, which is how a slow reader slows its writer down.
pub(super) struct Outlet {
    writer: Mutex<Option<Box<dyn Write + Send>>>,
    /// When the write began that is under way.
    since: Mutex<Option<Instant>>,
    /// Set when the reader has gone.
    pub(super) shut: Latch,
}

impl Outlet {
    pub(super) fn new(writer: Option<Box<dyn Write + Send>>) -> Self {
        Self { writer: Mutex::new(writer), since: Mutex::default(), shut: Latch::default() }
    }

    /// Writes the message and its newline. One that cannot be written shuts the outlet; then messages are
    /// dropped, for nobody would read them.
    ///
    /// A raw line break inside a message would make two of it: it becomes a space, and the fault is logged. A
    /// carriage return at the end is part of how the other side ends its lines, and stays.
    pub(super) fn send(&self, mut message: Vec<u8>) {
        let end = message.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
        let breaks = unbreak(&mut message[..end]);
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
        let written = message.chunks(PIECE_BYTES).try_for_each(|piece| {
            *self.since() = Some(Instant::now());
            open.write_all(piece)
        });
        let written = written.and_then(|()| open.flush());
        *self.since() = None;
        if written.is_err() {
            *writer = None;
            self.shut.set();
        }
    }

    /// Waits until somebody has been writing for `limit` in vain. Returns when that began.
    pub(super) async fn stuck(&self, limit: Duration) -> Instant {
        loop {
            let since = *self.since();
            if let Some(since) = since.filter(|since| since.elapsed() >= limit) {
                return since;
            }
            sleep(GLANCE).await;
        }
    }

    /// Sends messages on a thread, for a client may take its time to read.
    pub(super) async fn deliver(self: &Arc<Self>, messages: Vec<Outgoing>) {
        self.last(messages, false).await;
    }

    /// Sends the last answers and closes it, which a sleeping `read` of the client's input would keep open. On a
    /// thread, for a client may take its time to read.
    pub(super) async fn finish(self: &Arc<Self>, answers: Vec<Outgoing>) {
        self.last(answers, true).await;
    }

    async fn last(self: &Arc<Self>, messages: Vec<Outgoing>, close: bool) {
        let outlet = Arc::clone(self);
        let (done, sent) = oneshot::channel();
        thread::spawn(move || {
            for message in messages {
                if let Outgoing::ToClient(message) = message {
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

    fn since(&self) -> MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, Read, pipe};

    use super::Outlet;

    fn written(messages: &[&str]) -> String {
        let (mut reader, writer): (PipeReader, _) = pipe().expect("a pipe");
        let outlet = Outlet::new(Some(Box::new(writer)));
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
