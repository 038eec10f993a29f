//! Who leaves, and what becomes of the others.
//!
//! | who leaves | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | pending answers are waited for, unless the client does not read; the server's stdin is closed; then it has a second to leave, is asked to, is killed |
//! | the server | what it said last is relayed, each pending request gets its answer, and so do requests that come too late |
//! | us, by a signal | the server is asked to leave, and killed |
//!
//! In no case anybody of the server's group outlives us. A stop that the client or a signal asks for takes no longer than
//! [`ShutdownDeadline`] says.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::gate::DirectionGate;
use super::late_requests::LateRequests;
use super::message_writer::MessageWriter;
use super::pump::{self, OutboundCommand, RelayState};
use super::shutdown_deadline::{ShutdownDeadline, ShutdownStep};
use super::{MessageProcessor, RelayOutcome};
use crate::front::stdio::StdioFront;
use crate::one_shot_flag::OneShotFlag;
use crate::upstream::stdio::{Child, ServerFailure};

/// How long answers may take after the client's end of input.
const RESPONSE_GRACE: Duration = Duration::from_secs(30);
/// How long a client that is to be left may not read before it counts as one that does not.
pub(super) const CLIENT_STALL_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a server may take to leave once its stdin is closed, and then how long once it was asked.
const EXIT_GRACE: Duration = Duration::from_secs(1);
const TERM_GRACE: Duration = Duration::from_millis(750);
/// The same after a signal to us.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);
/// How long those whom a dead server left behind may still hold its stdout.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);
/// How many messages the server's direction may have waiting for the server. Ordinarily one, now and then:
/// a question of our own, or a call that was held back.
const COMMAND_QUEUE_LIMIT: usize = 1024;

/// Starts the threads and sees the session to its end.
pub(super) async fn run<L: MessageProcessor + 'static>(
    lane: Arc<L>,
    mut child: Child,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, shutdown_deadline: closing } = front;
    let session = ChildRelay::new(lane, &mut child, output, closing);
    pump::spawn_client_reader(&session.state, input);
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        exit = session.run(&mut child) => return exit,
        never = session.answer_timeouts() => match never {},
    };
    session.shutdown_deadline.begin();
    session.close_server();
    child.stop(session.shutdown_deadline.step_timeout(ShutdownStep::ServerTermination, SIGNAL_GRACE)).await;
    session.finish_client(&mut child, false).await;
    RelayOutcome { code: 128 + signal, failure: None }
}

struct ChildRelay<L> {
    state: Arc<RelayState<L>>,
    commands: SyncSender<OutboundCommand>,
    shutdown_deadline: ShutdownDeadline,
}

impl<L: MessageProcessor + 'static> ChildRelay<L> {
    fn new(
        lane: Arc<L>,
        child: &mut Child,
        output: Box<dyn Write + Send>,
        closing: ShutdownDeadline,
    ) -> Self {
        let stdin = child.take_stdin();
        let ends = Arc::new(RelayState {
            processor: lane,
            client: Arc::new(MessageWriter::new(Some(output))),
            server: MessageWriter::new(stdin.map(|stdin| Box::new(stdin) as _)),
            client_gate: DirectionGate::default(),
            server_gate: DirectionGate::default(),
            client_done: OneShotFlag::default(),
            server_done: OneShotFlag::default(),
            server_progress: Notify::new(),
            late_requests: LateRequests::default(),
        });
        let (errands, queued) = sync_channel(COMMAND_QUEUE_LIMIT);
        pump::spawn_command_writer(&ends, queued);
        match child.take_output() {
            Some(output) => pump::spawn_server_reader(&ends, output, errands.clone()),
            None => ends.server_done.set(),
        }
        Self { state: ends, commands: errands, shutdown_deadline: closing }
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

    /// Sends what becomes of requests about which the server is silent for too long. On threads, for neither the client nor the
    /// server may read.
    async fn answer_timeouts(&self) -> Infallible {
        loop {
            let expired = self.state.processor.next_timeout().await;
            let (ends, errands) = (Arc::clone(&self.state), self.commands.clone());
            thread::spawn(move || pump::dispatch_from_server(&ends, &errands, expired));
        }
    }

    async fn on_client_left(&self, child: &mut Child) -> RelayOutcome {
        let left_at = Instant::now();
        let answers = timeout(RESPONSE_GRACE, async {
            self.wait_until(|lane| !lane.has_held_messages()).await;
            // What was held back is on its way only when the message that set it free has passed.
            let _ = timeout(EXIT_GRACE, self.state.server_gate.wait_until_idle()).await;
            self.close_server();
            self.wait_until(|lane| lane.pending_count() == 0).await;
        });
        let began = tokio::select! {
            _ = answers => Instant::now(),
            since = self.state.client.wait_stalled(CLIENT_STALL_TIMEOUT) => since.max(left_at),
            () = self.state.client.reader_gone.wait() => Instant::now(),
            () = self.state.server_done.wait() => Instant::now(),
            () = child.wait_exited() => Instant::now(),
        };
        self.shutdown_deadline.begin_at(began);
        self.close_server();
        let left = timeout(
            self.shutdown_deadline.step_timeout(ShutdownStep::ServerExit, EXIT_GRACE),
            child.wait_exited(),
        )
        .await
        .is_ok();
        if !left {
            child
                .stop(self.shutdown_deadline.step_timeout(ShutdownStep::ServerTermination, TERM_GRACE))
                .await;
        }
        let (failure, unanswered) = self.finish_client(child, false).await;
        let code = if left { failure.server_exit().exit_code() } else { 0 };
        // A server that fails at once may do so after its client has left.
        let told = (left && (unanswered || code != 0)).then(|| failure.sentence());
        RelayOutcome { code, failure: told }
    }

    /// It has ended, or it lives and closed one of its pipes, which to its client is the same.
    async fn on_server_left(&self, child: &mut Child) -> RelayOutcome {
        self.close_server();
        if timeout(EXIT_GRACE, child.wait_exited()).await.is_err() {
            child.stop(TERM_GRACE).await;
        }
        let (failure, _) = self.finish_client(child, true).await;
        RelayOutcome { code: failure.server_exit().exit_code(), failure: Some(failure.sentence()) }
    }

    /// Relays what the dead server has said, ends whom it left behind, answers what is pending and, where the `client_stays`,
    /// what comes too late. Returns how the server ended, and whether a request was left without its answer.
    async fn finish_client(&self, child: &mut Child, client_stays: bool) -> (ServerFailure, bool) {
        let RelayState {
            processor: lane,
            client,
            client_gate: from_client,
            server_gate: from_server,
            client_done,
            server_done,
            late_requests: late,
            ..
        } = &*self.state;
        let drain = || self.shutdown_deadline.step_timeout(ShutdownStep::FinalMessages, DRAIN_TIMEOUT);
        child.terminate();
        let _ = timeout(drain(), server_done.wait()).await;
        let failure = child.failure().await;
        // A client may take its time to read; somebody who left the group and holds the pipe may not, nor may a client
        // that has left.
        tokio::select! {
            () = server_done.wait() => {}
            () = from_server.wait_idle_for(DRAIN_TIMEOUT) => {}
            () = self.shutdown_deadline.wait_until_over() => {}
            () = self.wait_until_client_stalled() => {}
        }
        let _ = timeout(drain(), from_server.close()).await;
        let unanswered = lane.pending_count() > 0;
        late.set_gone(failure.to_string());
        let answered = async {
            client.send_all(late.answer_all(&**lane)).await;
            if client_stays {
                late.wait_until_quiet(client_done, &client.reader_gone).await;
            }
            let _ = timeout(drain(), from_client.close()).await;
            client.send_all_and_close(late.answer_pending(&**lane)).await;
        };
        tokio::select! {
            () = answered => {}
            () = self.shutdown_deadline.wait_until_over() => {}
            () = self.wait_until_client_stalled() => {}
        }
        (failure, unanswered)
    }

    /// Waits until the client says nothing more and does not read either.
    async fn wait_until_client_stalled(&self) {
        self.state.client_done.wait().await;
        self.state.client.wait_stalled(CLIENT_STALL_TIMEOUT).await;
    }

    /// Waits until the lane says so; it can change its mind only with a message of the server.
    async fn wait_until(&self, so: impl Fn(&L) -> bool) {
        while !so(&self.state.processor) {
            self.state.server_progress.notified().await;
        }
    }

    /// Closes the server's stdin, after what is on its way there. On a thread, for a server that does not
    /// read makes everybody wait.
    fn close_server(&self) {
        let errands = self.commands.clone();
        thread::spawn(move || errands.send(OutboundCommand::Close));
    }
}
