//! Relays messages between a client on our stdio and a server: a child process, or a server behind a link.
//!
//! Each direction is one thread that reads a message, passes it to the [`MessageProcessor`] and writes the result itself. With a
//! child, no other thread has to wake up for a message, and a full pipe blocks only its own direction. `session` has the
//! threads, and what is alike at the end of each relay.
//!
//! Must not interpret messages; that is the task of the [`MessageProcessor`].
//!
//! ```no_run
//! # async fn run(factory: portion_mcp::mcp::McpProcessorFactory) -> Result<u8, Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use portion_core::cursor::Scope;
//! use portion_gateway::session::ClientSession;
//! use portion_mcp::front::StdioFront;
//! use portion_mcp::relay::relay;
//! use portion_mcp::upstream::stdio::{Child, Program};
//!
//! let message_limit = 64 << 20;
//! let processor = factory.new_processor(Scope::from_principal("stdio"), ClientSession::new_unique());
//! let front = StdioFront::open(message_limit)?;
//! let child = Child::spawn(&Program::new("my-server", ["--stdio"]), message_limit)?;
//! let outcome = relay(Arc::new(processor), child, front).await;
//! # Ok(outcome.code)
//! # }
//! ```
mod pump;
mod session;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::session::{ServerInput, Session};
use crate::front::{ShutdownStep, StdioFront};
use crate::message_processor::MessageProcessor;
use crate::once::OneShotFlag;
use crate::upstream::link::{Link, LinkEvent};
use crate::upstream::stdio::{Child, ServerFailure};
use pump::{CLIENT_STALL_TIMEOUT, LateRequests};

/// Time for a server to exit once its stdin is closed, and then once it got SIGTERM.
const EXIT_GRACE: Duration = Duration::from_secs(1);
const TERM_GRACE: Duration = Duration::from_millis(750);
/// Time for a server to exit after SIGTERM if a signal to us caused the shutdown.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);

/// Timeout for closing the link. Every client waits longer.
const DISCONNECT_TIMEOUT: Duration = Duration::from_millis(1250);

const CONNECTION_CLOSED: &str = "the connection to the server was closed";

/// Outcome of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelayOutcome {
    /// Exit code: that of the server (128 + n if signal n ended it), 0 if the server had to be ended after the client
    /// left, 128 + n after a signal n to us.
    pub code: u8,
    /// Sentence for the user if the server ended before the client left, or without answering a request.
    pub failure: Option<String>,
}

impl From<RelayOutcome> for ExitCode {
    fn from(exit: RelayOutcome) -> Self {
        Self::from(exit.code)
    }
}

/// Answers the requests of a client whose server could not be started, until it leaves or is quiet. `why` begins with a
/// sentence. The exit code is 1, or 128 + n after a signal n to us.
///
/// # Panics
/// Panics like [`relay`].
pub async fn serve_unavailable<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    why: String,
    front: StdioFront,
) -> RelayOutcome {
    let late_requests = LateRequests::for_unreachable(why);
    let (session, mut signals) = Session::start(processor, front, ServerInput::None, late_requests);
    let answered = async {
        let Session { processor, client, client_gate, client_done, late_requests, .. } = &*session;
        late_requests.wait_until_quiet(client_done, &client.reader_gone).await;
        let _ = timeout(CLIENT_STALL_TIMEOUT, client_gate.close()).await;
        let last = client.send_all_and_close(late_requests.answer_pending(&**processor));
        let _ = timeout(CLIENT_STALL_TIMEOUT, last).await;
    };
    let code = tokio::select! {
        biased;
        signal = signals.next() => 128 + signal,
        () = answered => 1,
    };
    RelayOutcome { code, failure: None }
}

/// Relays messages until the client, the server or a signal ends the relay. No process of the child's group remains
/// then. A thread may still block in a `read` of our stdin, so return from `main` soon.
///
/// | ended by | then |
/// | --- | --- |
/// | the client (its stdin ends, or it closed our stdout) | pending responses are awaited, unless the client does not read; the server's stdin is closed; after a second it gets SIGTERM, then SIGKILL |
/// | the server | its last messages are relayed; pending and later requests are answered with an error |
/// | a signal to us | the server gets SIGTERM, then SIGKILL |
///
/// No process of the server's group outlives us. A shutdown by the client or a signal takes at most the time of
/// `ShutdownDeadline`.
///
/// # Panics
/// Panics outside of a tokio runtime with IO and time enabled (`enable_all`), and if a thread cannot be started.
pub async fn relay<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    mut child: Child,
    front: StdioFront,
) -> RelayOutcome {
    let server = ServerInput::pipe(child.take_stdin());
    let (session, mut signals) = Session::start(processor, front, server, LateRequests::default());
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

/// Relays messages to a server behind a link; `link_task` ends with the link. The exit code is 0 if the client left,
/// 1 if the server did, 128 + n after a signal n to us.
///
/// | ended by | then |
/// | --- | --- |
/// | the client (its stdin ends, or it closed our stdout) | the server gets no more messages; pending responses are awaited, unless the client does not read; then the link is closed |
/// | the server | its last messages are relayed; pending and later requests are answered with an error |
/// | a signal to us | the link is closed |
///
/// A failed request does not end the relay: the link answers that request with an error. A shutdown by the client or a
/// signal takes at most the time of `ShutdownDeadline`.
///
/// # Panics
/// Panics like [`relay`].
pub async fn relay_link<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    link: Link,
    mut link_task: JoinHandle<()>,
    front: StdioFront,
) -> RelayOutcome {
    let Link { outbox, mut inbox } = link;
    let server = ServerInput::Link(Mutex::new(Some(outbox)));
    let (session, mut signals) = Session::start(processor, front, server, LateRequests::default());
    // Set when messages of the server are not read any more.
    let unread = Arc::new(OneShotFlag::default());
    // Reason that the server has ended, unless we closed the link ourselves.
    let (gone, server_gone) = watch::channel(None);
    let (unread_now, reader, runtime) = (Arc::clone(&unread), Arc::clone(&session), Handle::current());
    session.spawn_server_reader(move || {
        let event = runtime.block_on(async {
            tokio::select! {
                () = unread_now.wait() => None,
                event = inbox.next() => event,
            }
        });
        let why = match event {
            Some(LinkEvent::Frame(frame)) => return Some(frame),
            Some(LinkEvent::Closed(why)) => why.to_string(),
            None => CONNECTION_CLOSED.to_owned(),
        };
        gone.send_replace(Some(why).filter(|_| !reader.server.is_closed_link()));
        None
    });
    let ended = async {
        tokio::select! {
            biased;
            () = session.server_done.wait() => {
                let why = server_gone.borrow().clone();
                if let Some(why) = &why {
                    session.finish(why.clone(), true).await;
                }
                why
            }
            () = wait_for_client(&session) => server_gone.borrow().clone(),
        }
    };
    let relayed = async {
        let (signal, failure) = tokio::select! {
            biased;
            signal = signals.next() => (Some(signal), None),
            why = ended => (None, why),
        };
        session.shutdown_deadline.begin();
        session.server.close();
        unread.set();
        let ending = ShutdownStep::ServerTermination;
        let _ =
            timeout(session.shutdown_deadline.step_timeout(ending, DISCONNECT_TIMEOUT), &mut link_task).await;
        session.finish(CONNECTION_CLOSED.to_owned(), false).await;
        RelayOutcome { code: signal.map_or(u8::from(failure.is_some()), |signal| 128 + signal), failure }
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
    let code = if exited { failure.server_exit.exit_code() } else { 0 };
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
    RelayOutcome { code: failure.server_exit.exit_code(), failure: Some(failure.sentence()) }
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

/// Waits until the client has left and its requests are answered.
async fn wait_for_client<L: MessageProcessor + 'static>(session: &Session<L>) {
    tokio::select! {
        () = session.client_done.wait() => {}
        () = session.client.reader_gone.wait() => {}
    }
    // The link ends after the last response.
    session.wait_for_responses(std::future::pending(), std::future::pending()).await;
}
