//! Who leaves, and what becomes of the others.
//!
//! | who leaves | then |
//! | --- | --- |
//! | the client (its stdin ends, or it closed our stdout) | the server's stdin is closed; pending answers are waited for; then it has a second to leave, is asked to, is killed |
//! | the server | what it said last is relayed, each pending request gets its answer |
//! | us, by a signal | the server is asked to leave, and killed |
//!
//! In no case anybody of the server's group outlives us.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::gate::Gate;
use super::outlet::Outlet;
use super::pump::{self, Ends, Errand};
use super::{Exit, Lane};
use crate::front::stdio::Front;
use crate::latch::Latch;
use crate::upstream::stdio::{Child, Ended};

/// How long answers may take after the client's end of input.
const ANSWER_GRACE: Duration = Duration::from_secs(30);
/// How long a server may take to leave once its stdin is closed, and then how long once it was asked. The
/// official SDKs give us 2 s for both before they send us a signal.
const END_GRACE: Duration = Duration::from_secs(1);
const TERM_GRACE: Duration = Duration::from_millis(750);
/// The same after a signal to us. The SDKs kill us 2 s after it, and then nobody could kill the server: so
/// this and twice [`DRAIN`] is no more than that.
const SIGNAL_GRACE: Duration = Duration::from_secs(1);
/// How long those whom a dead server left behind may still hold its stdout.
const DRAIN: Duration = Duration::from_millis(500);
/// How many messages the server's direction may have waiting for the server. Ordinarily one, now and then:
/// a question of our own, or a call that was held back.
const ERRANDS: usize = 1024;

/// Starts the threads and sees the session to its end.
pub(super) async fn run<L: Lane + 'static>(lane: Arc<L>, mut child: Child, front: Front) -> Exit {
    let Front { input, output, mut signals } = front;
    let session = Session::new(lane, &mut child, output);
    pump::start_client(&session.ends, input);
    let signal = tokio::select! {
        biased;
        signal = signals.next() => signal,
        exit = session.run(&mut child) => return exit,
    };
    session.close_server();
    child.stop(SIGNAL_GRACE).await;
    // What the client does not read by now it does not want.
    let _ = timeout(2 * DRAIN, session.last_words(&mut child)).await;
    Exit(128 + signal)
}

struct Session<L> {
    ends: Arc<Ends<L>>,
    errands: SyncSender<Errand>,
    /// The lane has answered what was pending.
    answered: AtomicBool,
}

impl<L: Lane + 'static> Session<L> {
    fn new(lane: Arc<L>, child: &mut Child, output: Box<dyn Write + Send>) -> Self {
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
        });
        let (errands, queued) = sync_channel(ERRANDS);
        pump::start_errands(&ends, queued);
        match child.take_output() {
            Some(output) => pump::start_server(&ends, output, errands.clone()),
            None => ends.server_done.set(),
        }
        Self { ends, errands, answered: AtomicBool::new(false) }
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

    async fn client_left(&self, child: &mut Child) -> Exit {
        let answers = timeout(ANSWER_GRACE, async {
            self.until(|lane| !lane.holds_back()).await;
            // What was held back is on its way only when the message that set it free has passed.
            let _ = timeout(END_GRACE, self.ends.from_server.passed()).await;
            self.close_server();
            self.until(|lane| lane.pending() == 0).await;
        });
        tokio::select! {
            _ = answers => {}
            () = self.ends.client.shut.wait() => {}
            () = self.ends.server_done.wait() => {}
            () = child.exited() => {}
        }
        self.close_server();
        let left = timeout(END_GRACE, child.exited()).await.is_ok();
        if !left {
            child.stop(TERM_GRACE).await;
        }
        let ended = self.last_words(child).await;
        Exit(if left { ended.code() } else { 0 })
    }

    /// It has ended, or it lives and closed one of its pipes, which to its client is the same.
    async fn server_left(&self, child: &mut Child) -> Exit {
        self.close_server();
        if timeout(END_GRACE, child.exited()).await.is_err() {
            child.stop(TERM_GRACE).await;
        }
        Exit(self.last_words(child).await.code())
    }

    /// Relays what the dead server has said, ends whom it left behind, answers what is pending.
    async fn last_words(&self, child: &mut Child) -> Ended {
        let Ends { lane, client, from_client, from_server, server_done, .. } = &*self.ends;
        child.ask_to_end();
        let _ = timeout(DRAIN, server_done.wait()).await;
        let ended = child.bury();
        // A client may take its time to read; somebody who left the group and holds the pipe may not.
        tokio::select! {
            () = server_done.wait() => {}
            () = from_server.idle(DRAIN) => {}
        }
        from_server.close().await;
        let _ = timeout(DRAIN, from_client.close()).await;
        if !self.answered.swap(true, Ordering::AcqRel) {
            client.finish(lane.server_gone(&ended)).await;
        }
        ended
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
