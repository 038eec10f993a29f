//! Relays messages to a server behind a link, and ends the relay when either side ends.
//!
//! | ended by | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | the server gets no more messages; pending responses are awaited, unless the client does not read; then the link is closed |
//! | the server | its last messages are relayed; pending and later requests are answered with an error |
//! | a signal to us | the link is closed |
//!
//! A failed request does not end the relay: the link answers that request with an error. A shutdown by the client or a
//! signal takes at most the time of [`ShutdownDeadline`].

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::RelayOutcome;
use super::late_requests::LateRequests;
use super::message_writer::{CLIENT_STALL_TIMEOUT, MessageWriter};
use super::pump::{DirectionGate, SetOnDrop, pump_with_deferred};
use crate::front::stdio::StdioFront;
use crate::message_processor::{MessageProcessor, OutgoingMessage};
use crate::once::OneShotFlag;
use crate::shutdown_deadline::{ShutdownDeadline, ShutdownStep};
use crate::upstream::link::{Inbox, Link, LinkEvent, Outbox};

/// Longest wait for responses after the client's end of input.
const RESPONSE_GRACE: Duration = Duration::from_secs(30);
/// Timeout for closing the link.
const DISCONNECT_TIMEOUT: Duration = Duration::from_millis(1250);
/// Timeout for the client to read the last messages, and for the current message to pass its gate.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// State shared by both directions and the session.
struct LinkRelay<L> {
    processor: Arc<L>,
    client: Arc<MessageWriter>,
    /// `None` once the server gets no more messages.
    server: Mutex<Option<Outbox>>,
    client_gate: DirectionGate,
    server_gate: DirectionGate,
    client_done: OneShotFlag,
    server_done: OneShotFlag,
    /// Set when messages of the server are not read any more.
    stop_reading_server: OneShotFlag,
    /// Reason that the server has ended, if it has.
    gone_reason: Mutex<Option<String>>,
    /// Notified after each of the server's messages.
    server_progress: Notify,
    late_requests: LateRequests,
    shutdown_deadline: ShutdownDeadline,
}

/// Relays until the client, the server or a signal ends it. `link_task` ends with the link.
pub(super) async fn run<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    link: Link,
    mut link_task: JoinHandle<()>,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, shutdown_deadline } = front;
    let relay = Arc::new(LinkRelay {
        processor,
        client: Arc::new(MessageWriter::new(Some(output))),
        server: Mutex::new(Some(link.outbox)),
        client_gate: DirectionGate::default(),
        server_gate: DirectionGate::default(),
        client_done: OneShotFlag::default(),
        server_done: OneShotFlag::default(),
        stop_reading_server: OneShotFlag::default(),
        gone_reason: Mutex::default(),
        server_progress: Notify::new(),
        late_requests: LateRequests::default(),
        shutdown_deadline,
    });
    spawn_server_reader(&relay, link.inbox);
    let (reader, runtime) = (Arc::clone(&relay), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&reader.client_done);
        pump_with_deferred(&*reader.processor, input, &reader.client_gate, |frame, handling| {
            runtime
                .block_on(async { reader.dispatch(handling.process(&*reader.processor, frame).await).await });
            runtime.block_on(reader.dispatch(reader.late_requests.on_client_message(&*reader.processor)));
        });
    });
    let ended = async {
        tokio::select! {
            () = relay.server_done.wait() => relay.on_server_left().await,
            () = relay.on_client_left() => {}
        }
    };
    let signal = tokio::select! {
        biased;
        signal = signals.next() => Some(signal),
        () = ended => None,
        never = relay.answer_timeouts() => match never {},
    };
    let why = relay.gone_reason().clone();
    relay.shutdown_deadline.begin();
    relay.close_server();
    relay.stop_reading_server.set();
    // Every client waits longer than this timeout.
    let _ = timeout(
        relay.shutdown_deadline.step_timeout(ShutdownStep::ServerTermination, DISCONNECT_TIMEOUT),
        &mut link_task,
    )
    .await;
    relay.finish_client().await;
    let code = signal.map_or(u8::from(why.is_some()), |signal| 128 + signal);
    RelayOutcome { code, failure: why.filter(|_| signal.is_none()) }
}

/// Starts the thread that reads messages of the server.
fn spawn_server_reader<L: MessageProcessor + 'static>(relay: &Arc<LinkRelay<L>>, mut inbox: Inbox) {
    let (relay, runtime) = (Arc::clone(relay), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&relay.server_done);
        loop {
            let event = runtime.block_on(async {
                tokio::select! {
                    () = relay.stop_reading_server.wait() => None,
                    event = inbox.next() => event,
                }
            });
            let Some(_passing) = relay.server_gate.enter() else { return };
            match event {
                Some(LinkEvent::Frame(frame)) => {
                    runtime.block_on(async {
                        relay.dispatch(relay.processor.process_server_frame(frame).await).await;
                    });
                    relay.server_progress.notify_one();
                }
                Some(LinkEvent::Closed(why)) => return relay.record_server_gone(why.to_string()),
                None => return relay.record_server_gone(CONNECTION_CLOSED.to_owned()),
            }
        }
    });
}

const CONNECTION_CLOSED: &str = "the connection to the server was closed";

impl<L: MessageProcessor + 'static> LinkRelay<L> {
    /// Sends the messages that the processor returned, in order.
    async fn dispatch(&self, messages: Vec<OutgoingMessage>) {
        for message in messages {
            match message {
                OutgoingMessage::ToClient(message) => self.client.send(message),
                OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                    let open = self.server().clone();
                    if let Some(outbox) = open {
                        // Fails only if the link is closed, which the reader notices.
                        drop(outbox.send(message).await);
                    }
                }
            }
        }
    }

    /// Sends the messages of requests that time out, each on a thread: client or server may not be reading.
    async fn answer_timeouts(self: &Arc<Self>) -> Infallible {
        loop {
            let expired = self.processor.next_timeout().await;
            let (relay, runtime) = (Arc::clone(self), Handle::current());
            thread::spawn(move || {
                runtime.block_on(relay.dispatch(expired));
                relay.server_progress.notify_one();
            });
        }
    }

    /// Waits until the client has left and its requests are answered. Begins the shutdown.
    async fn on_client_left(&self) {
        tokio::select! {
            () = self.client_done.wait() => {}
            () = self.client.reader_gone.wait() => return,
        }
        let client_left_at = Instant::now();
        let responses = async {
            self.server_gate.wait_until_released(&*self.processor, &self.server_progress).await;
            self.close_server();
            self.server_done.wait().await;
        };
        let began = tokio::select! {
            _ = timeout(RESPONSE_GRACE, responses) => Instant::now(),
            () = self.client.reader_gone.wait() => Instant::now(),
            since = self.client.wait_stalled(CLIENT_STALL_TIMEOUT) => since.max(client_left_at),
        };
        self.shutdown_deadline.begin_at(began);
    }

    /// Answers pending and later requests after the server has ended.
    async fn on_server_left(&self) {
        let Some(why) = self.gone_reason().clone() else { return };
        let _ = timeout(DRAIN_TIMEOUT, self.wait_until_responded()).await;
        self.late_requests.set_gone(why);
        let answered = async {
            self.client.send_all(self.late_requests.answer_all(&*self.processor)).await;
            self.late_requests.wait_until_quiet(&self.client_done, &self.client.reader_gone).await;
        };
        tokio::select! {
            () = answered => {}
            () = self.client.wait_client_stalled(&self.client_done) => {}
        }
    }

    /// Answers pending requests and closes our stdout, which a thread blocked in `read` would keep open.
    async fn finish_client(self: &Arc<Self>) {
        let drain = || self.shutdown_deadline.step_timeout(ShutdownStep::FinalMessages, DRAIN_TIMEOUT);
        // A client may be slow to read.
        tokio::select! {
            () = self.server_done.wait() => {}
            () = self.server_gate.wait_idle_for(DRAIN_TIMEOUT) => {}
            () = self.shutdown_deadline.wait_until_over() => {}
        }
        let _ = timeout(drain(), self.server_gate.close()).await;
        let _ = timeout(drain(), self.wait_until_responded()).await;
        let _ = timeout(drain(), self.client_gate.close()).await;
        self.late_requests.set_gone(CONNECTION_CLOSED.to_owned());
        let _ = timeout(
            drain(),
            self.client.send_all_and_close(self.late_requests.answer_pending(&*self.processor)),
        )
        .await;
    }

    /// Waits until the responses to requests that the server has answered are made.
    async fn wait_until_responded(&self) {
        while self.processor.is_responding() {
            tokio::select! {
                messages = self.processor.next_timeout() => self.dispatch(messages).await,
                () = self.server_progress.notified() => {}
            }
        }
    }

    /// Records the reason of the end, unless we closed the link ourselves.
    fn record_server_gone(&self, why: String) {
        if self.server().is_some() {
            *self.gone_reason() = Some(why);
        }
    }

    fn close_server(&self) {
        *self.server() = None;
    }

    fn server(&self) -> MutexGuard<'_, Option<Outbox>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gone_reason(&self) -> MutexGuard<'_, Option<String>> {
        self.gone_reason.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
