//! Reads the messages of the client and writes those to the client or to the server; the gate that each message
//! of a direction passes; the answers to requests that arrive after the server has ended.
//!
//! Every request gets an answer: also a request that is still in the pipe when the server ends, and the first request
//! of the client, which most clients write at once.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use portion_gateway::query_limiter::{MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};

use crate::frame::{Frame, FrameReader, replace_line_breaks};
use crate::message_processor::{MessageProcessor, OutgoingMessage};
use crate::once::OneShotFlag;

/// Bytes written at once: as many as a pipe holds, so that a reader's progress is noticed.
const WRITE_CHUNK: usize = 64 << 10;

/// Time without reading after which a client counts as stalled during shutdown.
pub(super) const CLIENT_STALL_TIMEOUT: Duration = Duration::from_millis(500);

/// Interval at which a waiting task checks for progress.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Timeout for the first message of the client.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Silence of the client after which no message is assumed to be in the pipe; and the longest wait for that silence.
const QUIET_INTERVAL: Duration = Duration::from_millis(250);

const QUIET_TIMEOUT: Duration = Duration::from_secs(2);

/// Calls `process` for each message, in order, until the stream ends or the gate is closed.
fn pump_in_order<R: Read>(frames: FrameReader<R>, gate: &DirectionGate, mut process: impl FnMut(Frame)) {
    // A read error is handled as the end of the stream.
    for frame in frames.map_while(Result::ok) {
        let Some(_passing) = gate.enter() else { return };
        process(frame);
    }
}

/// Handling of a client message.
#[derive(Clone, Copy)]
pub(super) enum Handling {
    Immediate,
    /// Processed concurrently with the messages after it.
    Deferred,
    /// Rejected, because too many deferred messages are queued.
    Rejected,
}

impl Handling {
    /// Processes a message and returns the messages to send.
    pub(super) async fn process<L: MessageProcessor>(
        self,
        processor: &L,
        message: L::ClientMessage,
    ) -> Vec<OutgoingMessage> {
        match self {
            Self::Immediate => processor.process_client_message(message).await,
            Self::Deferred => processor.process_deferred(message).await,
            Self::Rejected => processor.reject_overload(&message),
        }
    }
}

/// Like [`pump_in_order`], but deferred messages are processed concurrently, by a few threads with a bounded queue and
/// never by the reader itself. Returns when all messages are processed.
pub(super) fn pump_with_deferred<L: MessageProcessor, R: Read>(
    processor: &L,
    frames: FrameReader<R>,
    gate: &DirectionGate,
    process: impl Fn(L::ClientMessage, Handling) + Sync,
) {
    let (queue, receiver) = sync_channel::<L::ClientMessage>(MAX_WAITING_QUERIES);
    let (receiver, process) = (Mutex::new(receiver), &process);
    let work = || {
        let next = || receiver.lock().recv();
        while let Ok(message) = next() {
            process(message, Handling::Deferred);
        }
    };
    thread::scope(|scope| {
        let mut threads = 0;
        pump_in_order(frames, gate, |frame| {
            let message = processor.parse_client_frame(frame);
            if !processor.is_deferred(&message) {
                return process(message, Handling::Immediate);
            }
            if threads < MAX_CONCURRENT_QUERIES {
                threads += 1;
                scope.spawn(work);
            }
            let sent = queue.try_send(message);
            if let Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) = sent {
                process(message, Handling::Rejected);
            }
        });
        // The threads end with the queue.
        drop(queue);
    });
}

/// Interval at which a waiting task checks the gate.
const GATE_POLL_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Default)]
pub(super) struct DirectionGate {
    is_closed: AtomicBool,
    passing: Mutex<()>,
}

impl DirectionGate {
    /// Returns a guard to hold while a message is processed; `None` once the gate is closed.
    pub(super) fn enter(&self) -> Option<MutexGuard<'_, ()>> {
        let passing = self.passing.lock();
        (!self.is_closed.load(Ordering::Acquire)).then_some(passing)
    }

    /// Closes the gate and waits until the last message has passed.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.wait_until_idle().await;
    }

    /// Waits until no message is passing.
    pub(super) async fn wait_until_idle(&self) {
        while self.is_busy() {
            sleep(GATE_POLL_INTERVAL).await;
        }
    }

    /// Waits until no message is held back that a message of this direction releases. `progress` is notified after each of these.
    pub(super) async fn wait_until_released(&self, processor: &impl MessageProcessor, progress: &Notify) {
        loop {
            while processor.has_held_messages() {
                progress.notified().await;
            }
            // A released message is queued only after the message that released it has passed the gate.
            self.wait_until_idle().await;
            // That message may be a page of a list whose next page is requested.
            if !processor.has_held_messages() {
                return;
            }
        }
    }

    /// Waits until the gate was idle for `limit` in sum.
    pub(super) async fn wait_idle_for(&self, limit: Duration) {
        let mut idle = Duration::ZERO;
        while idle < limit {
            sleep(GATE_POLL_INTERVAL).await;
            if !self.is_busy() {
                idle += GATE_POLL_INTERVAL;
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.passing.is_locked()
    }
}

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

/// State of a client whose server may have ended.
#[derive(Default)]
pub(super) struct LateRequests {
    /// Number of client messages processed.
    client_message_count: AtomicU64,
    /// Reason that the server has ended.
    gone_reason: Mutex<Option<String>>,
    /// True if the server could not be started or reached at all.
    is_unreachable: bool,
}

impl LateRequests {
    /// Creates the state for a client whose server could not be started.
    pub(super) fn for_unreachable(why: String) -> Self {
        Self { gone_reason: Mutex::new(Some(why)), is_unreachable: true, ..Self::default() }
    }

    /// Sets the reason that the server has ended: from now on requests are answered here.
    pub(super) fn set_gone(&self, why: String) {
        self.gone_reason.lock().get_or_insert(why);
    }

    /// Counts a message of the client. Returns the answers to its requests if the server has ended.
    pub(super) fn on_client_message<L: MessageProcessor>(&self, processor: &L) -> Vec<OutgoingMessage> {
        self.client_message_count.fetch_add(1, Ordering::AcqRel);
        self.answer_pending(processor)
    }

    /// Returns the answers to pending requests, if there are any.
    pub(super) fn answer_pending<L: MessageProcessor>(&self, processor: &L) -> Vec<OutgoingMessage> {
        if processor.pending_count() == 0 { Vec::new() } else { self.answer_all(processor) }
    }

    /// Returns the answers to all pending requests if the server has ended.
    pub(super) fn answer_all<L: MessageProcessor>(&self, processor: &L) -> Vec<OutgoingMessage> {
        match (self.gone_reason.lock().clone(), self.is_unreachable) {
            (Some(why), false) => processor.on_server_gone(&why),
            (Some(why), true) => processor.on_server_unreachable(&why),
            (None, _) => Vec::new(),
        }
    }

    /// Waits until the client has been silent for a moment, or has left.
    pub(super) async fn wait_until_quiet(&self, client_done: &OneShotFlag, reader_gone: &OneShotFlag) {
        let quiet = async {
            let first_message = async {
                while self.message_count() == 0 {
                    sleep(Duration::from_millis(10)).await;
                }
            };
            let _ = timeout(FIRST_MESSAGE_TIMEOUT, first_message).await;
            let _ = timeout(QUIET_TIMEOUT, async {
                let mut before = self.message_count();
                loop {
                    sleep(QUIET_INTERVAL).await;
                    let now = self.message_count();
                    if now == before {
                        return;
                    }
                    before = now;
                }
            })
            .await;
        };
        tokio::select! {
            () = quiet => {}
            () = client_done.wait() => {}
            () = reader_gone.wait() => {}
        }
    }

    fn message_count(&self) -> u64 {
        self.client_message_count.load(Ordering::Acquire)
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
