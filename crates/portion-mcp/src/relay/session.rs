//! State of a relay, the threads that carry its messages, and what is alike at the end of each.

use std::convert::Infallible;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::pump::{CLIENT_STALL_TIMEOUT, DirectionGate, LateRequests, MessageWriter, pump_with_deferred};
use crate::frame::Frame;
use crate::front::{ShutdownDeadline, ShutdownSignals, ShutdownStep, StdioFront};
use crate::message_processor::{MessageProcessor, OutgoingMessage};
use crate::once::{OneShotFlag, SetOnDrop};
use crate::upstream::link::Outbox;

/// Longest wait for responses after the client's end of input.
const RESPONSE_GRACE: Duration = Duration::from_secs(30);
/// Longest wait for the last messages of either side: descendants of a server may hold its pipe open.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Messages to the server queued by the server's direction. Usually at most one: a request of our own, or a call that
/// was held back.
const COMMAND_QUEUE_LIMIT: usize = 1024;

/// State shared by both directions and the end of a relay.
pub(super) struct Session<L> {
    pub(super) processor: Arc<L>,
    pub(super) client: Arc<MessageWriter>,
    pub(super) server: ServerInput,
    /// Gates for the messages of the client, and for those of the server.
    pub(super) client_gate: DirectionGate,
    server_gate: DirectionGate,
    /// Set when the input of the client, or the output of the server, has ended.
    pub(super) client_done: OneShotFlag,
    pub(super) server_done: OneShotFlag,
    /// Notified after each of the server's messages.
    server_progress: Notify,
    pub(super) late_requests: LateRequests,
    pub(super) shutdown_deadline: ShutdownDeadline,
}

/// Way of messages to the server.
pub(super) enum ServerInput {
    /// There is no server.
    None,
    Pipe {
        writer: Arc<MessageWriter>,
        commands: SyncSender<OutboundCommand>,
    },
    /// `None` once the server gets no more messages.
    Link(Mutex<Option<Outbox>>),
}

/// Command for the server's stdin that does not come from the client's direction.
pub(super) enum OutboundCommand {
    Send(Vec<u8>),
    /// Closes the server's stdin.
    Close,
}

/// Direction that causes a message.
#[derive(Clone, Copy)]
enum Direction {
    FromClient,
    FromServer,
}

impl ServerInput {
    /// Starts the thread that writes the commands of the server's direction. A server may not read while it writes: if its
    /// direction waited for it to read, both would be in a deadlock.
    pub(super) fn pipe(stdin: Option<ChildStdin>) -> Self {
        let writer = Arc::new(MessageWriter::new(stdin.map(|stdin| Box::new(stdin) as _)));
        let (commands, queue) = sync_channel(COMMAND_QUEUE_LIMIT);
        let commanded = Arc::clone(&writer);
        thread::spawn(move || {
            for command in queue {
                match command {
                    OutboundCommand::Send(message) => commanded.send(message),
                    OutboundCommand::Close => commanded.close(),
                }
            }
        });
        Self::Pipe { writer, commands }
    }

    /// Sends a message. It is lost only after the server has ended.
    fn send(&self, message: Vec<u8>, direction: Direction) {
        match (self, direction) {
            (Self::None, _) => {}
            (Self::Pipe { writer, .. }, Direction::FromClient) => writer.send(message),
            (Self::Pipe { commands, .. }, Direction::FromServer) => {
                drop(commands.send(OutboundCommand::Send(message)));
            }
            (Self::Link(outbox), _) => {
                let open = outbox.lock().clone();
                if let Some(outbox) = open {
                    drop(outbox.blocking_send(message));
                }
            }
        }
    }

    /// Ends the messages to the server after those that are queued.
    pub(super) fn close(&self) {
        match self {
            Self::None => {}
            // On a thread, because a server that does not read blocks the queue.
            Self::Pipe { commands, .. } => {
                let commands = commands.clone();
                thread::spawn(move || commands.send(OutboundCommand::Close));
            }
            Self::Link(outbox) => *outbox.lock() = None,
        }
    }

    /// Waits until the server does not read any more, which only a pipe tells.
    pub(super) async fn wait_reader_gone(&self) {
        match self {
            Self::Pipe { writer, .. } => writer.reader_gone.wait().await,
            Self::None | Self::Link(_) => std::future::pending().await,
        }
    }

    /// Returns true once a link gets no more messages.
    pub(super) fn is_closed_link(&self) -> bool {
        matches!(self, Self::Link(outbox) if outbox.lock().is_none())
    }
}

impl<L: MessageProcessor + 'static> Session<L> {
    /// Creates the state of a relay, and starts the thread that processes the client's messages. Returns it with the signals
    /// that end it.
    pub(super) fn start(
        processor: Arc<L>,
        front: StdioFront,
        server: ServerInput,
        late_requests: LateRequests,
    ) -> (Arc<Self>, ShutdownSignals) {
        let StdioFront { input, output, signals, shutdown_deadline } = front;
        let session = Arc::new(Self {
            processor,
            client: Arc::new(MessageWriter::new(Some(output))),
            server,
            client_gate: DirectionGate::default(),
            server_gate: DirectionGate::default(),
            client_done: OneShotFlag::default(),
            server_done: OneShotFlag::default(),
            server_progress: Notify::new(),
            late_requests,
            shutdown_deadline,
        });
        let (reader, runtime) = (Arc::clone(&session), Handle::current());
        thread::spawn(move || {
            let _done = SetOnDrop(&reader.client_done);
            pump_with_deferred(&*reader.processor, input, &reader.client_gate, |message, handling| {
                reader.dispatch(
                    runtime.block_on(handling.process(&*reader.processor, message)),
                    Direction::FromClient,
                );
                reader.client.send_for_client(reader.late_requests.on_client_message(&*reader.processor));
            });
        });
        (session, signals)
    }

    /// Starts the thread that processes the server's messages, until there is no next one.
    pub(super) fn spawn_server_reader(
        self: &Arc<Self>,
        mut next: impl FnMut() -> Option<Frame> + Send + 'static,
    ) {
        let (session, runtime) = (Arc::clone(self), Handle::current());
        thread::spawn(move || {
            let _done = SetOnDrop(&session.server_done);
            while let Some(frame) = next() {
                let Some(_passing) = session.server_gate.enter() else { return };
                let messages = runtime.block_on(session.processor.process_server_frame(frame));
                session.dispatch(messages, Direction::FromServer);
                session.server_progress.notify_one();
            }
        });
    }

    /// Sends the messages of requests that time out, each on a thread: client or server may not be reading.
    pub(super) async fn answer_timeouts(self: &Arc<Self>) -> Infallible {
        loop {
            let expired = self.processor.next_timeout().await;
            let session = Arc::clone(self);
            thread::spawn(move || {
                session.dispatch(expired, Direction::FromServer);
                session.server_progress.notify_one();
            });
        }
    }

    /// Waits for the responses that a client gets after it has left, unless it does not read: until `answered` completes, once
    /// the server gets no more messages, or the server has left. Begins the shutdown.
    pub(super) async fn wait_for_responses(
        &self,
        answered: impl Future<Output = ()>,
        server_left: impl Future<Output = ()>,
    ) {
        let client_left_at = Instant::now();
        let responses = timeout(RESPONSE_GRACE, async {
            self.server_gate.wait_until_released(&*self.processor, &self.server_progress).await;
            self.server.close();
            answered.await;
        });
        let began = tokio::select! {
            _ = responses => Instant::now(),
            since = self.client.wait_stalled(CLIENT_STALL_TIMEOUT) => since.max(client_left_at),
            () = self.client.reader_gone.wait() => Instant::now(),
            () = self.server_done.wait() => Instant::now(),
            () = server_left => Instant::now(),
        };
        self.shutdown_deadline.begin_at(began);
    }

    /// Relays the last messages of the server, and answers pending requests with the reason of its end; also later requests
    /// if `client_stays`. Closes our stdout, which a thread blocked in `read` would keep open. Returns true if the server
    /// left a request unanswered.
    pub(super) async fn finish(&self, why: String, client_stays: bool) -> bool {
        // Waits for a slow client, but not for a process that left the group and holds the pipe open, nor for a client
        // that has left.
        tokio::select! {
            () = self.server_done.wait() => {}
            () = self.server_gate.wait_idle_for(DRAIN_TIMEOUT) => {}
            () = self.shutdown_deadline.wait_until_over() => {}
            () = self.client.wait_client_stalled(&self.client_done) => {}
        }
        let _ = timeout(self.drain_timeout(), self.server_gate.close()).await;
        let _ = timeout(self.drain_timeout(), self.wait_until(|processor| !processor.is_responding())).await;
        let unanswered = self.processor.pending_count() > 0;
        self.late_requests.set_gone(why);
        let answered = async {
            self.client.send_all(self.late_requests.answer_all(&*self.processor)).await;
            if client_stays {
                self.late_requests.wait_until_quiet(&self.client_done, &self.client.reader_gone).await;
            }
            let _ = timeout(self.drain_timeout(), self.client_gate.close()).await;
            self.client.send_all_and_close(self.late_requests.answer_pending(&*self.processor)).await;
        };
        tokio::select! {
            () = answered => {}
            () = self.shutdown_deadline.wait_until_over() => {}
            () = self.client.wait_client_stalled(&self.client_done) => {}
        }
        unanswered
    }

    /// Waits until the processor meets a condition, which only a message of the server can change.
    pub(super) async fn wait_until(&self, condition: impl Fn(&L) -> bool) {
        while !condition(&self.processor) {
            self.server_progress.notified().await;
        }
    }

    /// Returns the time left for the last messages.
    pub(super) fn drain_timeout(&self) -> Duration {
        self.shutdown_deadline.step_timeout(ShutdownStep::FinalMessages, DRAIN_TIMEOUT)
    }

    /// Sends the messages that the processor returned, in order. Blocks while the reader is slow.
    fn dispatch(&self, messages: Vec<OutgoingMessage>, direction: Direction) {
        for message in messages {
            match message {
                OutgoingMessage::ToClient(message) => self.client.send(message),
                OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                    self.server.send(message, direction);
                }
            }
        }
    }
}
