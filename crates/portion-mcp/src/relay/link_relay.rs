//! Relays messages to a server behind a link, and ends the relay when either side ends.
//!
//! | ended by | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | the server gets no more messages; pending responses are awaited, unless the client does not read; then the link is closed |
//! | the server | its last messages are relayed; pending and later requests are answered with an error |
//! | a signal to us | the link is closed |
//!
//! A failed request does not end the relay: the link answers that request with an error. A shutdown by the client or a
//! signal takes at most the time of `ShutdownDeadline`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::RelayOutcome;
use super::late_requests::LateRequests;
use super::session::{ServerInput, Session};
use crate::front::stdio::StdioFront;
use crate::message_processor::MessageProcessor;
use crate::once::OneShotFlag;
use crate::shutdown_deadline::ShutdownStep;
use crate::upstream::link::{Link, LinkEvent};

/// Timeout for closing the link. Every client waits longer.
const DISCONNECT_TIMEOUT: Duration = Duration::from_millis(1250);

const CONNECTION_CLOSED: &str = "the connection to the server was closed";

/// Relays messages to a server behind a link; `link_task` ends with the link. The exit code is 0 if the client left,
/// 1 if the server did, 128 + n after a signal n to us.
///
/// # Panics
/// Panics like [`relay`](super::relay).
pub async fn relay_link<L: MessageProcessor + 'static>(
    processor: Arc<L>,
    link: Link,
    mut link_task: JoinHandle<()>,
    front: StdioFront,
) -> RelayOutcome {
    let StdioFront { input, output, mut signals, shutdown_deadline } = front;
    let Link { outbox, mut inbox } = link;
    let server = ServerInput::Link(Mutex::new(Some(outbox)));
    let session =
        Session::start(processor, (input, output), server, LateRequests::default(), shutdown_deadline);
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

/// Waits until the client has left and its requests are answered.
async fn wait_for_client<L: MessageProcessor + 'static>(session: &Session<L>) {
    tokio::select! {
        () = session.client_done.wait() => {}
        () = session.client.reader_gone.wait() => {}
    }
    // The link ends after the last response.
    session.wait_for_responses(std::future::pending(), std::future::pending()).await;
}
