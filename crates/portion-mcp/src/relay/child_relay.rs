//! Relays messages to a child process, and ends the relay when either side ends.
//!
//! | ended by | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | pending responses are awaited, unless the client does not read; the server's stdin is closed; after a second it gets SIGTERM, then SIGKILL |
//! | the server | its last messages are relayed; pending and later requests are answered with an error |
//! | a signal to us | the server gets SIGTERM, then SIGKILL |
//!
//! No process of the server's group outlives us. A shutdown by the client or a signal takes at most the time of
//! `ShutdownDeadline`.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::RelayOutcome;
use super::late_requests::LateRequests;
use super::session::{ServerInput, Session};
use crate::front::stdio::StdioFront;
use crate::message_processor::MessageProcessor;
use crate::shutdown_deadline::ShutdownStep;
use crate::upstream::stdio::{Child, ServerFailure};

/// Time for a server to exit once its stdin is closed, and then once it got SIGTERM.
const EXIT_GRACE: Duration = Duration::from_secs(1);
const TERM_GRACE: Duration = Duration::from_millis(750);
/// Time for a server to exit after SIGTERM if a signal to us caused the shutdown.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);

/// Relays messages until the client, the server or a signal ends the relay. No process of the child's group remains
/// then. A thread may still block in a `read` of our stdin, so return from `main` soon.
///
/// # Panics
/// Panics outside of a tokio runtime with IO and time enabled (`enable_all`), and if a thread cannot be started.
pub async fn relay<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    mut child: Child,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, shutdown_deadline } = front;
    let server = ServerInput::pipe(child.take_stdin());
    let session =
        Session::start(processor, (input, output), server, LateRequests::default(), shutdown_deadline);
    match child.take_output() {
        // A read error is handled as the end of the stream.
        Some(mut output) => session.spawn_server_reader(move || output.next()?.ok()),
        None => session.server_done.set(),
    }
    let relayed = async {
        let signal = tokio::select! {
            biased;
            signal = signals.next() => signal,
            outcome = run_to_end(&session, &mut child) => return outcome,
        };
        session.shutdown_deadline.begin();
        session.server.close();
        let grace = session.shutdown_deadline.step_timeout(ShutdownStep::ServerTermination, SIGNAL_GRACE);
        child.stop(grace).await;
        finish(&session, &mut child, false).await;
        RelayOutcome { code: 128 + signal, failure: None }
    };
    tokio::select! {
        biased;
        outcome = relayed => outcome,
        never = session.answer_timeouts() => match never {},
    }
}

async fn run_to_end<L: MessageProcessor + 'static>(session: &Session<L>, child: &mut Child) -> RelayOutcome {
    tokio::select! {
        () = session.client_done.wait() => on_client_left(session, child).await,
        () = session.client.reader_gone.wait() => on_client_left(session, child).await,
        () = child.wait_exited() => on_server_left(session, child).await,
        () = session.server_done.wait() => on_server_left(session, child).await,
        () = session.server.wait_reader_gone() => on_server_left(session, child).await,
    }
}

async fn on_client_left<L: MessageProcessor + 'static>(
    session: &Session<L>,
    child: &mut Child,
) -> RelayOutcome {
    let answered = session.wait_until(|processor| processor.pending_count() == 0);
    session.wait_for_responses(answered, child.wait_exited()).await;
    session.server.close();
    let step = |step, usual| session.shutdown_deadline.step_timeout(step, usual);
    let exited = timeout(step(ShutdownStep::ServerExit, EXIT_GRACE), child.wait_exited()).await.is_ok();
    if !exited {
        child.stop(step(ShutdownStep::ServerTermination, TERM_GRACE)).await;
    }
    let (failure, unanswered) = finish(session, child, false).await;
    let code = if exited { failure.server_exit().exit_code() } else { 0 };
    // A server that fails at once may fail after its client has left.
    let sentence = (exited && (unanswered || code != 0)).then(|| failure.sentence());
    RelayOutcome { code, failure: sentence }
}

/// Ends the relay after the server has exited, or has closed one of its pipes, which is the same for the client.
async fn on_server_left<L: MessageProcessor + 'static>(
    session: &Session<L>,
    child: &mut Child,
) -> RelayOutcome {
    session.server.close();
    if timeout(EXIT_GRACE, child.wait_exited()).await.is_err() {
        child.stop(TERM_GRACE).await;
    }
    let (failure, _) = finish(session, child, true).await;
    RelayOutcome { code: failure.server_exit().exit_code(), failure: Some(failure.sentence()) }
}

/// Ends the group of the ended server, relays its remaining messages, and answers requests. Returns the server's exit, and
/// true if it left a request unanswered.
async fn finish<L: MessageProcessor + 'static>(
    session: &Session<L>,
    child: &mut Child,
    client_stays: bool,
) -> (ServerFailure, bool) {
    child.terminate();
    let _ = timeout(session.drain_timeout(), session.server_done.wait()).await;
    let failure = child.failure().await;
    let unanswered = session.finish(failure.to_string(), client_stays).await;
    (failure, unanswered)
}
