//! Requests that come when the server is gone.
//!
//! A client that has written a request gets an answer to it: also to one that still lies in the pipe when the server dies,
//! and to the first that it writes, which most clients do at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::{Lane, Outgoing};
use crate::latch::Latch;

/// How long a client that has said nothing yet may take to say something.
const FIRST: Duration = Duration::from_secs(5);
/// How long it must have said nothing, so that nothing is on its way; and how long that is waited for at most.
const QUIET: Duration = Duration::from_millis(250);
const MOST: Duration = Duration::from_secs(2);

/// What is known of a client whose server may be gone.
#[derive(Default)]
pub(super) struct Late {
    /// Messages of the client that were dealt with.
    heard: AtomicU64,
    /// Why the server is gone.
    why: Mutex<Option<String>>,
    /// The server could not be reached at all.
    unreached: bool,
}

impl Late {
    /// For a client whose server could not be started.
    pub(super) fn unreached(why: String) -> Self {
        Self { why: Mutex::new(Some(why)), unreached: true, ..Self::default() }
    }

    /// Remembers why the server is gone: from now on no request waits for it.
    pub(super) fn gone(&self, why: String) {
        self.why().get_or_insert(why);
    }

    /// Counts a message of the client. Returns the answers to what it asks, where the server is gone.
    pub(super) fn heard<L: Lane>(&self, lane: &L) -> Vec<Outgoing> {
        self.heard.fetch_add(1, Ordering::AcqRel);
        self.more_answers(lane)
    }

    /// The answers to what has come since the first ones.
    pub(super) fn more_answers<L: Lane>(&self, lane: &L) -> Vec<Outgoing> {
        if lane.pending() == 0 { Vec::new() } else { self.answers(lane) }
    }

    /// The answers to all that waits, where the server is gone.
    pub(super) fn answers<L: Lane>(&self, lane: &L) -> Vec<Outgoing> {
        match (self.why().clone(), self.unreached) {
            (Some(why), false) => lane.server_gone(&why),
            (Some(why), true) => lane.server_unreached(&why),
            (None, _) => Vec::new(),
        }
    }

    /// Waits until the client has said nothing for a moment, or has left.
    pub(super) async fn settled(&self, client_done: &Latch, client_shut: &Latch) {
        let quiet = async {
            let spoken = async {
                while self.count() == 0 {
                    sleep(Duration::from_millis(10)).await;
                }
            };
            let _ = timeout(FIRST, spoken).await;
            let _ = timeout(MOST, async {
                let mut before = self.count();
                loop {
                    sleep(QUIET).await;
                    let now = self.count();
                    if now == before {
                        return;
                    }
                    before = now;
                }
            })
            .await;
        };
        tokio::select! {
            () = quiet => {}
            () = client_done.wait() => {}
            () = client_shut.wait() => {}
        }
    }

    fn count(&self) -> u64 {
        self.heard.load(Ordering::Acquire)
    }

    fn why(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
