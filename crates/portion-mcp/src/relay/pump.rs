//! Threads that carry messages between client and server, and the gate that each message passes.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use portion_gateway::query_limiter::{MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::late_requests::LateRequests;
use super::message_writer::MessageWriter;
use crate::frame::{Frame, FrameReader};
use crate::message_processor::{MessageProcessor, OutgoingMessage};
use crate::once::OneShotFlag;

/// State shared by both directions and the session.
pub(super) struct RelayState<L> {
    pub(super) processor: Arc<L>,
    pub(super) client: Arc<MessageWriter>,
    pub(super) server: MessageWriter,
    /// Gates for the messages of the client, and for those of the server.
    pub(super) client_gate: DirectionGate,
    pub(super) server_gate: DirectionGate,
    /// Set when the input of the client, or the output of the server, has ended.
    pub(super) client_done: OneShotFlag,
    pub(super) server_done: OneShotFlag,
    /// Notified after each of the server's messages.
    pub(super) server_progress: Notify,
    pub(super) late_requests: LateRequests,
}

/// Command for the server's stdin that does not come from the client's direction.
pub(super) enum OutboundCommand {
    Send(Vec<u8>),
    /// Closes the server's stdin.
    Close,
}

/// Starts the thread that processes the client's messages.
pub(super) fn spawn_client_reader<L: MessageProcessor + 'static>(
    state: &Arc<RelayState<L>>,
    input: FrameReader<Box<dyn Read + Send>>,
) {
    let (state, runtime) = (Arc::clone(state), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&state.client_done);
        pump_with_deferred(&*state.processor, input, &state.client_gate, |message, handling| {
            for outgoing in runtime.block_on(handling.process(&*state.processor, message)) {
                match outgoing {
                    OutgoingMessage::ToClient(message) => state.client.send(message),
                    OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                        state.server.send(message);
                    }
                }
            }
            state.client.send_for_client(state.late_requests.on_client_message(&*state.processor));
        });
    });
}

/// Starts the thread that processes the server's messages.
pub(super) fn spawn_server_reader<L: MessageProcessor + 'static, R: Read + Send + 'static>(
    state: &Arc<RelayState<L>>,
    output: FrameReader<R>,
    commands: SyncSender<OutboundCommand>,
) {
    let (state, runtime) = (Arc::clone(state), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&state.server_done);
        pump_in_order(output, &state.server_gate, |frame| {
            dispatch_from_server(
                &state,
                &commands,
                runtime.block_on(state.processor.process_server_frame(frame)),
            );
        });
    });
}

/// Sends the messages that a server message or a timeout has caused.
pub(super) fn dispatch_from_server<L>(
    state: &RelayState<L>,
    commands: &SyncSender<OutboundCommand>,
    messages: Vec<OutgoingMessage>,
) {
    for outgoing in messages {
        match outgoing {
            OutgoingMessage::ToClient(message) => state.client.send(message),
            // Fails only after the session has ended.
            OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                drop(commands.send(OutboundCommand::Send(message)));
            }
        }
    }
    state.server_progress.notify_one();
}

/// Starts the thread that writes the commands of the server's direction. A server may not read while it writes: if its
/// direction waited for it to read, both would be in a deadlock.
pub(super) fn spawn_command_writer<L: MessageProcessor + 'static>(
    state: &Arc<RelayState<L>>,
    commands: Receiver<OutboundCommand>,
) {
    let state = Arc::clone(state);
    thread::spawn(move || {
        for command in commands {
            match command {
                OutboundCommand::Send(message) => state.server.send(message),
                OutboundCommand::Close => state.server.close(),
            }
        }
    });
}

/// Calls `process` for each message, in order, until the stream ends or the gate is closed.
pub(super) fn pump_in_order<R: Read>(
    frames: FrameReader<R>,
    gate: &DirectionGate,
    mut process: impl FnMut(Frame),
) {
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
        let next = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
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

/// Sets a flag when it is dropped, also by a panic: the session then ends instead of waiting for the thread.
pub(super) struct SetOnDrop<'a>(pub(super) &'a OneShotFlag);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
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
        let passing = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
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
        matches!(self.passing.try_lock(), Err(TryLockError::WouldBlock))
    }
}
