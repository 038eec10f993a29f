//! Relays messages to a child process, and ends the relay when either side ends.
//!
//! | ended by | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | pending responses are awaited, unless the client does not read; the server's stdin is closed; after a second it gets SIGTERM, then SIGKILL |
//! | the server | its last messages are relayed; pending and later requests are answered with an error |
//! | a signal to us | the server gets SIGTERM, then SIGKILL |
//!
//! No process of the server's group outlives us. A shutdown by the client or a signal takes at most the time of
//! [`ShutdownDeadline`].

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::RelayOutcome;
use super::late_requests::LateRequests;
use super::message_writer::{CLIENT_STALL_TIMEOUT, MessageWriter};
use super::pump::{self, DirectionGate, OutboundCommand, RelayState};
use crate::front::stdio::StdioFront;
use crate::message_processor::MessageProcessor;
use crate::once::OneShotFlag;
use crate::shutdown_deadline::{ShutdownDeadline, ShutdownStep};
use crate::upstream::stdio::{Child, ServerFailure};

/// Longest wait for responses after the client's end of input.
const RESPONSE_GRACE: Duration = Duration::from_secs(30);
/// Time for a server to exit once its stdin is closed, and then once it got SIGTERM.
const EXIT_GRACE: Duration = Duration::from_secs(1);
const TERM_GRACE: Duration = Duration::from_millis(750);
/// Time for a server to exit after SIGTERM if a signal to us caused the shutdown.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);
/// Longest wait for the end of stdout after the server has ended: its descendants may hold the pipe open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// Messages to the server queued by the server's direction. Usually at most one: a request of our own, or a call that
/// was held back.
const COMMAND_QUEUE_LIMIT: usize = 1024;

/// Starts the threads and runs the session to its end.
pub(super) async fn run<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    mut child: Child,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, shutdown_deadline } = front;
    let relay = ChildRelay::new(processor, &mut child, output, shutdown_deadline);
    pump::spawn_client_reader(&relay.state, input);
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        exit = relay.run(&mut child) => return exit,
        never = relay.answer_timeouts() => match never {},
    };
    relay.shutdown_deadline.begin();
    relay.close_server();
    child.stop(relay.shutdown_deadline.step_timeout(ShutdownStep::ServerTermination, SIGNAL_GRACE)).await;
    relay.finish_client(&mut child, false).await;
    RelayOutcome { code: 128 + signal, failure: None }
}

struct ChildRelay<L> {
    state: Arc<RelayState<L>>,
    commands: SyncSender<OutboundCommand>,
    shutdown_deadline: ShutdownDeadline,
}

impl<L: MessageProcessor + 'static> ChildRelay<L> {
    fn new(
        processor: Arc<L>,
        child: &mut Child,
        output: Box<dyn Write + Send>,
        shutdown_deadline: ShutdownDeadline,
    ) -> Self {
        let stdin = child.take_stdin();
        let state = Arc::new(RelayState {
            processor,
            client: Arc::new(MessageWriter::new(Some(output))),
            server: MessageWriter::new(stdin.map(|stdin| Box::new(stdin) as _)),
            client_gate: DirectionGate::default(),
            server_gate: DirectionGate::default(),
            client_done: OneShotFlag::default(),
            server_done: OneShotFlag::default(),
            server_progress: Notify::new(),
            late_requests: LateRequests::default(),
        });
        let (commands, queue) = sync_channel(COMMAND_QUEUE_LIMIT);
        pump::spawn_command_writer(&state, queue);
        match child.take_output() {
            Some(output) => pump::spawn_server_reader(&state, output, commands.clone()),
            None => state.server_done.set(),
        }
        Self { state, commands, shutdown_deadline }
    }

    async fn run(&self, child: &mut Child) -> RelayOutcome {
        let RelayState { client, server, client_done, server_done, .. } = &*self.state;
        tokio::select! {
            () = client_done.wait() => self.on_client_left(child).await,
            () = client.reader_gone.wait() => self.on_client_left(child).await,
            () = child.wait_exited() => self.on_server_left(child).await,
            () = server_done.wait() => self.on_server_left(child).await,
            () = server.reader_gone.wait() => self.on_server_left(child).await,
        }
    }

    /// Sends the messages of requests that time out, each on a thread: client or server may not be reading.
    async fn answer_timeouts(&self) -> Infallible {
        loop {
            let expired = self.state.processor.next_timeout().await;
            let (state, commands) = (Arc::clone(&self.state), self.commands.clone());
            thread::spawn(move || pump::dispatch_from_server(&state, &commands, expired));
        }
    }

    async fn on_client_left(&self, child: &mut Child) -> RelayOutcome {
        let client_left_at = Instant::now();
        let responses = timeout(RESPONSE_GRACE, async {
            let RelayState { processor, server_gate, server_progress, .. } = &*self.state;
            server_gate.wait_until_released(&**processor, server_progress).await;
            self.close_server();
            self.wait_until(|processor| processor.pending_count() == 0).await;
        });
        let began = tokio::select! {
            _ = responses => Instant::now(),
            since = self.state.client.wait_stalled(CLIENT_STALL_TIMEOUT) => since.max(client_left_at),
            () = self.state.client.reader_gone.wait() => Instant::now(),
            () = self.state.server_done.wait() => Instant::now(),
            () = child.wait_exited() => Instant::now(),
        };
        self.shutdown_deadline.begin_at(began);
        self.close_server();
        let exited = timeout(
            self.shutdown_deadline.step_timeout(ShutdownStep::ServerExit, EXIT_GRACE),
            child.wait_exited(),
        )
        .await
        .is_ok();
        if !exited {
            child
                .stop(self.shutdown_deadline.step_timeout(ShutdownStep::ServerTermination, TERM_GRACE))
                .await;
        }
        let (failure, unanswered) = self.finish_client(child, false).await;
        let code = if exited { failure.server_exit().exit_code() } else { 0 };
        // A server that fails at once may fail after its client has left.
        let sentence = (exited && (unanswered || code != 0)).then(|| failure.sentence());
        RelayOutcome { code, failure: sentence }
    }

    /// Ends the relay after the server has exited, or has closed one of its pipes, which is the same for the client.
    async fn on_server_left(&self, child: &mut Child) -> RelayOutcome {
        self.close_server();
        if timeout(EXIT_GRACE, child.wait_exited()).await.is_err() {
            child.stop(TERM_GRACE).await;
        }
        let (failure, _) = self.finish_client(child, true).await;
        RelayOutcome { code: failure.server_exit().exit_code(), failure: Some(failure.sentence()) }
    }

    /// Relays the remaining messages of the ended server, ends its group, and answers pending requests; also later
    /// requests if `client_stays`. Returns the server's exit, and true if it left a request unanswered.
    async fn finish_client(&self, child: &mut Child, client_stays: bool) -> (ServerFailure, bool) {
        let RelayState {
            processor,
            client,
            client_gate,
            server_gate,
            client_done,
            server_done,
            late_requests,
            ..
        } = &*self.state;
        let drain = || self.shutdown_deadline.step_timeout(ShutdownStep::FinalMessages, DRAIN_TIMEOUT);
        child.terminate();
        let _ = timeout(drain(), server_done.wait()).await;
        let failure = child.failure().await;
        // Waits for a slow client, but not for a process that left the group and holds the pipe open, nor for a client
        // that has left.
        tokio::select! {
            () = server_done.wait() => {}
            () = server_gate.wait_idle_for(DRAIN_TIMEOUT) => {}
            () = self.shutdown_deadline.wait_until_over() => {}
            () = client.wait_client_stalled(client_done) => {}
        }
        let _ = timeout(drain(), server_gate.close()).await;
        let _ = timeout(drain(), self.wait_until(|processor| !processor.is_responding())).await;
        let unanswered = processor.pending_count() > 0;
        late_requests.set_gone(failure.to_string());
        let answered = async {
            client.send_all(late_requests.answer_all(&**processor)).await;
            if client_stays {
                late_requests.wait_until_quiet(client_done, &client.reader_gone).await;
            }
            let _ = timeout(drain(), client_gate.close()).await;
            client.send_all_and_close(late_requests.answer_pending(&**processor)).await;
        };
        tokio::select! {
            () = answered => {}
            () = self.shutdown_deadline.wait_until_over() => {}
            () = client.wait_client_stalled(client_done) => {}
        }
        (failure, unanswered)
    }

    /// Waits until the processor meets a condition, which only a message of the server can change.
    async fn wait_until(&self, condition: impl Fn(&L) -> bool) {
        while !condition(&self.state.processor) {
            self.state.server_progress.notified().await;
        }
    }

    /// Closes the server's stdin after the queued messages. On a thread, because a server that does not read blocks the
    /// queue.
    fn close_server(&self) {
        let commands = self.commands.clone();
        thread::spawn(move || commands.send(OutboundCommand::Close));
    }
}
