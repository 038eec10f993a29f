//! Who leaves, and what becomes of the others, where the server is at the other end of a link.
//!
//! | who leaves | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | the server gets no more messages; pending answers are waited for; then it is told |
//! | the server, for good | what it said last is relayed, each pending request gets its answer |
//! | us, by a signal | the server is told |
//!
//! A server that fails one request has not left: the link says so in answer to that request.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::gate::Gate;
use super::outlet::Outlet;
use super::pump::{SetAtEnd, pump_past};
use super::{Exit, Lane, Outgoing};
use crate::front::stdio::Front;
use crate::latch::Latch;
use crate::upstream::link::{Inbox, Link, Outbox, Said};

/// How long answers may take after the client's end of input.
const ANSWER_GRACE: Duration = Duration::from_secs(30);
/// How long the server may take to hear that we leave. The official SDKs kill us 2 s after their signal.
const FAREWELL: Duration = Duration::from_millis(1250);
/// How long a client may take to read what is said last, and a message that is passing to pass.
const DRAIN: Duration = Duration::from_millis(500);

/// What both directions and the session share.
struct Ends<L> {
    lane: Arc<L>,
    client: Arc<Outlet>,
    /// None once the server gets no more messages.
    server: Mutex<Option<Outbox>>,
    from_client: Gate,
    from_server: Gate,
    client_done: Latch,
    server_done: Latch,
    /// Set when nobody listens to the server any more.
    deaf: Latch,
    /// Why the server is gone, if it is.
    gone: Mutex<Option<String>>,
    /// Notified after each of the server's messages.
    progress: Notify,
}

/// Relays until the client, the server or a signal ends it. `carried` ends when the link has.
pub(super) async fn run<L: Lane + 'static>(
    lane: Arc<L>,
    link: Link,
    mut carried: JoinHandle<()>,
    front: Front,
) -> Exit {
    let Front { input, output, mut signals } = front;
    let ends = Arc::new(Ends {
        lane,
        client: Arc::new(Outlet::new(Some(output))),
        server: Mutex::new(Some(link.outbox)),
        from_client: Gate::default(),
        from_server: Gate::default(),
        client_done: Latch::default(),
        server_done: Latch::default(),
        deaf: Latch::default(),
        gone: Mutex::default(),
        progress: Notify::new(),
    });
    start_server(&ends, link.inbox);
    let (own, runtime) = (Arc::clone(&ends), Handle::current());
    thread::spawn(move || {
        let _done = SetAtEnd(&own.client_done);
        pump_past(&*own.lane, input, &own.from_client, |frame| {
            runtime.block_on(async { own.send(own.lane.from_client(frame).await).await });
        });
    });
    let signal = tokio::select! {
        biased;
        signal = signals.next() => Some(signal),
        () = ends.server_done.wait() => None,
        () = ends.client_left() => None,
    };
    let exit = Exit(signal.map_or(u8::from(ends.is_gone()), |signal| 128 + signal));
    ends.close_server();
    ends.deaf.set();
    // Whoever the client is, it has waited for less.
    let _ = timeout(FAREWELL, &mut carried).await;
    ends.last_words().await;
    exit
}

/// Carries what the server says.
fn start_server<L: Lane + 'static>(ends: &Arc<Ends<L>>, mut inbox: Inbox) {
    let (ends, runtime) = (Arc::clone(ends), Handle::current());
    thread::spawn(move || {
        let _done = SetAtEnd(&ends.server_done);
        loop {
            let said = runtime.block_on(async {
                tokio::select! {
                    () = ends.deaf.wait() => None,
                    said = inbox.next() => said,
                }
            });
            let Some(_passing) = ends.from_server.pass() else { return };
            match said {
                Some(Said::Frame(frame)) => {
                    runtime.block_on(async { ends.send(ends.lane.from_server(frame).await).await });
                    ends.progress.notify_one();
                }
                Some(Said::Gone(why)) => return ends.server_left(why),
                None => return ends.server_left("the connection to the server was closed".to_owned()),
            }
        }
    });
}

impl<L: Lane + 'static> Ends<L> {
    /// Sends what the lane made of a message, in order.
    async fn send(&self, messages: Vec<Outgoing>) {
        for message in messages {
            match message {
                Outgoing::ToClient(message) => self.client.send(message),
                Outgoing::ToServer(message) | Outgoing::Question(message) => {
                    let open = self.server.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    if let Some(outbox) = open {
                        // There is an error only when the link has ended, which is seen elsewhere.
                        drop(outbox.send(message).await);
                    }
                }
            }
        }
    }

    /// Waits until the client has left and has what it asked for.
    async fn client_left(&self) {
        tokio::select! {
            () = self.client_done.wait() => {}
            () = self.client.shut.wait() => return,
        }
        let answers = async {
            while self.lane.holds_back() {
                self.progress.notified().await;
            }
            // What was held back is on its way only when the message that set it free has passed.
            self.from_server.passed().await;
            self.close_server();
            self.server_done.wait().await;
        };
        tokio::select! {
            _ = timeout(ANSWER_GRACE, answers) => {}
            () = self.client.shut.wait() => {}
        }
    }

    /// Answers what is pending and closes the client's side, which a sleeping `read` of its input would keep open.
    async fn last_words(self: &Arc<Self>) {
        // A client may take its time to read.
        tokio::select! {
            () = self.server_done.wait() => {}
            () = self.from_server.idle(DRAIN) => {}
        }
        let _ = timeout(DRAIN, self.from_server.close()).await;
        let _ = timeout(DRAIN, self.from_client.close()).await;
        let why = self.gone.lock().unwrap_or_else(PoisonError::into_inner).take();
        let answers =
            self.lane.server_gone(&why.as_deref().unwrap_or("the connection to the server was closed"));
        let _ = timeout(DRAIN, self.client.finish(answers)).await;
    }

    /// Unless the server has left because we have.
    fn server_left(&self, why: String) {
        if self.server.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            *self.gone.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        }
    }

    fn close_server(&self) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn is_gone(&self) -> bool {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
