//! Reads the messages of the client, and the gate that each message of a direction passes.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use portion_gateway::query_limiter::{MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};
use tokio::sync::Notify;

use crate::frame::{Frame, FrameReader};
use crate::message_processor::{MessageProcessor, OutgoingMessage};

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
const POLL_INTERVAL: Duration = Duration::from_millis(10);

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
            tokio::time::sleep(POLL_INTERVAL).await;
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
            tokio::time::sleep(POLL_INTERVAL).await;
            if !self.is_busy() {
                idle += POLL_INTERVAL;
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.passing.is_locked()
    }
}
