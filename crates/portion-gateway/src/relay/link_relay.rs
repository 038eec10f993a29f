//! Who leaves, and what becomes of the others, where the server is at the other end of a link.
//!
//! | who leaves | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | the server gets no more messages; pending answers are waited for, unless the client does not read; then it is told |
//! | the server, for good | what it said last is relayed, each pending request gets its answer, and so do requests that come too late |
//! | us, by a signal | the server is told |
//!
//! A server that fails one request has not left: the link says so in answer to that request. A stop that the client or a
//! signal asks for takes no longer than [`ShutdownDeadline`] says.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::child_relay::CLIENT_STALL_TIMEOUT;
use super::gate::DirectionGate;
use super::late_requests::LateRequests;
use super::message_writer::MessageWriter;
use super::pump::{SetOnDrop, pump_with_deferred};
use super::shutdown_deadline::{ShutdownDeadline, ShutdownStep};
use super::{MessageProcessor, OutgoingMessage, RelayOutcome};
use crate::front::stdio::StdioFront;
use crate::one_shot_flag::OneShotFlag;
use crate::upstream::link::{Inbox, Link, LinkEvent, Outbox};

/// How long answers may take after the client's end of input.
const RESPONSE_GRACE: Duration = Duration::from_secs(30);
/// How long the server may take to hear that we leave.
const DISCONNECT_TIMEOUT: Duration = Duration::from_millis(1250);
/// How long a client may take to read what is said last, and a message that is passing to pass.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// What both directions and the session share.
struct LinkRelay<L> {
    processor: Arc<L>,
    client: Arc<MessageWriter>,
    /// None once the server gets no more messages.
    server: Mutex<Option<Outbox>>,
    client_gate: DirectionGate,
    server_gate: DirectionGate,
    client_done: OneShotFlag,
    server_done: OneShotFlag,
    /// Set when nobody listens to the server any more.
    stop_reading_server: OneShotFlag,
    /// Why the server is gone, if it is.
    gone_reason: Mutex<Option<String>>,
    /// Notified after each of the server's messages.
    server_progress: Notify,
    late_requests: LateRequests,
    shutdown_deadline: ShutdownDeadline,
}

/// Relays until the client, the server or a signal ends it. `carried` ends when the link has.
pub(super) async fn run<L: MessageProcessor + 'static>(
    lane: Arc<L>,
    link: Link,
    mut carried: JoinHandle<()>,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, shutdown_deadline: closing } = front;
    let ends = Arc::new(LinkRelay {
        processor: lane,
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
        shutdown_deadline: closing,
    });
    spawn_server_reader(&ends, link.inbox);
    let (own, runtime) = (Arc::clone(&ends), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&own.client_done);
        pump_with_deferred(&*own.processor, input, &own.client_gate, |frame, way| {
            runtime.block_on(async { own.dispatch(way.process(&*own.processor, frame).await).await });
            runtime.block_on(own.dispatch(own.late_requests.on_client_message(&*own.processor)));
        });
    });
    let left = async {
        tokio::select! {
            () = ends.server_done.wait() => ends.on_server_left().await,
            () = ends.on_client_left() => {}
        }
    };
    let signal = tokio::select! {
        biased;
        signal = signals.next() => Some(signal),
        () = left => None,
        never = ends.answer_timeouts() => match never {},
    };
    let why = ends.gone_reason().clone();
    ends.shutdown_deadline.begin();
    ends.close_server();
    ends.stop_reading_server.set();
    // Whoever the client is, it has waited for less.
    let _ = timeout(
        ends.shutdown_deadline.step_timeout(ShutdownStep::ServerTermination, DISCONNECT_TIMEOUT),
        &mut carried,
    )
    .await;
    ends.finish_client().await;
    let code = signal.map_or(u8::from(why.is_some()), |signal| 128 + signal);
    RelayOutcome { code, failure: why.filter(|_| signal.is_none()) }
}

/// Carries what the server says.
fn spawn_server_reader<L: MessageProcessor + 'static>(ends: &Arc<LinkRelay<L>>, mut inbox: Inbox) {
    let (ends, runtime) = (Arc::clone(ends), Handle::current());
    thread::spawn(move || {
        let _done = SetOnDrop(&ends.server_done);
        loop {
            let said = runtime.block_on(async {
                tokio::select! {
                    () = ends.stop_reading_server.wait() => None,
                    said = inbox.next() => said,
                }
            });
            let Some(_passing) = ends.server_gate.enter() else { return };
            match said {
                Some(LinkEvent::Frame(frame)) => {
                    runtime.block_on(async {
                        ends.dispatch(ends.processor.process_server_frame(frame).await).await
                    });
                    ends.server_progress.notify_one();
                }
                Some(LinkEvent::Closed(why)) => return ends.record_server_gone(why),
                None => return ends.record_server_gone(CONNECTION_CLOSED.to_owned()),
            }
        }
    });
}

const CONNECTION_CLOSED: &str = "the connection to the server was closed";

impl<L: MessageProcessor + 'static> LinkRelay<L> {
    /// Sends what the lane made of a message, in order.
    async fn dispatch(&self, messages: Vec<OutgoingMessage>) {
        for message in messages {
            match message {
                OutgoingMessage::ToClient(message) => self.client.send(message),
                OutgoingMessage::ToServer(message) | OutgoingMessage::InternalRequest(message) => {
                    let open = self.server().clone();
                    if let Some(outbox) = open {
                        // There is an error only when the link has ended, which is seen elsewhere.
                        drop(outbox.send(message).await);
                    }
                }
            }
        }
    }

    /// Sends what becomes of requests about which the server is silent for too long. On threads, for neither the client nor the
    /// server may read.
    async fn answer_timeouts(self: &Arc<Self>) -> Infallible {
        loop {
            let expired = self.processor.next_timeout().await;
            let (ends, runtime) = (Arc::clone(self), Handle::current());
            thread::spawn(move || {
                runtime.block_on(ends.dispatch(expired));
                ends.server_progress.notify_one();
            });
        }
    }

    /// Waits until the client has left and has what it asked for. Begins the stop.
    async fn on_client_left(&self) {
        tokio::select! {
            () = self.client_done.wait() => {}
            () = self.client.reader_gone.wait() => return,
        }
        let left_at = Instant::now();
        let answers = async {
            while self.processor.has_held_messages() {
                self.server_progress.notified().await;
            }
            // What was held back is on its way only when the message that set it free has passed.
            self.server_gate.wait_until_idle().await;
            self.close_server();
            self.server_done.wait().await;
        };
        let began = tokio::select! {
            _ = timeout(RESPONSE_GRACE, answers) => Instant::now(),
            () = self.client.reader_gone.wait() => Instant::now(),
            since = self.client.wait_stalled(CLIENT_STALL_TIMEOUT) => since.max(left_at),
        };
        self.shutdown_deadline.begin_at(began);
    }

    /// Answers what waits for a server that is gone for good, and what comes too late.
    async fn on_server_left(&self) {
        let Some(why) = self.gone_reason().clone() else { return };
        self.late_requests.set_gone(why);
        let told = async {
            self.client.send_all(self.late_requests.answer_all(&*self.processor)).await;
            self.late_requests.wait_until_quiet(&self.client_done, &self.client.reader_gone).await;
        };
        let nobody_reads = async {
            self.client_done.wait().await;
            self.client.wait_stalled(CLIENT_STALL_TIMEOUT).await;
        };
        tokio::select! {
            () = told => {}
            () = nobody_reads => {}
        }
    }

    /// Answers what is pending and closes the client's side, which a sleeping `read` of its input would keep open.
    async fn finish_client(self: &Arc<Self>) {
        let drain = || self.shutdown_deadline.step_timeout(ShutdownStep::FinalMessages, DRAIN_TIMEOUT);
        // A client may take its time to read.
        tokio::select! {
            () = self.server_done.wait() => {}
            () = self.server_gate.wait_idle_for(DRAIN_TIMEOUT) => {}
            () = self.shutdown_deadline.wait_until_over() => {}
        }
        let _ = timeout(drain(), self.server_gate.close()).await;
        let _ = timeout(drain(), self.client_gate.close()).await;
        self.late_requests.set_gone(CONNECTION_CLOSED.to_owned());
        let _ = timeout(
            drain(),
            self.client.send_all_and_close(self.late_requests.answer_pending(&*self.processor)),
        )
        .await;
    }

    /// Unless the server has left because we have.
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
