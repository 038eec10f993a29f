//! One end that takes our messages: the client's or the server's.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

use super::Outgoing;
use crate::latch::Latch;

/// A writer shared by both directions. Whole messages, in the order of the calls; whoever comes while it is
/// full waits, which is how a slow reader slows its writer down.
pub(super) struct Outlet {
    writer: Mutex<Option<Box<dyn Write + Send>>>,
    /// Set when the reader has gone.
    pub(super) shut: Latch,
}

impl Outlet {
    pub(super) fn new(writer: Option<Box<dyn Write + Send>>) -> Self {
        Self { writer: Mutex::new(writer), shut: Latch::default() }
    }

    /// Writes the message and its newline. One that cannot be written shuts the outlet; then messages are
    /// dropped, for nobody would read them.
    pub(super) fn send(&self, mut message: Vec<u8>) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = writer.as_mut() else { return };
        message.push(b'\n');
        if open.write_all(&message).and_then(|()| open.flush()).is_err() {
            *writer = None;
            self.shut.set();
        }
    }

    /// Sends the last answers and closes it, which a sleeping `read` of the client's input would keep open. On a
    /// thread, for a client may take its time to read.
    pub(super) async fn finish(self: &Arc<Self>, answers: Vec<Outgoing>) {
        let outlet = Arc::clone(self);
        let (done, sent) = oneshot::channel();
        thread::spawn(move || {
            for answer in answers {
                if let Outgoing::ToClient(message) = answer {
                    outlet.send(message);
                }
            }
            outlet.close();
            let _ = done.send(());
        });
        let _ = sent.await;
    }

    /// Closes it, after the message that is being written.
    pub(super) fn close(&self) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
