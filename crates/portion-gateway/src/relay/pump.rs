//! The threads that carry messages.

use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::gate::DirectionGate;
use super::late_requests::LateRequests;
use super::message_writer::MessageWriter;
use super::{MessageProcessor, OutgoingMessage};
use crate::frame::{Frame, FrameReader};
use crate::one_shot_flag::OneShotFlag;
use crate::query_limiter::{MAX_CONCURRENT_QUERIES, MAX_WAITING_QUERIES};

/// What both directions and the session share.
pub(super) struct RelayState<L> {
    pub(super) processor: Arc<L>,
    pub(super) client: Arc<MessageWriter>,
    pub(super) server: MessageWriter,
    /// Passed by each of the client's messages, and of the server's.
    pub(super) client_gate: DirectionGate,
    pub(super) server_gate: DirectionGate,
    /// The client will say nothing more, and the server.
    pub(super) client_done: OneShotFlag,
    pub(super) server_done: OneShotFlag,
    /// Notified after each of the server's messages.
    pub(super) server_progress: Notify,
    pub(super) late_requests: LateRequests,
}

/// For the server, but not from the client's direction.
pub(super) enum OutboundCommand {
    Send(Vec<u8>),
    /// Close the server's input.
    Close,
}

/// Carries the client's messages.
pub(super) fn spawn_client_reader<L: MessageProcessor + 'static>(
    ends: &Arc<RelayState<L>>,
    input: FrameReader<Box<dyn Read + Send>>,
) {
    let (ends, runtime) = (Arc::clone(ends), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&ends.client_done);
        pump_with_deferred(&*ends.processor, input, &ends.client_gate, |frame, way| {
            for outgoing in runtime.block_on(way.process(&*ends.processor, frame)) {
                match outgoing {
                    OutgoingMessage::ToClient(message) => ends.client.send(message),
                    OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                        ends.server.send(message)
                    }
                }
            }
            ends.send_to_client(ends.late_requests.on_client_message(&*ends.processor));
        });
    });
}

impl<L> RelayState<L> {
    /// Sends what is for the client, and nothing else.
    pub(super) fn send_to_client(&self, messages: Vec<OutgoingMessage>) {
        for message in messages {
            if let OutgoingMessage::ToClient(message) = message {
                self.client.send(message);
            }
        }
    }
}

/// Carries the server's messages.
pub(super) fn spawn_server_reader<L: MessageProcessor + 'static, R: Read + Send + 'static>(
    ends: &Arc<RelayState<L>>,
    output: FrameReader<R>,
    errands: SyncSender<OutboundCommand>,
) {
    let (ends, runtime) = (Arc::clone(ends), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&ends.server_done);
        pump_in_order(output, &ends.server_gate, |frame| {
            dispatch_from_server(
                &ends,
                &errands,
                runtime.block_on(ends.processor.process_server_frame(frame)),
            );
        });
    });
}

/// Sends what the lane made of what the server said, or failed to say.
pub(super) fn dispatch_from_server<L>(
    ends: &RelayState<L>,
    errands: &SyncSender<OutboundCommand>,
    messages: Vec<OutgoingMessage>,
) {
    for outgoing in messages {
        match outgoing {
            OutgoingMessage::ToClient(message) => ends.client.send(message),
            // There is an error only when the session is over.
            OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                drop(errands.send(OutboundCommand::Send(message)));
            }
        }
    }
    ends.server_progress.notify_one();
}

/// Carries what the server's direction has for the server itself. A server may not read while it writes:
/// if its direction waited for it to read, each would wait for the other for ever.
pub(super) fn spawn_command_writer<L: MessageProcessor + 'static>(
    ends: &Arc<RelayState<L>>,
    errands: Receiver<OutboundCommand>,
) {
    let ends = Arc::clone(ends);
    thread::spawn(move || {
        for errand in errands {
            match errand {
                OutboundCommand::Send(message) => ends.server.send(message),
                OutboundCommand::Close => ends.server.close(),
            }
        }
    });
}

/// Hands on each message that passes the gate, until the stream ends.
pub(super) fn pump_in_order<R: Read>(
    frames: FrameReader<R>,
    gate: &DirectionGate,
    mut deal: impl FnMut(Frame),
) {
    // A stream that fails ends the session as one that ends does.
    for frame in frames.map_while(Result::ok) {
        let Some(_passing) = gate.enter() else { return };
        deal(frame);
    }
}

/// How a message of the client is dealt with.
#[derive(Clone, Copy)]
pub(super) enum Handling {
    Immediate,
    /// Beside the messages after it.
    Deferred,
    /// Too many are dealt with beside others already.
    Rejected,
}

impl Handling {
    /// What is made of a message.
    pub(super) async fn process<L: MessageProcessor>(self, lane: &L, frame: Frame) -> Vec<OutgoingMessage> {
        match self {
            Self::Immediate => lane.process_client_frame(frame).await,
            Self::Deferred => lane.process_deferred(frame).await,
            Self::Rejected => lane.reject_overload(&frame),
        }
    }
}

/// The same, but what takes long is dealt with beside the messages after it, by a few threads with a queue of bounded length.
/// The reader itself never does it. Ends when all is dealt with.
pub(super) fn pump_with_deferred<L: MessageProcessor, R: Read>(
    lane: &L,
    frames: FrameReader<R>,
    gate: &DirectionGate,
    deal: impl Fn(Frame, Handling) + Sync,
) {
    let (queue, queued) = sync_channel::<Frame>(MAX_WAITING_QUERIES);
    let (queued, deal) = (Mutex::new(queued), &deal);
    let work = || {
        let next = || queued.lock().unwrap_or_else(PoisonError::into_inner).recv();
        while let Ok(frame) = next() {
            deal(frame, Handling::Deferred);
        }
    };
    thread::scope(|scope| {
        let mut threads = 0;
        pump_in_order(frames, gate, |frame| {
            if !lane.is_deferred(&frame) {
                return deal(frame, Handling::Immediate);
            }
            if threads < MAX_CONCURRENT_QUERIES {
                threads += 1;
                scope.spawn(work);
            }
            if let Err(TrySendError::Full(frame) | TrySendError::Disconnected(frame)) = queue.try_send(frame)
            {
                deal(frame, Handling::Rejected);
            }
        });
        // The threads end with the queue.
        drop(queue);
    });
}

/// Also when the lane panics: then the session ends, instead of waiting for a thread that is no more.
pub(super) struct SetOnDrop<'a>(pub(super) &'a OneShotFlag);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}
