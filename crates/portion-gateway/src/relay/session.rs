//! Who leaves, and what becomes of the others.
//!
//! | who leaves | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | pending answers are waited for, unless the client does not read; the server's stdin is closed; then it has a second to leave, is asked to, is killed |
//! | the server | what it said last is relayed, each pending request gets its answer, and so do requests that come too late |
//! | us, by a signal | the server is asked to leave, and killed |
//!
//! In no case anybody of the server's group outlives us. A stop that the client or a signal asks for takes no longer than
//! [`Closing`] says.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::timeout;

use super::closing::{Closing, Step};
use super::gate::Gate;
use super::late::Late;
use super::outlet::Outlet;
use super::pump::{self, Ends, Errand};
use super::{Exit, Lane};
use crate::front::stdio::Front;
use crate::latch::Latch;
use crate::upstream::stdio::{Child, Failure};

/// How long answers may take after the client's end of input.
const ANSWER_GRACE: Duration = Duration::from_secs(30);
/// How long a client that is to be left may not read before it counts as one that does not.
pub(super) const STUCK: Duration = Duration::from_millis(500);
/// How long a server may take to leave once its stdin is closed, and then how long once it was asked.
const END_GRACE: Duration = Duration::from_secs(1);
const TERM_GRACE: Duration = Duration::from_millis(750);
/// The same after a signal to us.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);
/// How long those whom a dead server left behind may still hold its stdout.
const DRAIN: Duration = Duration::from_millis(500);
/// How many messages the server's direction may have waiting for the server. Ordinarily one, now and then:
/// a question of our own, or a call that was held back.
const ERRANDS: usize = 1024;

/// Starts the threads and sees the session to its end.
pub(super) async fn run<L: Lane + 'static>(lane: Arc<L>, mut child: Child, front: Front) -> Exit {
    let Front { input, output, mut signals, closing } = front;
    let session = Session::new(lane, &mut child, output, closing);
    pump::start_client(&session.ends, input);
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        exit = session.run(&mut child) => return exit,
        never = session.expire() => match never {},
    };
    session.closing.begin();
    session.close_server();
    child.stop(session.closing.step(Step::Asked, SIGNAL_GRACE)).await;
    session.last_words(&mut child, false).await;
    Exit { code: 128 + signal, failure: None }
}

struct Session<L> {
    ends: Arc<Ends<L>>,
    errands: SyncSender<Errand>,
    closing: Closing,
}

impl<L: Lane + 'static> Session<L> {
    fn new(lane: Arc<L>, child: &mut Child, output: Box<dyn Write + Send>, closing: Closing) -> Self {
        let stdin = child.take_stdin();
        let ends = Arc::new(Ends {
            lane,
            client: Arc::new(Outlet::new(Some(output))),
            server: Outlet::new(stdin.map(|stdin| Box::new(stdin) as _)),
            from_client: Gate::default(),
            from_server: Gate::default(),
            client_done: Latch::default(),
            server_done: Latch::default(),
            progress: Notify::new(),
            late: Late::default(),
        });
        let (errands, queued) = sync_channel(ERRANDS);
        pump::start_errands(&ends, queued);
        match child.take_output() {
            Some(output) => pump::start_server(&ends, output, errands.clone()),
            None => ends.server_done.set(),
        }
        Self { ends, errands, closing }
    }

    async fn run(&self, child: &mut Child) -> Exit {
        let Ends { client, server, client_done, server_done, .. } = &*self.ends;
        tokio::select! {
            () = client_done.wait() => self.client_left(child).await,
            () = client.shut.wait() => self.client_left(child).await,
            () = child.exited() => self.server_left(child).await,
            () = server_done.wait() => self.server_left(child).await,
            () = server.shut.wait() => self.server_left(child).await,
        }
    }

    /// Sends what becomes of requests about which the server is silent for too long. On threads, for neither the client nor the
    /// server may read.
    async fn expire(&self) -> Infallible {
        loop {
            let expired = self.ends.lane.expired().await;
            let (ends, errands) = (Arc::clone(&self.ends), self.errands.clone());
            thread::spawn(move || pump::send_from_server(&ends, &errands, expired));
        }
    }

    async fn client_left(&self, child: &mut Child) -> Exit {
        let left_at = Instant::now();
        let answers = timeout(ANSWER_GRACE, async {
            self.until(|lane| !lane.holds_back()).await;
            // What was held back is on its way only when the message that set it free has passed.
            let _ = timeout(END_GRACE, self.ends.from_server.passed()).await;
            self.close_server();
            self.until(|lane| lane.pending() == 0).await;
        });
        let began = tokio::select! {
            _ = answers => Instant::now(),
            since = self.ends.client.stuck(STUCK) => since.max(left_at),
            () = self.ends.client.shut.wait() => Instant::now(),
            () = self.ends.server_done.wait() => Instant::now(),
            () = child.exited() => Instant::now(),
        };
        self.closing.begin_at(began);
        self.close_server();
        let left = timeout(self.closing.step(Step::Leaving, END_GRACE), child.exited()).await.is_ok();
        if !left {
            child.stop(self.closing.step(Step::Asked, TERM_GRACE)).await;
        }
        let (failure, unanswered) = self.last_words(child, false).await;
        let code = if left { failure.ended().code() } else { 0 };
        // A server that fails at once may do so after its client has left.
        let told = (left && (unanswered || code != 0)).then(|| failure.sentence());
        Exit { code, failure: told }
    }

    /// It has ended, or it lives and closed one of its pipes, which to its client is the same.
    async fn server_left(&self, child: &mut Child) -> Exit {
        self.close_server();
        if timeout(END_GRACE, child.exited()).await.is_err() {
            child.stop(TERM_GRACE).await;
        }
        let (failure, _) = self.last_words(child, true).await;
        Exit { code: failure.ended().code(), failure: Some(failure.sentence()) }
    }

    /// Relays what the dead server has said, ends whom it left behind, answers what is pending and, where the `client_stays`,
    /// what comes too late. Returns how the server ended, and whether a request was left without its answer.
    async fn last_words(&self, child: &mut Child, client_stays: bool) -> (Failure, bool) {
        let Ends { lane, client, from_client, from_server, client_done, server_done, late, .. } = &*self.ends;
        let drain = || self.closing.step(Step::LastWords, DRAIN);
        child.ask_to_end();
        let _ = timeout(drain(), server_done.wait()).await;
        let failure = child.failure().await;
        // A client may take its time to read; somebody who left the group and holds the pipe may not, nor may a client
        // that has left.
        tokio::select! {
            () = server_done.wait() => {}
            () = from_server.idle(DRAIN) => {}
            () = self.closing.over() => {}
            () = self.nobody_reads() => {}
        }
        let _ = timeout(drain(), from_server.close()).await;
        let unanswered = lane.pending() > 0;
        late.gone(failure.to_string());
        let answered = async {
            client.deliver(late.answers(&**lane)).await;
            if client_stays {
                late.settled(client_done, &client.shut).await;
            }
            let _ = timeout(drain(), from_client.close()).await;
            client.finish(late.more_answers(&**lane)).await;
        };
        tokio::select! {
            () = answered => {}
            () = self.closing.over() => {}
            () = self.nobody_reads() => {}
        }
        (failure, unanswered)
    }

    /// Waits until the client says nothing more and does not read either.
    async fn nobody_reads(&self) {
        self.ends.client_done.wait().await;
        self.ends.client.stuck(STUCK).await;
    }

    /// Waits until the lane says so; it can change its mind only with a message of the server.
    async fn until(&self, so: impl Fn(&L) -> bool) {
        while !so(&self.ends.lane) {
            self.ends.progress.notified().await;
        }
    }

    /// Closes the server's stdin, after what is on its way there. On a thread, for a server that does not
    /// read makes everybody wait.
    fn close_server(&self) {
        let errands = self.errands.clone();
        thread::spawn(move || errands.send(Errand::Close));
    }
}
