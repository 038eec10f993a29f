//! Who leaves, and what becomes of the others, where the server is at the other end of a link.
//!
//! | who leaves | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | the server gets no more messages; pending answers are waited for, unless the client does not read; then it is told |
//! | the server, for good | what it said last is relayed, each pending request gets its answer, and so do requests that come too late |
//! | us, by a signal | the server is told |
//!
//! A server that fails one request has not left: the link says so in answer to that request. A stop that the client or a
//! signal asks for takes no longer than [`Closing`] says.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::closing::{Closing, Step};
use super::gate::Gate;
use super::late::Late;
use super::outlet::Outlet;
use super::pump::{SetAtEnd, pump_past};
use super::session::STUCK;
use super::{Exit, Lane, Outgoing};
use crate::front::stdio::Front;
use crate::latch::Latch;
use crate::upstream::link::{Inbox, Link, Outbox, Said};

/// How long answers may take after the client's end of input.
const ANSWER_GRACE: Duration = Duration::from_secs(30);
/// How long the server may take to hear that we leave.
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
    late: Late,
    closing: Closing,
}

/// Relays until the client, the server or a signal ends it. `carried` ends when the link has.
pub(super) async fn run<L: Lane + 'static>(
    lane: Arc<L>,
    link: Link,
    mut carried: JoinHandle<()>,
    front: Front,
) -> Exit {
    let Front { input, output, mut signals, closing } = front;
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
        late: Late::default(),
        closing,
    });
    start_server(&ends, link.inbox);
    let (own, runtime) = (Arc::clone(&ends), Handle::current());
    thread::spawn(move || {
        let _done = SetAtEnd(&own.client_done);
        pump_past(&*own.lane, input, &own.from_client, |frame, way| {
            runtime.block_on(async { own.send(way.of(&*own.lane, frame).await).await });
            runtime.block_on(own.send(own.late.heard(&*own.lane)));
        });
    });
    let left = async {
        tokio::select! {
            () = ends.server_done.wait() => ends.server_left().await,
            () = ends.client_left() => {}
        }
    };
    let signal = tokio::select! {
        biased;
        signal = signals.next() => Some(signal),
        () = left => None,
        never = ends.expire() => match never {},
    };
    let why = ends.gone().clone();
    ends.closing.begin();
    ends.close_server();
    ends.deaf.set();
    // Whoever the client is, it has waited for less.
    let _ = timeout(ends.closing.step(Step::Asked, FAREWELL), &mut carried).await;
    ends.last_words().await;
    let code = signal.map_or(u8::from(why.is_some()), |signal| 128 + signal);
    Exit { code, failure: why.filter(|_| signal.is_none()) }
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
                Some(Said::Gone(why)) => return ends.server_gone(why),
                None => return ends.server_gone(CLOSED.to_owned()),
            }
        }
    });
}

const CLOSED: &str = "the connection to the server was closed";

impl<L: Lane + 'static> Ends<L> {
    /// Sends what the lane made of a message, in order.
    async fn send(&self, messages: Vec<Outgoing>) {
        for message in messages {
            match message {
                Outgoing::ToClient(message) => self.client.send(message),
                Outgoing::ToServer(message) | Outgoing::Question(message) => {
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
    async fn expire(self: &Arc<Self>) -> Infallible {
        loop {
            let expired = self.lane.expired().await;
            let (ends, runtime) = (Arc::clone(self), Handle::current());
            thread::spawn(move || {
                runtime.block_on(ends.send(expired));
                ends.progress.notify_one();
            });
        }
    }

    /// Waits until the client has left and has what it asked for. Begins the stop.
    async fn client_left(&self) {
        tokio::select! {
            () = self.client_done.wait() => {}
            () = self.client.shut.wait() => return,
        }
        let left_at = Instant::now();
        let answers = async {
            while self.lane.holds_back() {
                self.progress.notified().await;
            }
            // What was held back is on its way only when the message that set it free has passed.
            self.from_server.passed().await;
            self.close_server();
            self.server_done.wait().await;
        };
        let began = tokio::select! {
            _ = timeout(ANSWER_GRACE, answers) => Instant::now(),
            () = self.client.shut.wait() => Instant::now(),
            since = self.client.stuck(STUCK) => since.max(left_at),
        };
        self.closing.begin_at(began);
    }

    /// Answers what waits for a server that is gone for good, and what comes too late.
    async fn server_left(&self) {
        let Some(why) = self.gone().clone() else { return };
        self.late.gone(why);
        let told = async {
            self.client.deliver(self.late.answers(&*self.lane)).await;
            self.late.settled(&self.client_done, &self.client.shut).await;
        };
        let nobody_reads = async {
            self.client_done.wait().await;
            self.client.stuck(STUCK).await;
        };
        tokio::select! {
            () = told => {}
            () = nobody_reads => {}
        }
    }

    /// Answers what is pending and closes the client's side, which a sleeping `read` of its input would keep open.
    async fn last_words(self: &Arc<Self>) {
        let drain = || self.closing.step(Step::LastWords, DRAIN);
        // A client may take its time to read.
        tokio::select! {
            () = self.server_done.wait() => {}
            () = self.from_server.idle(DRAIN) => {}
            () = self.closing.over() => {}
        }
        let _ = timeout(drain(), self.from_server.close()).await;
        let _ = timeout(drain(), self.from_client.close()).await;
        self.late.gone(CLOSED.to_owned());
        let _ = timeout(drain(), self.client.finish(self.late.more_answers(&*self.lane))).await;
    }

    /// Unless the server has left because we have.
    fn server_gone(&self, why: String) {
        if self.server().is_some() {
            *self.gone() = Some(why);
        }
    }

    fn close_server(&self) {
        *self.server() = None;
    }

    fn server(&self) -> MutexGuard<'_, Option<Outbox>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gone(&self) -> MutexGuard<'_, Option<String>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
